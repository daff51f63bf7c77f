"""tt.testing: comparing tensors, and the checks that authors of operators and backends run."""

from __future__ import annotations

from tt.core.testing.compare import assert_close
from tt.core.testing.gradcheck import gradcheck, gradgradcheck
from tt.core.testing.make_tensor import make_tensor
from tt.core.testing.opcheck import opcheck
from tt.core.testing.samples import Inputs, Sample
from tt.testing._allclose import assert_allclose

__all__ = [
    "Inputs",
    "Sample",
    "assert_allclose",
    "assert_close",
    "gradcheck",
    "gradgradcheck",
    "make_tensor",
    "opcheck",
]
