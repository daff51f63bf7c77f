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


@pytest.mark.parametrize(
    "reduce",
    [
        lambda x: x.mean(),
        lambda x: x.mean(1),
        lambda x: x.mean((0, 1), keepdim=True),
        lambda x: tt.var_mean(x)[1],
        lambda x: tt.std_mean(x, 1)[1],
    ],
    ids=["all", "dim", "keepdim", "var_mean", "std_mean"],
)
def test_the_gradient_of_a_mean_has_memory_of_its_own(reduce):
    x = tt.ones(2, 3, requires_grad=True)
    (gradient,) = tt.autograd.grad(reduce(x).sum(), x)
    expected = gradient.clone() * 2
    gradient.mul_(2)
    assert gradient.equal(expected) and 0 not in gradient.stride()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.median(1)[0],
        lambda x: x.nanmedian(1)[0],
        lambda x: x.mode(1)[0],
        lambda x: x.kthvalue(2, 1)[0],
        lambda x: x.quantile(0.5, 1),
        lambda x: x.nanquantile(0.5, 1),
        lambda x: x.rot90(),
    ],
    ids=["median", "nanmedian", "mode", "kthvalue", "quantile", "nanquantile", "rot90"],
)
def test_results_of_their_own_are_no_views_and_can_be_changed(function):
    x = tt.tensor([[3.0, 4.0, 5.0], [1.0, 0.0, 2.0]], requires_grad=True)
    (expected,) = tt.autograd.grad(function(x).sum() * 2, x)
    y = function(x)
    assert not y._is_view()
    y.add_(1).mul_(2)
    y.sum().backward()
    assert x.grad.equal(expected)
