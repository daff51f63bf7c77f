"""The kernels that combine elements along dimensions, against PyTorch."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tt

pytestmark = pytest.mark.torch
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
    same(lambda m, x: getattr(m, name)(x), sample(dtype))
    same(lambda m, x: getattr(m, name)(x), sample(dtype, ()))
    same(lambda m, x: getattr(m, name)(x), sample(dtype).permute(2, 0, 1))


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(
    ("name", "dim"),
    [
        pytest.param(name, dim, id=f"{name}-{dim}")
        for name in ("sum", "mean", "amax", "amin", "var", "std", "var_mean", "logsumexp", "all", "any")
        for dim in DIMS
        if dim is not None or name not in ("amax", "amin", "logsumexp")  # which do not take None
    ],
)
def test_along_dimensions(same, name, dim, keepdim):
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
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        (name, wanted)
        for name in ("sum", "mean", "prod", "cumsum")
        for wanted in ("int32", "float64", "bool", "complex64")
        if wanted != "bool" or name not in ("prod", "cumsum")
    ],
)
def test_the_dtype_of_the_result_can_be_asked_for(same, name, dtype, wanted):
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


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_equal_numbers_deviate_by_nothing(dtype):
    numbers = np.random.default_rng(0).normal(size=40) * (1 + (1j if dtype.startswith("complex") else 0))
    for count in (2, 3, 7, 1000):
        x = tt.from_numpy(np.repeat(numbers[:, None], count, 1).astype(dtype))
        assert not tt.var(x, 1).any() and not tt.std_mean(x, 1)[0].any()
    with np.errstate(invalid="ignore"):
        assert tt.var(tt.tensor([1.0, math.inf], dtype=getattr(tt, dtype))).isnan()


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


@pytest.mark.parametrize("masked", [False, True])
def test_the_mean_of_half_precision_numbers_does_not_overflow(masked):
    x = tt.full((1000, 2), 60000.0, dtype=tt.float16)
    with tt.mask_kernels("@non-core") if masked else tt.mask_kernels("nothing"):
        assert tt.mean(x).item() == 60000
        assert tt.mean(x, 0).tolist() == [60000.0, 60000.0]
        assert tt.mean(x.float(), 0, dtype=tt.float16).tolist() == [60000.0, 60000.0]
        assert tt.nanmean(x).item() == 60000


def test_truth_of_uint8_is_uint8(same):
    x = torch.tensor([[0, 2], [1, 1]], dtype=torch.uint8)
    for name in ("all", "any"):
        same(lambda m, x, n=name: getattr(m, n)(x), x)
        same(lambda m, x, n=name: getattr(m, n)(x, 1), x)
        same(lambda m, x, n=name: getattr(m, n)(x, (0, 1), True), x)


def test_sums_without_nan(same):
    x = torch.tensor([[1.0, math.nan, 2.0], [math.nan, math.nan, math.nan]])
    for name in ("nansum", "nanmean"):
        for dim in (None, 0, 1, (0, 1), (), 2):
            same(lambda m, x, n=name, d=dim: getattr(m, n)(x, d), x)
            same(lambda m, x, n=name, d=dim: getattr(m, n)(x, d, True, dtype=m.float64), x)
        same(lambda m, x, n=name: getattr(m, n)(x), x.long())
        same(lambda m, x, n=name: getattr(m, n)(x, dtype=m.float32), x.long())
        same(lambda m, x, n=name: getattr(m, n)(x, dtype=m.int64), x)
        same(lambda m, x, n=name: getattr(m, n)(x), x.to(torch.complex64))
        same(lambda m, x, n=name: getattr(m, n)(x[:0], 0), x)


def test_counts_of_what_is_not_zero(same):
    x = torch.tensor([[1, 0, 2], [0, 0, 3]])
    for dtype in (torch.int64, torch.bool, torch.float32, torch.complex64):
        for dim in (None, 0, -1, (0, 1), (), (0, 0), 2):
            same(lambda m, x, d=dim: m.count_nonzero(x, d), x.to(dtype))


def test_the_smallest_and_the_largest(same):
    x = torch.tensor([[3, 1, 2], [0, 5, 4]])
    for dtype in (torch.int64, torch.bool, torch.float32, torch.bfloat16, torch.complex64):
        for how in ({}, {"dim": 0}, {"dim": -1, "keepdim": True}, {"keepdim": True}):
            same(lambda m, x, how=how: m.aminmax(x, **how), x.to(dtype))
    same(lambda m, x: m.aminmax(x, dim=2), x)
    same(lambda m, x: m.aminmax(x), torch.tensor([1.0, math.nan]))
    same(lambda m, x: m.aminmax(x), x[:0])
    same(lambda m, x: m.aminmax(x, dim=1), x[:0])


def test_traces(same):
    for shape in ((3, 3), (2, 4), (4, 2), (0, 3), (3,), (2, 2, 2)):
        for dtype in (torch.int32, torch.float32, torch.float16, torch.complex64):
            same(lambda m, x: m.trace(x), torch.arange(torch.Size(shape).numel()).reshape(shape).to(dtype))


def test_deviations_with_their_means(same):
    x = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    for how in ({}, {"dim": 0}, {"dim": 1, "correction": 0, "keepdim": True}, {"unbiased": False}):
        same(lambda m, x, how=how: m.std_mean(x, **how), x)
    same(lambda m, x: m.std_mean(x, 0, False, True), x)
    same(lambda m, x: m.std_mean(x), x.long())


def test_products_as_truth(same):
    same(lambda m, x: m.prod(x, dtype=m.bool), torch.tensor([0.5, 2.0]))
    same(lambda m, x: m.prod(x, 0, dtype=m.bool), torch.tensor([[0.5, 0.0], [1.0, 1.0]]))


def test_out_decides_the_dtype_of_sums():
    x = tt.tensor([[0.5, 1.5], [2.5, 3.5]])
    out = tt.empty(2, dtype=tt.int64)
    tt.sum(x, 0, out=out)
    assert out.tolist() == [2, 4]  # of the truncated numbers, as with dtype=int64
    with pytest.raises(RuntimeError, match="dtype"):
        tt.sum(x, 0, dtype=tt.float32, out=out)
    with pytest.raises(RuntimeError, match="dtype"):
        tt.amax(x, 0, out=out)
    both = tt.max(tt.tensor(1), tt.tensor(6), out=tt.empty((), dtype=tt.int64))
    assert both.item() == 6


HASHED = {
    "integers": lambda t: t.hash_tensor(t.tensor([1, -2, 7])),
    "floats": lambda t: t.hash_tensor(t.tensor([1.0, 2.0, -0.0, float("nan")])),
    "bools": lambda t: t.hash_tensor(t.tensor([True, False, True, True])),
    "half": lambda t: t.hash_tensor(t.tensor([1.5, 3.0], dtype=t.bfloat16)),
    "bytes": lambda t: t.hash_tensor(t.tensor([255, 1], dtype=t.uint8)),
    "a number": lambda t: t.hash_tensor(t.tensor(3)),
    "rows": lambda t: t.arange(6).reshape(2, 3).hash_tensor(1, keepdim=True),
    "two dimensions": lambda t: t.hash_tensor(t.arange(60.0).reshape(3, 4, 5), (0, -1)),
    "kept": lambda t: t.hash_tensor(t.arange(7.0), keepdim=True),
    "no rows": lambda t: t.hash_tensor(t.zeros(0, 3), 1),
    "out": lambda t: t.hash_tensor(t.arange(6), out=t.empty(0, dtype=t.uint64)),
    "out of floats": lambda t: t.hash_tensor(t.arange(6), out=t.empty(0)),
    "nothing": lambda t: t.hash_tensor(t.zeros(0)),
    "an empty dimension": lambda t: t.hash_tensor(t.zeros(0, 3), 0),
    "complex": lambda t: t.hash_tensor(t.tensor([1j])),
    "another mode": lambda t: t.hash_tensor(t.arange(6), mode=1),
    "a dimension twice": lambda t: t.hash_tensor(t.ones(2, 2), (0, 0)),
}


@pytest.mark.torch
@pytest.mark.parametrize("case", HASHED)
def test_hashes_are_those_of_torch(case):
    torch = pytest.importorskip("torch")
    found = []
    for library in (tt, torch):
        try:
            result = HASHED[case](library)
            found.append((result.tolist(), tuple(result.shape), str(result.dtype).split(".")[1]))
        except (RuntimeError, IndexError, NotImplementedError) as error:
            found.append(type(error) is IndexError or isinstance(error, IndexError))
    assert found[0] == found[1]


def test_counting_all_elements_gives_an_array_where_numpy_gives_an_int(monkeypatch):
    from tt.backends.cpu.reduction import vector_norm

    counted = np.count_nonzero

    def as_in_numpy_2_1(array, axis=None, *, keepdims=False):
        found = counted(array, axis=axis, keepdims=keepdims)
        return int(found) if axis is None and not keepdims else found

    monkeypatch.setattr(np, "count_nonzero", as_in_numpy_2_1)
    numbers = np.array([[0.0, 2.0], [3.0, 0.0]])
    found = vector_norm(numbers, 0, None, False)
    assert isinstance(found, np.ndarray | np.generic) and found == 2
    assert found.dtype == np.float64


@pytest.mark.parametrize("dtype", [tt.float16, tt.float32, tt.complex64], ids=str)
def test_a_product_does_not_underflow_on_the_way(dtype):
    values = tt.tensor([2.0**-10, 2.0**10]).repeat_interleave(16).to(dtype)
    assert values.prod() == 1 and values.prod(0) == 1
    assert (values.reshape(32, 1).expand(32, 3).prod(0) == 1).all()
