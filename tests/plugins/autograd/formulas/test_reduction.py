"""Gradients of reductions that cast their input first."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

import tt

X = [[1 + 2j, 3 - 1j], [0j, 2 + 2j]]
CALLS = {
    "prod": lambda x, **options: x.prod(**options),
    "prod along a dimension": lambda x, **options: x.prod(1, **options),
    "cumprod": lambda x, **options: x.cumprod(1, **options),
    "sum": lambda x, **options: x.sum(1, **options),
    "cumsum": lambda x, **options: x.cumsum(0, **options),
    "mean": lambda x, **options: x.mean(1, **options),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [tt.float64, tt.complex128])
def test_a_gradient_is_that_of_the_values_after_the_cast(name, dtype):
    x = tt.tensor(X, dtype=tt.complex64 if dtype.is_complex else tt.complex128, requires_grad=True)
    with pytest.warns(UserWarning, match="imaginary") if not dtype.is_complex else nullcontext():
        result = CALLS[name](x, dtype=dtype)
    cast = (x.detach() if dtype.is_complex else x.detach().real).to(dtype).requires_grad_()
    expected = CALLS[name](cast)
    weight = tt.arange(1.0, 1 + result.numel(), dtype=tt.float64).reshape(result.shape).to(dtype)
    (gradient,) = tt.autograd.grad(result, x, weight)
    tt.testing.assert_close(
        gradient.to(tt.complex128), tt.autograd.grad(expected, cast, weight)[0].to(tt.complex128)
    )
