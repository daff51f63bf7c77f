"""Native pointwise kernels, and calls that they leave to those in Python."""

from __future__ import annotations

import pytest

import tt


@pytest.mark.parametrize("dtype", [tt.float32, tt.float64, tt.bfloat16])
def test_what_the_kernel_in_python_serves_is_written_into_the_target(dtype):
    x, out = tt.tensor([0.0, -1.0, 2.0], dtype=dtype), tt.empty(3, dtype=dtype)
    assert x.clone().addcmul_(x, x, value=True).tolist() == [0.0, 0.0, 6.0]
    assert tt.addcmul(x, x, x, value=True, out=out).tolist() == out.tolist() == [0.0, 0.0, 6.0]
    wide = tt.tensor([0.0, 0.5, 1.0], dtype=tt.float64).to(dtype)
    assert tt.lerp(x, x + 1, wide, out=out).tolist() == out.tolist() == [0.0, -0.5, 3.0]
    assert tt.nn.functional.softshrink(x, 0.5).tolist() == [0.0, -0.5, 1.5]
