"""Sorting, and operators made of it, against PyTorch."""

from __future__ import annotations

import math

import pytest

import tt

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

NAN = torch.tensor([[3.0, math.nan, -math.inf, 1.0, math.nan], [0.0, -0.0, math.inf, 2.0, -1.0]])
DTYPES = ["bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


def sample(dtype: str) -> torch.Tensor:
    numbers = torch.randint(0, 6, (3, 4, 5), generator=torch.Generator().manual_seed(0))
    return numbers.to(getattr(torch, dtype))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_is_stable(same, dtype, dim, descending):
    same(lambda m, x: m.sort(x, dim=dim, descending=descending, stable=True), sample(dtype))
    same(lambda m, x: m.sort(x, dim=dim, descending=descending)[0], sample(dtype).transpose(0, 2))
    same(lambda m, x: m.argsort(x, dim=dim, descending=descending, stable=True), sample(dtype))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_nan_counts_as_the_largest(same, dtype, descending):
    same(lambda m, x: m.sort(x, descending=descending, stable=True), NAN.to(getattr(torch, dtype)))


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("k", [0, 1, 3, 20, 41])
@pytest.mark.parametrize("dim", [0, -1])
def test_topk(same, k, dim, largest):
    x = torch.randperm(1600, generator=torch.Generator().manual_seed(2)).reshape(40, 40).float()
    same(lambda m, x: m.topk(x, k, dim=dim, largest=largest), x)
    same(lambda m, x: m.topk(x, min(k, 5), largest=largest)[0], NAN)
    same(lambda m, x: m.topk(x, k), torch.tensor(1.0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique(same, dtype):
    x = sample(dtype)
    same(lambda m, x: m.unique(x), x)
    same(lambda m, x: m.unique(x, return_inverse=True), x)
    same(lambda m, x: m.unique(x, return_counts=True), x)
    same(lambda m, x: m.unique(x, True, True, True), x.transpose(0, 1))
    same(lambda m, x: m.unique(x[0, 0, 0], return_inverse=True), x)
    same(lambda m, x: m.unique(x[:0], return_inverse=True, return_counts=True), x)


def test_each_nan_is_unique(same):
    same(lambda m, x: m.unique(x, return_inverse=True, return_counts=True), NAN[:, [0, 2, 3]])
    assert tt.isnan(tt.unique(tt.tensor([math.nan, math.nan, 1.0]))).sum().item() == 2


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "bool"])
def test_unique_slices(same, dtype, dim):
    x = torch.randint(0, 2, (6, 3, 2), generator=torch.Generator().manual_seed(0)).to(getattr(torch, dtype))
    same(lambda m, x: m.unique(x, dim=dim), x)
    same(lambda m, x: m.unique(x, dim=dim, return_inverse=True, return_counts=True), x)


# --- runs ------------------------------------------------------------------------------------------------------

RUNS = {
    "all": lambda m, x: (
        m.unique_consecutive(x),
        x.unique_consecutive(return_inverse=True, return_counts=True),
    ),
    "along a dimension": lambda m, x: [
        m.unique_consecutive(x, return_inverse=True, return_counts=True, dim=dim) for dim in (0, 1, -1)
    ],
    "nothing": lambda m, x: m.unique_consecutive(x[:0], return_inverse=True, return_counts=True),
    "no slices": lambda m, x: m.unique_consecutive(x[:0], return_inverse=True, return_counts=True, dim=0),
    "slices of nothing": lambda m, x: m.unique_consecutive(x[:0], dim=1),
    "a number": lambda m, x: m.unique_consecutive(x[0, 0, 0], return_inverse=True, return_counts=True),
    "a dimension of a number": lambda m, x: m.unique_consecutive(x[0, 0, 0], dim=0),
    "a dimension of a number, sorted": lambda m, x: m.unique(x[0, 0, 0], dim=0),
    "sorted slices of nothing": lambda m, x: m.unique(x[:0], dim=1),
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("dtype", ["bool", "int64", "float32", "bfloat16"])
def test_unique_consecutive(same, name, dtype):
    x = torch.tensor([[[1, 1]], [[1, 1]], [[0, 0]], [[0, 1]], [[1, 1]]]).to(getattr(torch, dtype))
    same(RUNS[name], x)


def test_msort(same):
    same(lambda m, x: (m.msort(x), x.t().msort(), m.msort(x[0, 0])), NAN)


# --- searching -------------------------------------------------------------------------------------------------

SEQUENCE = torch.tensor([[1, 3, 3, 5, 9], [0, 0, 2, 8, 8]])
VALUES = torch.tensor([[0, 3, 9, 10], [8, 1, 0, -1]])
SEARCHES = {
    "a vector": lambda m, s, v: (m.searchsorted(s[0], v), m.searchsorted(s[0], v, right=True)),
    "rows": lambda m, s, v: (m.searchsorted(s, v), m.searchsorted(s, v, side="right")),
    "columns": lambda m, s, v: m.searchsorted(s[0], v.t()),
    "a number": lambda m, s, v: (m.searchsorted(s[0], 3), m.searchsorted(s[0], v[0, 1]), m.bucketize(3, s[0])),
    "numbers beyond the dtype": lambda m, s, v: (
        [m.searchsorted(s[0], n, right=r) for n in (300, 1e300, -1e300) for r in (False, True)],
        m.bucketize(-1e39, s[0]),
    ),
    "nothing": lambda m, s, v: (m.searchsorted(s[0, :0], v), m.searchsorted(s[0], v[:0]), m.searchsorted(s[:, :0], v)),
    "int32": lambda m, s, v: (m.searchsorted(s, v, out_int32=True), m.bucketize(v, s[0], out_int32=True, right=True)),
    "another dtype": lambda m, s, v: (m.searchsorted(s, v.to(m.float64) + 0.5), m.searchsorted(s[0], 2.5)),
    "a sorter": lambda m, s, v: m.searchsorted(s.flip([1]), v, sorter=m.argsort(s.flip([1]), stable=True)),
    "a sorter of another shape": lambda m, s, v: m.searchsorted(s, v, sorter=m.argsort(s[0])),
    "a sorter in int32": lambda m, s, v: m.searchsorted(s, v, sorter=m.argsort(s).to(m.int32)),
    "a sorter out of range": lambda m, s, v: m.searchsorted(s, v, sorter=m.argsort(s) + 1),
    "opposite sides": lambda m, s, v: m.searchsorted(s, v, side="left", right=True),
    "no side": lambda m, s, v: m.searchsorted(s, v, side="middle"),
    "a number in rows": lambda m, s, v: m.searchsorted(s, 3),
    "other rows": lambda m, s, v: m.searchsorted(s, v[:1]),
    "no dimensions": lambda m, s, v: m.searchsorted(s[0, 0], v),
    "boundaries in rows": lambda m, s, v: m.bucketize(v, s),
    "bools": lambda m, s, v: m.searchsorted(s > 1, v > 1),
    "isin": lambda m, s, v: (m.isin(v, s), m.isin(v, s, invert=True), m.isin(v, 3), m.isin(3, v), m.isin(v, s[0, :2])),
    "isin of another dtype": lambda m, s, v: (m.isin(v, s.to(m.float32)), m.isin(v, 2.5)),
    "isin of bools": lambda m, s, v: m.isin(v > 1, s > 1),
}  # fmt: skip


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float64"])
def test_searching(same, name, dtype):
    values = VALUES.abs() if dtype == "uint8" else VALUES
    same(SEARCHES[name], SEQUENCE.to(getattr(torch, dtype)), values.to(getattr(torch, dtype)))


def test_numbers_beyond_an_integer_dtype_belong_to_its_ends():
    bytes_ = tt.tensor([0, 3, 255, 255], dtype=tt.uint8)
    assert [tt.searchsorted(bytes_, n).item() for n in (-1, -300, 255, 256, 2**40)] == [0, 0, 2, 4, 4]
    assert [tt.bucketize(n, bytes_, right=True).item() for n in (-1, 0, 255, 256)] == [0, 1, 4, 4]
    numbers = tt.tensor([-math.inf, 0.0, math.inf])
    assert [tt.searchsorted(numbers, n, right=r).item() for n in (-1e39, 1e39) for r in (False, True)] == [
        1,
        1,
        2,
        2,
    ]


def test_searching_long_rows(same):
    generator = torch.Generator().manual_seed(3)
    rows = torch.sort(torch.randn(4, 50, generator=generator))[0]
    values = torch.randn(4, 100, generator=generator)
    same(
        lambda m, s, v: (m.searchsorted(s, v), m.searchsorted(s, m.cat([v, s], 1), right=True)), rows, values
    )


def test_nan_belongs_behind_all_others(same):
    same(lambda m, x: m.searchsorted(m.sort(x[1])[0], x), NAN)
    same(lambda m, x: m.searchsorted(m.sort(x[0])[0], x, right=True), NAN)
    same(lambda m, x: (m.isin(x, x), m.isin(x, m.cat([x, x, x], 1))), NAN)


def test_an_order_of_equal_elements_is_that_of_their_places():
    x = tt.tensor([2, 1, 2, 1])
    assert x.argsort().tolist() == [1, 3, 0, 2]
    assert x.argsort(descending=True).tolist() == [0, 2, 1, 3]
    assert tt.sort(x, stable=None).indices.tolist() == [1, 3, 0, 2]


LAID_OUT = {
    "rows": lambda x: x,
    "rows of a larger tensor": lambda x: x[:, ::2, 1:-1],
    "columns": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
    "one row for all": lambda x: x[:1, :1].expand(x.shape),
    "one row for each batch": lambda x: x[:, :1].expand(x.shape),
    "a batch between": lambda x: x.transpose(0, 1),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("values", sorted(LAID_OUT))
@pytest.mark.parametrize("rows", sorted(LAID_OUT))
def test_rows_are_searched_however_they_lie_in_memory(same, rows, values, dtype):
    generator = torch.Generator().manual_seed(1)
    numbers, wanted = (
        torch.randint(0, 40, (4, 4, n), generator=generator).to(getattr(torch, dtype)) for n in (19, 23)
    )
    numbers = numbers.sort(-1)[0]
    between = LAID_OUT[rows](numbers)
    found = LAID_OUT[values](wanted)
    found = found[:, : between.shape[1]] if found.shape[1] >= between.shape[1] else found.repeat(1, 2, 1)
    same(lambda m, s, v: (m.searchsorted(s, v), m.searchsorted(s, v, right=True)), between, found)
    mixed = between.flip(-1)
    same(lambda m, s, v, o: m.searchsorted(s, v, sorter=o), mixed, found, torch.argsort(mixed, stable=True))


@pytest.mark.parametrize("weights", [None, tt.ones(2)])
@pytest.mark.parametrize("largest", [2**63 - 1, 2**62])
def test_numbers_that_no_vector_can_count_are_refused(largest, weights):
    with pytest.raises(
        RuntimeError, match=r"largest integer should be less|array is too big|larger than any"
    ):
        tt.bincount(tt.tensor([1, largest]), weights)
