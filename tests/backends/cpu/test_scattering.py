"""Writing to places which tensors name, against PyTorch."""

from __future__ import annotations

import math

import pytest

import tt

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

X = torch.arange(12.0).reshape(3, 4) - 3
SRC = torch.tensor([[2.0, -1.0, 0.0, 3.0], [0.0, 5.0, 0.0, -2.0], [1.0, 1.0, 4.0, 0.0]])
INDEX = torch.tensor([[0, 2, 1, 0], [2, 2, 1, 1], [0, 0, 1, 2]])
PLACES = torch.tensor([2, 0])
DTYPES = ["float32", "float64", "int64", "uint8", "bool", "complex64", "bfloat16"]


def converted(tensor: torch.Tensor, dtype: str) -> torch.Tensor:
    return (tensor.abs() if dtype == "uint8" else tensor).to(getattr(torch, dtype))


# --- along one dimension ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin", "median"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_scatter_reduce(same, dtype, reduce, include_self):
    def program(m, x, i, src):
        how = {"reduce": reduce, "include_self": include_self}
        return (
            m.scatter_reduce(x, 0, i, src, **how),
            x.t().scatter_reduce(1, i.t(), src.t(), **how),
            x.clone().scatter_reduce_(1, i[:, :2], src, **how),
            m.scatter_reduce(x[0, 0], 0, i[0, 0] * 0, src[0, 0], **how),
            m.scatter_reduce(x, 0, i[:0], src, **how),
        )

    same(program, converted(X, dtype), INDEX, converted(SRC, dtype))


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_nan_and_infinities_are_reduced_as_numbers(same, reduce):
    src = torch.tensor([math.nan, 1.0, math.inf, -math.inf, 2.0, math.inf])
    index = torch.tensor([0, 0, 1, 1, 2, 2])
    same(lambda m, x, i, s: m.scatter_reduce(x, 0, i, s, reduce), torch.zeros(4), index, src)


def test_means_of_integers_round_down(same):
    x, index, src = torch.tensor([-7, 7]), torch.tensor([0, 0, 1]), torch.tensor([0, -1, 4])
    same(lambda m, x, i, s: m.scatter_reduce(x, 0, i, s, "mean"), x, index, src)
    same(lambda m, x, i, s: m.scatter_reduce(x, 0, i, s, "mean", include_self=False), x, index, src)


def test_sums_in_half_precision_are_not_rounded_in_between():
    ones = tt.full((4096,), 0.1, dtype=tt.bfloat16)
    total = tt.zeros(1, dtype=tt.bfloat16).scatter_add(0, tt.zeros(4096, dtype=tt.int64), ones)
    assert abs(total.item() - 410) <= 2
    assert (
        tt.zeros(1, dtype=tt.bfloat16).index_add(0, tt.zeros(4096, dtype=tt.int64), ones).item()
        == total.item()
    )


SCATTERS = {
    "scatter": lambda m, x, i, s: m.scatter(x, 0, PLACE(m, i), s),
    "value": lambda m, x, i, s: (m.scatter(x, 1, i, 3), x.clone().scatter_(1, i[:1], True)),
    "value of another kind": lambda m, x, i, s: m.scatter(x.to(m.int64), 1, i, 2.7),
    "value that does not fit": lambda m, x, i, s: m.scatter(x.to(m.uint8), 1, i, 300),
    "complex value": lambda m, x, i, s: m.scatter(x, 1, i, 1j),
    "add": lambda m, x, i, s: (m.scatter(x, 0, i, s, reduce="add"), m.scatter(x, 0, i, 2, reduce="add")),
    "multiply": lambda m, x, i, s: x.clone().scatter_(0, i, s, reduce="multiply"),
    "another reduction": lambda m, x, i, s: m.scatter(x, 0, i, s, reduce="amax"),
    "larger source": lambda m, x, i, s: m.scatter_add(x, 0, i[:2, :3], s),
    "smaller source": lambda m, x, i, s: m.scatter_add(x, 0, i, s[:2]),
    "int32": lambda m, x, i, s: m.scatter_add(x, 0, i.to(m.int32), s),
    "uint8": lambda m, x, i, s: m.scatter_add(x, 0, i.to(m.uint8), s),
    "no places": lambda m, x, i, s: (m.scatter_add(x, 0, i[:0], s), m.gather(x, 0, i[:0].to(m.uint8))),
    "too large": lambda m, x, i, s: m.scatter_add(x, 0, i + 1, s),
    "negative": lambda m, x, i, s: m.gather(x, 0, i - 1),
    "another dtype": lambda m, x, i, s: m.scatter_add(x, 0, i, s.to(m.float64)),
    "another number of dimensions": lambda m, x, i, s: m.gather(x, 0, i[0]),
}


