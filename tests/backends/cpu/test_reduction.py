"""The kernels that combine elements along dimensions, against PyTorch."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tt

torch = pytest.importorskip("torch")

DTYPES = ["bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
DIMS = [None, 0, -1, 1, (0, 2), (), (0, 1, 2), 3, (0, 0), (-1, 2)]


def sample(dtype: str, shape: tuple[int, ...] = (2, 3, 4), seed: int = 0) -> torch.Tensor:
    kind = getattr(torch, dtype)
    numbers = torch.randint(0, 4, shape, generator=torch.Generator().manual_seed(seed))
    return torch.complex(numbers.float(), 1.0 - numbers).to(kind) if kind.is_complex else numbers.to(kind)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name",
    [
        "sum",
        "mean",
        "prod",
        "all",
        "any",
        "max",
        "min",
        "amax",
        "amin",
        "argmax",
        "argmin",
        "var",
        "std",
        "var_mean",
    ],
)
def test_over_all_elements(same, name, dtype):
    if (name, dtype) in (("all", "uint8"), ("any", "uint8")):
        pytest.skip("PyTorch gives uint8; the schema says bool, as for every other dtype")
    same(lambda m, x: getattr(m, name)(x), sample(dtype))
    same(lambda m, x: getattr(m, name)(x), sample(dtype, ()))
    same(lambda m, x: getattr(m, name)(x), sample(dtype).permute(2, 0, 1))


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", DIMS, ids=str)
@pytest.mark.parametrize(
    "name", ["sum", "mean", "amax", "amin", "var", "std", "var_mean", "logsumexp", "all", "any"]
)
def test_along_dimensions(same, name, dim, keepdim):
    if dim is None and name in ("amax", "amin", "logsumexp"):
        return
    if dim == () and name == "logsumexp":
        pytest.skip("PyTorch reduces all dimensions, but only with keepdim=True")
    same(lambda m, x: getattr(m, name)(x, dim=dim, keepdim=keepdim), sample("float32"))
    same(lambda m, x: getattr(m, name)(x, dim=dim, keepdim=keepdim), sample("float64").transpose(0, 2))


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1, 3])
@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "prod"])
def test_along_one_dimension(same, name, dim, keepdim):
    for dtype in ("int64", "float32", "bfloat16"):
        # Different elements: PyTorch promises nothing about which of equal ones max names.
        x = (
            torch.randperm(24, generator=torch.Generator().manual_seed(1))
            .reshape(2, 3, 4)
            .to(getattr(torch, dtype))
        )
        same(lambda m, x: getattr(m, name)(x, dim, keepdim), x % 5 if name == "prod" else x)


@pytest.mark.parametrize(
    "name", ["sum", "mean", "max", "min", "argmax", "cumsum", "sort", "logsumexp", "var", "all"]
)
@pytest.mark.parametrize("dim", [0, -1, 1])
def test_a_number_has_one_dimension_for_reductions(same, name, dim):
    same(lambda m, x: getattr(m, name)(x, dim), sample("float32", ()))


@pytest.mark.parametrize(
    "name",
    ["sum", "mean", "prod", "all", "any", "max", "amax", "argmax", "var", "std", "logsumexp", "cumsum"],
)
@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)], ids=str)
def test_no_elements(same, name, shape):
    x = torch.zeros(shape)
    if name not in ("logsumexp", "cumsum"):
        same(lambda m, x: getattr(m, name)(x), x)
    for dim in range(len(shape)):
        same(lambda m, x, d=dim: getattr(m, name)(x, d), x)


def test_nan_is_the_largest_and_the_smallest(same):
    x = torch.tensor(
        [[1.0, math.nan, 3.0, math.nan], [math.nan, 1.0, math.inf, 0.0], [1.0, 2.0, 3.0, -math.inf]]
    )
    for name in ("max", "min", "amax", "amin", "argmax", "argmin"):
        same(lambda m, x, n=name: getattr(m, n)(x, 1), x)
        same(lambda m, x, n=name: getattr(m, n)(x, 0), x[:, [0, 2]])


def test_of_equal_elements_the_first_counts():
    x = tt.tensor([[1, 3, 3], [0, 0, 0]])
    assert (
        tt.argmax(x, 1).tolist() == [1, 0] and x.max(1).indices.tolist() == [1, 0] and x.argmin().item() == 3
    )


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
@pytest.mark.parametrize("wanted", ["int32", "float64", "bool", "complex64"])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "cumsum"])
def test_the_dtype_of_the_result_can_be_asked_for(same, name, dtype, wanted):
    if wanted == "bool" and name in ("prod", "cumsum"):
        return
    arguments = (0,) if name == "cumsum" else ()
    same(lambda m, x: getattr(m, name)(x, *arguments, dtype=getattr(m, wanted)), sample(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [0, 1, -1, 3])
def test_cumsum(same, dtype, dim):
    same(lambda m, x: m.cumsum(x, dim), sample(dtype))
    if dtype != "bool":
        same(lambda m, x: x.cumsum_(dim), sample(dtype))


@pytest.mark.parametrize("correction", [0, 1, 0.5, 2, 5])
def test_variance(same, correction):
    x = torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for name in ("var", "std", "var_mean"):
        same(lambda m, x, n=name: getattr(m, n)(x, dim=1, correction=correction), x)
        same(lambda m, x, n=name: getattr(m, n)(x, dim=1, correction=correction), torch.complex(x, x.flip(0)))


def test_the_variance_of_numbers_far_from_zero_keeps_its_digits():
    x = np.random.default_rng(0).normal(1e4, 1e-1, 1000).astype(np.float32)
    assert tt.var(tt.from_numpy(x)).item() == pytest.approx(x.astype(np.float64).var(ddof=1), rel=1e-3)


def test_logsumexp_neither_overflows_nor_underflows(same):
    x = torch.tensor([[1000.0, 1000.0], [-1000.0, -1001.0], [-math.inf, -math.inf], [math.inf, 1.0]])
    same(lambda m, x: m.logsumexp(x, 1), x)
    same(lambda m, x: m.logsumexp(x, (0, 1), keepdim=True), x)


@pytest.mark.parametrize("dim", [0, 1, None])
def test_long_sums_in_single_precision_are_exact_to_some_digits(dim):
    x = np.full((100_000, 3) if dim != 1 else (3, 100_000), 0.1, np.float32)
    assert tt.from_numpy(x).sum(dim).numpy() == pytest.approx(x.astype(np.float64).sum(dim), rel=2e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_adds_in_single_precision(dtype):
    x = tt.full((10_000,), 0.125, dtype=getattr(tt, dtype))
    assert x.sum().item() == pytest.approx(1250, rel=1e-2)
    assert x.mean().item() == 0.125
