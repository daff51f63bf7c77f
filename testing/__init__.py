"""tt.testing: comparing tensors, and the checks that authors of operators and backends run."""

from __future__ import annotations

from tt.testing._allclose import assert_allclose
from tt.testing.compare import assert_close
from tt.testing.gradcheck import gradcheck, gradgradcheck
from tt.testing.make_tensor import make_tensor
from tt.testing.opcheck import opcheck
from tt.testing.samples import Inputs, Sample

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