def PLACE(m, i):  # noqa: N802 - distinct places of each column
    return m.stack([i[0] * 0 + k for k in (2, 0, 1)])


@pytest.mark.parametrize("name", SCATTERS)
def test_scatter(same, name):
    same(SCATTERS[name], X, INDEX, SRC)


# --- slices ----------------------------------------------------------------------------------------------------

SLICES = {
    "index_add": lambda m, x, i, s: (m.index_add(x, 0, i, s[:2]), m.index_add(x, 1, i, s[:, :2], alpha=-2)),
    "index_add of columns": lambda m, x, i, s: x.t().clone().index_add_(0, i, s.t()[:2]),
    "index_add again": lambda m, x, i, s: m.index_add(x, 0, m.cat([i, i]), m.cat([s, s])[:4]),
    "index_add in int32": lambda m, x, i, s: m.index_add(x, 0, i.to(m.int32), s[:2]),
    "index_add of numbers": lambda m, x, i, s: m.index_add(x[0, 0], 0, i[1:], s[0, 0]),
    "index_add of a wrong count": lambda m, x, i, s: m.index_add(x, 0, i, s),
    "index_add of a wrong shape": lambda m, x, i, s: m.index_add(x, 0, i, s[:2, :2]),
    "index_add out of range": lambda m, x, i, s: m.index_add(x, 0, i + 1, s[:2]),
    "index_copy": lambda m, x, i, s: (m.index_copy(x, 0, i, s[:2]), x.clone().index_copy_(1, i, s[:, :2])),
    "index_copy of numbers": lambda m, x, i, s: (
        m.index_copy(x[0, 0], 0, i[1:], s[0, 0]), m.index_copy(x[0], 0, i[0], s[0, 0]),
    ),
    "index_copy in int32": lambda m, x, i, s: m.index_copy(x, 0, i.to(m.int32), s[:2]),
    "index_copy of a wrong count": lambda m, x, i, s: m.index_copy(x, 0, i, s),
    "index_copy of a wrong shape": lambda m, x, i, s: m.index_copy(x, 0, i, s[:2, :2]),
    "index_copy of other dimensions": lambda m, x, i, s: m.index_copy(x, 0, i[:1], s[0]),
    "index_copy out of range": lambda m, x, i, s: m.index_copy(x, 0, i - 1, s[:2]),
    "index_fill": lambda m, x, i, s: (m.index_fill(x, 0, i, 2), x.clone().index_fill_(1, i - 2, s[0, 0])),
    "index_fill of numbers": lambda m, x, i, s: m.index_fill(x[0, 0], 0, i[1:], 5),
    "index_fill that truncates": lambda m, x, i, s: m.index_fill(x.to(m.int64), 0, i, 2.7),
    "index_fill that does not fit": lambda m, x, i, s: m.index_fill(x.to(m.uint8), 0, i, 300),
    "index_fill with a vector": lambda m, x, i, s: m.index_fill(x, 0, i, s[0, :1]),
    "index_fill in int32": lambda m, x, i, s: m.index_fill(x, 0, i.to(m.int32), 2),
    "index_fill out of range": lambda m, x, i, s: m.index_fill(x, 0, i + 1, 2),
    "index_reduce": lambda m, x, i, s: [
        m.index_reduce(x, 1, i, s[:, :2], how, include_self=own)
        for how in ("prod", "mean", "amax", "amin") for own in (True, False)
    ],
    "index_reduce by sum": lambda m, x, i, s: m.index_reduce(x, 1, i, s[:, :2], "sum"),
}  # fmt: skip


