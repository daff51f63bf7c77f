"""Scans, differences, integrals and derivatives, against PyTorch."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import tt

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"])
def test_scans(same, name, dtype):
    x = torch.tensor([[2, 0, 1, 3, 1], [1, 1, 2, 0, 2]]).to(getattr(torch, dtype))
    for dim in (0, 1, -1):
        same(lambda m, x, d=dim: getattr(m, name)(x, d), x)
    same(lambda m, x: getattr(m, name)(x, 2), torch.ones(2, 5))
    if name != "cumsum" and name != "cumprod" and (dtype == "complex64") == (name != "logcumsumexp"):
        return  # refused, which PyTorch does not notice if there is nothing to compare
    same(lambda m, x: getattr(m, name)(x, 0), x[0, 0])
    same(lambda m, x: getattr(m, name)(x, 1), x[:, :0])
    same(lambda m, x: getattr(x, name)(1), x.t().contiguous().t())


@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extremes_name_the_last_of_equal_elements(same, name):
    same(lambda m, x: getattr(m, name)(x, 0), torch.tensor([1, 2, 2, 1, 1, 2]))
    same(lambda m, x: getattr(m, name)(x, 0), torch.tensor([1.0, NAN, 3.0, NAN, INF]))
    same(lambda m, x: getattr(m, name)(x, 0), torch.tensor([-INF, INF, -INF, INF]))


def test_running_logarithms_at_the_edges(same):
    same(lambda m, x: m.logcumsumexp(x, 0), torch.tensor([-INF, -INF, 1.0, 800.0, -800.0, INF, INF, NAN]))
    x = tt.tensor([-INF, 0.0, 1.0], dtype=tt.float64, requires_grad=True)
    (g,) = tt.autograd.grad(tt.logcumsumexp(x, 0).sum(), x, allow_unused=True)
    assert g.isnan().any().item() or g[1].item() > 0  # the sums of -inf have no gradient


def test_a_nan_stays_in_a_cumulative_logarithm_of_complex_numbers(same):
    numbers = [NAN, -INF, INF, 0.0, 1.5, complex(1, NAN), complex(-INF, 1), complex(INF, 1)]
    columns = torch.tensor(list(itertools.product(numbers, repeat=3)), dtype=torch.complex128).T
    same(lambda m, x: m.logcumsumexp(x, 0).isnan(), columns)
    same(lambda m, x: m.logcumsumexp(x, 0).isfinite(), columns)


def test_the_gradient_of_running_logarithms_does_not_overflow():
    x = tt.tensor([900.0, 0.0, -900.0], dtype=tt.float64, requires_grad=True)
    (g,) = tt.autograd.grad(tt.logcumsumexp(x, 0).sum(), x)
    assert g.tolist() == [3.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "values", [[1.0, 0.0, 2.0, 3.0], [0.0, 2.0, 0.0, 3.0], [0.0, 0.0, 0.0], [2.0, -1.0, 0.5]], ids=str
)
def test_the_gradients_of_running_products_at_zeros(values):
    x = tt.tensor(values, dtype=tt.float64, requires_grad=True)
    y = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    for name in ("cumprod", "prod"):
        (mine,) = tt.autograd.grad(getattr(tt, name)(x, 0).exp().sum(), x, create_graph=True)
        (theirs,) = torch.autograd.grad(getattr(torch, name)(y, 0).exp().sum(), y, create_graph=True)
        assert mine.tolist() == pytest.approx(theirs.tolist())
        (mine,) = tt.autograd.grad(mine.square().sum(), x)
        (theirs,) = torch.autograd.grad(theirs.square().sum(), y)
        assert mine.tolist() == pytest.approx(theirs.tolist())


def test_running_sums_in_half_precision_keep_growing():
    assert tt.cumsum(tt.ones(4096, dtype=tt.bfloat16), 0)[-1].item() == 4096
    assert tt.cumsum(tt.ones(4096, dtype=tt.float16), 0)[-1].item() == 4096


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp"])
def test_long_scans_keep_their_digits(name):
    x = tt.full((1_000_000,), {"cumsum": 0.1, "cumprod": 1.000001, "logcumsumexp": 0.0}[name])
    expected = {"cumsum": 0.1e6, "cumprod": float(np.float32(1.000001)) ** 1e6, "logcumsumexp": math.log(1e6)}
    assert getattr(tt, name)(x, 0)[-1].item() == pytest.approx(expected[name], rel=1e-6)


def test_scans_by_composites_agree_with_kernels():
    x = tt.tensor(np.random.default_rng(0).standard_normal((3, 100)))
    for name in ("cumprod", "cummax", "cummin", "logcumsumexp"):
        expected = getattr(tt, name)(x, 1)
        with tt.mask_kernels("@non-core"):
            found = getattr(tt, name)(x, 1)
        for one, other in zip(
            *[(v if isinstance(v, tuple) else (v,)) for v in (found, expected)], strict=True
        ):
            assert tt.allclose(one, other, rtol=1e-12)


def test_differences(same):
    x = torch.tensor([[1, 4, 9, 16], [2, 3, 5, 7]])
    for n in (0, 1, 2, 5, -1):
        same(lambda m, x, n=n: m.diff(x, n), x)
    same(lambda m, x: m.diff(x, dim=0, prepend=x[:1], append=x[:1]), x)
    same(lambda m, x: m.diff(x, prepend=x[:, :1].double()), x)
    same(lambda m, x: m.diff(x > 4), x)
    same(lambda m, x: m.diff(x, prepend=x), x.float())
    same(lambda m, x: m.diff(x, prepend=x[0]), x)
    same(lambda m, x: m.diff(x[0, 0]), x)


@pytest.mark.parametrize("name", ["trapezoid", "cumulative_trapezoid", "trapz"])
def test_integrals(same, name):
    y = torch.tensor([[1, 4, 9, 16], [2, 3, 5, 7]])
    for x in (y, y.float(), y.to(torch.uint8), y > 3):
        same(lambda m, y: getattr(m, name)(y), x)
        same(lambda m, y: getattr(m, name)(y, dx=2, dim=0), x)
        same(lambda m, y: getattr(m, name)(y, m.tensor([0.0, 1.0, 3.0, 4.0])), x)
    same(lambda m, y: getattr(m, name)(y, y[:, 0], dim=0), y)
    same(lambda m, y: getattr(m, name)(y, y[0]), y)
    same(lambda m, y: getattr(m, name)(y, y[0, :3]), y)
    same(lambda m, y: getattr(m, name)(y[0, 0]), y)
    same(lambda m, y: getattr(m, name)(y, dim=2), y)


def test_a_large_distance_overflows_only_in_the_result(same):
    y = torch.tensor([1.0, -2.0], dtype=torch.float16)
    same(lambda m, y: (m.trapezoid(y, dx=70000.0), m.trapezoid(y, dx=1e6)), y)


@pytest.mark.parametrize("edge_order", [1, 2, 3])
def test_derivatives(same, edge_order):
    x = torch.tensor([[1.0, 4.0, 9.0, 16.0], [2.0, 3.0, 5.0, 7.0], [1.0, 0.0, 2.0, 2.0]])
    for how in (
        {}, {"spacing": 2}, {"spacing": 0.5, "dim": 1}, {"spacing": [2.0, 0.5]}, {"spacing": [2.0], "dim": 0},
        {"spacing": [2.0]}, {"dim": (1, 0)}, {"dim": (0, 0)}, {"dim": 2}, {"dim": ()},
    ):  # fmt: skip
        same(lambda m, x, how=how: m.gradient(x, edge_order=edge_order, **how), x)
    places = [torch.tensor([0.0, 1.0, 3.0]), torch.tensor([0.0, 2.0, 3.0, 7.0])]
    same(lambda m, x, p: m.gradient(x, spacing=p, edge_order=edge_order), x, places)
    same(lambda m, x, p: m.gradient(x, spacing=p, dim=1, edge_order=edge_order), x, places[1:])
    same(lambda m, x: m.gradient(x.long(), edge_order=edge_order), x)
    same(lambda m, x: m.gradient(x[:1], edge_order=edge_order), x)
    same(lambda m, x: m.gradient(x.to(m.uint8), edge_order=edge_order), x)


@pytest.mark.parametrize("places", ["int64", "float16", "float32", "float64", "complex64", "complex128"])
def test_derivatives_of_integers_have_the_dtype_of_the_places(same, places):
    x = torch.tensor([1, 2, 5], dtype=torch.int16)
    at = torch.tensor([0, 2, 3]).to(getattr(torch, places))
    same(lambda m, x, p: m.gradient(x, spacing=[p]), x, at)
    same(lambda m, x: m.gradient(x, spacing=2.5), x)
    same(lambda m, x: m.gradient(x, spacing=2 + 1j), x)


@pytest.mark.parametrize("edge_order", [1, 2])
def test_derivatives_keep_the_digits_of_wider_places(edge_order):
    values = np.linspace(1.0, 1.001, 50, dtype=np.float32)
    places = np.cumsum(np.linspace(1e-3, 2e-3, 50))
    (found,) = tt.gradient(tt.tensor(values), spacing=[tt.tensor(places)], edge_order=edge_order)
    expected = np.gradient(values.astype(np.float64), places, edge_order=edge_order)
    assert found.dtype is tt.float64
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9)


@pytest.mark.parametrize("edge_order", [1, 2])
def test_differences_of_small_integers_do_not_wrap_around(edge_order):
    values, places = [3, 5, -128, 1, 100], [-100, 4, 6, 10, 100]
    x, at = tt.tensor(values, dtype=tt.int8), tt.tensor(places, dtype=tt.int8)
    for spacing, distances in (({}, 1), ({"spacing": 2}, 2), ({"spacing": [at]}, places)):
        (found,) = tt.gradient(x, edge_order=edge_order, **spacing)
        expected = np.gradient(np.array(values, np.float64), distances, edge_order=edge_order)
        assert found.dtype is tt.float32
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_integrals_of_small_integers_do_not_wrap_around():
    y, x = tt.full((4,), 32767, dtype=tt.int16), tt.tensor([-128, 0, 100, 127], dtype=tt.int8)
    assert tt.trapezoid(y).item() == 3 * 32767 and tt.trapezoid(y, x).item() == 255 * 32767
    assert tt.cumulative_trapezoid(y).tolist() == [32767, 2 * 32767, 3 * 32767]
    assert tt.trapezoid(y, x).dtype is tt.float32
