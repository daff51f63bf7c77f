"""The messages for calls that no kernel serves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tt.core.errors import (
    DtypeNotServedError,
    NoKernelError,
)


def test_no_kernel_for_the_backend(probe: Any) -> None:
    x = probe.tensor([1.0], tt.float32)
    with pytest.raises(NoKernelError) as caught:
        tt.exp(x)
    text = str(caught.value)
    assert text.startswith("exp(Tensor self) has no kernel for probe/float32\n")
    assert "argument 'self': device=probe layout=strided dtype=float32" in text
    assert "kernels exist for: " in text
    assert "cpu {bfloat16, complex128" in text
    assert "see: tt ops explain exp probe:float32" in text
    assert isinstance(caught.value, NotImplementedError)


def test_a_backend_without_the_dtype(probe: Any) -> None:
    probe.kernel("exp", np.exp, dtypes=("float64",))
    with pytest.raises(DtypeNotServedError, match='"exp" not implemented for float32 on probe') as caught:
        tt.exp(probe.tensor([1.0], tt.float32))
    assert "try: convert the arguments to one of {float64}" in str(caught.value)