@pytest.mark.parametrize("name", SLICES)
def test_slices(same, name):
    same(SLICES[name], X, PLACES, SRC)
    if "number" not in name:
        same(SLICES[name], X.t().contiguous().t(), PLACES, SRC)


@pytest.mark.parametrize("count", [7, 40, 600])
@pytest.mark.parametrize("dim", [0, 1])
def test_long_slices_are_added_in_the_order_of_their_indices(same, dim, count):
    generator = torch.Generator().manual_seed(count)
    x = torch.randn(300, 300, generator=generator, dtype=torch.float64)
    index = torch.randint(0, 30, (count,), generator=generator)
    source = torch.randn(count, 300, generator=generator, dtype=torch.float64)
    source = source if dim == 0 else source.t()
    same(
        lambda m, x, i, s: (m.index_add(x, dim, i, s), x.t().clone().index_add_(1 - dim, i, s.t())),
        x,
        index,
        source,
    )
    if dim == 0:
        same(lambda m, x, i, s: x.index_put((i - 30,), s, accumulate=True), x, index, source)


# --- flat places and masks -------------------------------------------------------------------------------------

FLAT = {
    "take": lambda m, x, i, s: (m.take(x, i), x.t().take(i - 12), m.take(x, i[0, 0]), m.take(x, i[:0])),
    "take in int32": lambda m, x, i, s: m.take(x, i.to(m.int32)),
    "take out of range": lambda m, x, i, s: m.take(x, i + 10),
    "take of nothing": lambda m, x, i, s: m.take(x[:0], i),
    "take nothing of nothing": lambda m, x, i, s: m.take(x[:0], i[:0]),
    "take_along_dim": lambda m, x, i, s: (
        m.take_along_dim(x, i, 0), m.take_along_dim(x, i[:1, :1], 1), m.take_along_dim(x[:1], i - 3, 1),
        m.take_along_dim(x, i * 4),
    ),
    "take_along_dim without dimensions": lambda m, x, i, s: m.take_along_dim(x[0, 0], i[0, 0], 0),
    "take_along_dim in int32": lambda m, x, i, s: m.take_along_dim(x, i.to(m.int32), 0),
    "put": lambda m, x, i, s: (m.put(x, i[0, :2], s[0, :2]), x.t().clone().put_(i[0, :2] - 4, s[0, :2])),
    "put that adds": lambda m, x, i, s: (m.put(x, i, s, True), x.t().clone().put_(i - 12, s, accumulate=True)),
    "put of a wrong count": lambda m, x, i, s: m.put(x, i, s[0]),
    "put out of range": lambda m, x, i, s: m.put(x, i + 10, s),
    "put of another dtype": lambda m, x, i, s: m.put(x, i, s.to(m.int64)),
    "masked_scatter": lambda m, x, i, s: (m.masked_scatter(x, x > 1, s), x.t().clone().masked_scatter_(i.t() > 0, s)),
    "masked_scatter that broadcasts": lambda m, x, i, s: (
        m.masked_scatter(x, x[0] > -2, s), m.masked_scatter(x[0], i > 0, s),
    ),
    "masked_scatter of too few": lambda m, x, i, s: m.masked_scatter(x, x > -9, s[0]),
    "masked_scatter of another dtype": lambda m, x, i, s: m.masked_scatter(x, x > 1, s.to(m.float64)),
    "masked_scatter of a number": lambda m, x, i, s: m.masked_scatter(x, i, s),
    "masked_fill": lambda m, x, i, s: (m.masked_fill(x, x > 1, 7), x.masked_fill(i > 0, s[0, 0]),
                                       m.masked_fill(x[0], i > 0, True)),
    "masked_fill that truncates": lambda m, x, i, s: m.masked_fill(i, i > 0, 2.7),
    "masked_fill that does not fit": lambda m, x, i, s: m.masked_fill(i.to(m.int8), i > 0, 300),
    "masked_fill that does not fit as a tensor": lambda m, x, i, s: m.masked_fill(i.to(m.int8), i > 0, s[0, 0] + 300),
    "masked_fill with infinity": lambda m, x, i, s: m.masked_fill(x, i > 0, math.inf),
    "masked_fill of integers with infinity": lambda m, x, i, s: m.masked_fill(i, i > 0, math.inf),
    "masked_fill with a complex number": lambda m, x, i, s: m.masked_fill(x, i > 0, 1j),
    "repeat_interleave": lambda m, x, i, s: (
        m.repeat_interleave(x, 2), x.repeat_interleave(3, dim=1), m.repeat_interleave(x, i[0, :3], 0),
        m.repeat_interleave(i[0]), m.repeat_interleave(x, i[0, 1], -1, output_size=8), x[0, 0].repeat_interleave(2),
    ),
    "repeat_interleave less than nothing": lambda m, x, i, s: m.repeat_interleave(x, i[0, :3] - 1, 0),
    "repeat_interleave of a wrong size": lambda m, x, i, s: m.repeat_interleave(x, i[0, :3], 0, output_size=9),
    "repeat_interleave of a wrong count": lambda m, x, i, s: m.repeat_interleave(x, i[0], 0),
    "repeat_interleave by floats": lambda m, x, i, s: m.repeat_interleave(x, s[0, :3], 0),
    "argwhere": lambda m, x, i, s: (m.argwhere(i), i[0, 1].argwhere(), m.nonzero(i, as_tuple=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", FLAT)
def test_flat_places_and_masks(same, name):
    same(FLAT[name], X, INDEX, SRC)


# --- out= ------------------------------------------------------------------------------------------------------


def test_out_has_the_dtype_of_the_result_and_memory_of_its_own():
    x, index = tt.arange(4.0), tt.tensor([1, 0])
    out = tt.empty(2)
    assert tt.gather(x, 0, index, out=out) is out and out.tolist() == [1.0, 0.0]
    for wrong, message in (
        (tt.empty(2, dtype=tt.float64), "to have dtype float32, but got float64 instead"),
        (x[:2], "the out tensor and the argument 'self' share memory"),
        (tt.empty(1).expand(2), "memory"),
    ):
        with pytest.raises(RuntimeError, match=message):
            tt.gather(x, 0, index, out=wrong)


def test_out_may_be_the_tensor_that_is_changed():
    x = tt.zeros(3)
    tt.index_add(x, 0, tt.tensor([1, 1]), tt.ones(2), out=x)
    assert x.tolist() == [0.0, 2.0, 0.0]


def test_nonzero_takes_out_with_as_tuple_false():
    out = tt.empty(0, dtype=tt.int64)
    assert tt.nonzero(tt.tensor([0, 3]), as_tuple=False, out=out) is out and out.tolist() == [[1]]
    with pytest.raises(RuntimeError, match="as_tuple must be False"):
        tt.nonzero(tt.tensor([0, 3]), as_tuple=True, out=out)


def test_a_tensor_is_the_source_of_its_own_masked_scatter():
    for dtype in (tt.int32, tt.bfloat16, tt.float64):
        x = tt.tensor([-1, 5, 1, 4, -1, -2], dtype=dtype)
        assert x.masked_scatter_(x > 0, x).tolist() == [-1, -1, 5, 1, -1, -2]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32", "bfloat16"])
@pytest.mark.parametrize("value", [1 + 0j, 1j])
def test_complex_numbers_fill_complex_tensors_only(dtype, value):
    for t in (torch, tt):
        for name in ("index_fill", "index_fill_"):
            x, index = t.zeros(3, dtype=getattr(t, dtype)), t.tensor([0])
            for given in (value, t.tensor(value)):
                with pytest.raises(RuntimeError):
                    getattr(x, name)(0, index, given)
            assert not x.any()
    assert tt.zeros(2, dtype=tt.complex64).index_fill(0, tt.tensor([1]), value).tolist() == [0, value]


LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: x.t(),
    "gaps": lambda x: x[:, ::2],
    "a row again": lambda x: x[:1].expand(4, 6),
    "a column again": lambda x: x[:, :1].expand(4, 6),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_sum_at_places_lies_in_memory_as_a_clone_does(layout):
    target = LAYOUTS[layout](tt.arange(24.0).view(4, 6))
    index, ones = tt.zeros(target.shape, dtype=tt.int64), tt.ones(target.shape)
    found, wanted = target.scatter_add(1, index, ones), target.clone().scatter_add_(1, index, ones)
    assert tt.equal(found, wanted)
    assert found.stride() == wanted.stride()
