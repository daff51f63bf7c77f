"""Medians, quantiles and counts, against PyTorch."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tt

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bfloat16", "float32", "float64", "bool", "complex64"])
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_medians(same, name, dtype):
    x = torch.tensor([[3, 1, 2, 0], [7, 5, 4, 6], [9, 8, 11, 10]]).to(getattr(torch, dtype))
    same(lambda m, x: getattr(m, name)(x), x)
    if dtype in ("bool", "complex64"):
        return  # refused, which PyTorch does not notice if there is nothing to sort
    for dim in (0, 1, -1):
        for keepdim in (False, True):
            same(lambda m, x, d=dim, k=keepdim: getattr(m, name)(x, d, k), x)
    same(lambda m, x: getattr(m, name)(x, 2), x.float())
    same(lambda m, x: getattr(m, name)(x), x[0, 0])
    same(lambda m, x: getattr(m, name)(x, 0), x[0, 0])
    same(lambda m, x: getattr(m, name)(x), x[:0])
    same(lambda m, x: getattr(m, name)(x, 0), x[:0])
    same(lambda m, x: getattr(m, name)(x, 1), x[:0])


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_medians_of_nan(same, name):
    x = torch.tensor([[3.0, NAN, 2.0, NAN], [1.0, 2.0, INF, -INF], [NAN, NAN, NAN, NAN]])
    same(lambda m, x: getattr(m, name)(x), x)
    same(lambda m, x: getattr(m, name)(x[:2], 1), x)
    same(lambda m, x: getattr(m, name)(x, 1)[0], x)
    same(lambda m, x: getattr(m, name)(x), x[2])


@pytest.mark.parametrize("masked", [False, True])
def test_the_first_of_equal_elements_is_named(masked):
    with tt.mask_kernels("@non-core") if masked else tt.mask_kernels("nothing"):
        assert tt.median(tt.tensor([2, 1, 1, 1, 0]), 0).indices.item() == 1
        assert tt.kthvalue(tt.tensor([2, 1, 1, 1, 0]), 4).indices.item() == 1


def test_the_gradient_of_a_median():
    values = [3.0, 1.0, 2.0, 2.0, 5.0]
    x = tt.tensor(values, requires_grad=True)
    y = torch.tensor(values, requires_grad=True)
    assert (
        tt.autograd.grad(tt.median(x), x)[0].tolist() == torch.autograd.grad(torch.median(y), y)[0].tolist()
    )
    assert tt.autograd.grad(tt.median(x, 0)[0], x)[0].sum().item() == 1


@pytest.mark.parametrize("k", [0, 1, 2, 4, 5])
def test_kthvalue(same, k):
    x = torch.tensor([[3, 1, 2, 0], [7, 5, 4, 6], [9, 8, 11, 10]])
    for dtype in (torch.int64, torch.float32, torch.bfloat16, torch.bool):
        same(lambda m, x: m.kthvalue(x, k), x.to(dtype))
        same(lambda m, x: m.kthvalue(x, k, 0, True), x.to(dtype))
    same(lambda m, x: m.kthvalue(x, k), torch.tensor([NAN, 1.0, INF, -INF]))
    same(lambda m, x: m.kthvalue(x, k), torch.tensor(1.0))
    same(lambda m, x: m.kthvalue(x, k, 1), x[:0])
    same(lambda m, x: m.kthvalue(x, k, 0), x[:0])


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest", "cubic"])
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles(same, name, interpolation):
    x = torch.tensor([[3.0, 1.0, 2.0, 0.0], [7.0, NAN, 4.0, 6.0], [NAN, NAN, NAN, NAN]], dtype=torch.float64)
    how = {"interpolation": interpolation}
    for q in (0.0, 0.3, 0.5, 1, 1.5, torch.tensor([0.1, 0.9], dtype=torch.float64), torch.zeros(0).double()):
        for dim in (None, 0, 1, -1, 2):
            for keepdim in (False, True):
                same(lambda m, x, q, d=dim, k=keepdim: getattr(m, name)(x, q, d, k, **how), x, q)
    same(lambda m, x, q: getattr(m, name)(x, q, **how), x, torch.tensor([0.5]))
    same(lambda m, x, q: getattr(m, name)(x, q, **how), x, torch.zeros(1, 1).double())
    same(lambda m, x: getattr(m, name)(x.long(), 0.5, **how), x)
    same(lambda m, x: getattr(m, name)(x[:0], 0.5, **how), x)
    same(lambda m, x: getattr(m, name)(x[0, 0], 0.5, **how), x)


def test_quantiles_are_those_of_numpy():
    x = np.random.default_rng(0).standard_normal((50, 7))
    q = np.linspace(0, 1, 11)
    np.testing.assert_allclose(
        tt.quantile(tt.tensor(x), tt.tensor(q), 0).numpy(), np.quantile(x, q, 0), rtol=1e-12
    )


def test_counts(same):
    x = torch.tensor([3, 1, 1, 0, 3, 3])
    weights = torch.tensor([0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
    same(lambda m, x: m.bincount(x), x)
    same(lambda m, x: x.bincount(minlength=6), x.to(torch.uint8))
    for dtype in ("float32", "float64", "float16", "int64", "bool"):
        same(lambda m, x, w, d=dtype: m.bincount(x, w.to(getattr(m, d))), x, weights)
    for wrong in (x - 1, x.float(), x.reshape(2, 3), x[0], x > 1):
        same(lambda m, x: m.bincount(x), wrong)
    same(lambda m, x: m.bincount(x, minlength=-1), x)
    same(lambda m, x, w: m.bincount(x, w), x, weights[:2])
    same(lambda m, x, w: m.bincount(x, w, 2), x[:0], weights[:0])


def test_the_last_rank_of_very_many_elements_is_a_place() -> None:
    from tt.operators.statistics.composites import _inside

    size = 2**24 + 4
    last = tt.tensor([1.0]) * (size - 1)
    assert last.item() == size, "rounded up"
    assert _inside(last, size).tolist() == [size - 1]


@pytest.mark.parametrize("interpolation", ["linear", "midpoint"])
@pytest.mark.parametrize("q", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_quantiles_beside_infinities_are_those_of_torch(same, q, interpolation):
    for x in ([-INF, 1.0, 2.0, INF], [1.0, 2.0, INF]):
        same(lambda m, x: m.quantile(x, q, interpolation=interpolation), torch.tensor(x))


def test_what_is_cut_off_from_a_quantile_beside_an_infinity_has_no_gradient():
    x = tt.tensor([-tt.inf, 1.0, 2.0, 3.0], requires_grad=True)
    tt.quantile(x, 0.25).exp().backward()
    assert x.grad.tolist() == [0.0] * 4
