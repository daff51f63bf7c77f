"""Reading and writing at places which tensors name, against PyTorch."""

from __future__ import annotations

import pytest

import tt

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

X = torch.arange(60.0).reshape(3, 4, 5)
I = torch.tensor([2, 0, 1, 0])  # noqa: E741 - an index
J = torch.tensor([[1, -1], [0, 3]])
MASK = X.to(torch.int64) % 3 == 0

READS = {
    "one": lambda m, x, i, j, b: x[i],
    "with a slice": lambda m, x, i, j, b: (x[i, 1:3], x[:, i], x[..., i]),
    "two that broadcast": lambda m, x, i, j, b: x[i[:2], j],
    "apart from each other": lambda m, x, i, j, b: x[i[:2], :, i[:2]],
    "apart with numbers": lambda m, x, i, j, b: (x[0, :, i], x[i[:2], :, 0], x[1, :, j]),
    "with a new dimension": lambda m, x, i, j, b: (x[None, i], x[i, None], x[i, None, i]),
    "all": lambda m, x, i, j, b: x[i[:2], j, i[2:]],
    "negative": lambda m, x, i, j, b: x[-i],
    "a mask": lambda m, x, i, j, b: x[b],
    "a mask of some dimensions": lambda m, x, i, j, b: (x[b[:, :, 0]], x[:, b[0]], x[b[:, 0, 0]]),
    "a mask and an index": lambda m, x, i, j, b: x[b[:, 0, 0], :, i[:1]],
    "a mask and a slice": lambda m, x, i, j, b: x[b[:, 0, 0], 1:3],
    "a list": lambda m, x, i, j, b: x[[0, 2]],
    "bools": lambda m, x, i, j, b: (x[True], x[False], x[0, True]),
    "no elements": lambda m, x, i, j, b: (x[i[:0]], x[m.zeros(3, dtype=m.bool)]),
    "a tensor without dimensions": lambda m, x, i, j, b: (x[i[0]], x[i[0], j], x[:, i[0]]),
    "too large": lambda m, x, i, j, b: x[i + 1],
    "too small": lambda m, x, i, j, b: x[i - 5],
    "too many": lambda m, x, i, j, b: x[i, i, i, i],
    "shapes that do not broadcast": lambda m, x, i, j, b: x[i, i[:3]],
    "a mask of another shape": lambda m, x, i, j, b: x[b[:, :2]],
    "floating point": lambda m, x, i, j, b: x[i.float()],
}


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "bfloat16", "complex64"])
@pytest.mark.parametrize("name", READS)
def test_reading(same, name, dtype):
    same(READS[name], X.to(getattr(torch, dtype)), I, J, MASK)
    if dtype == "float32":
        same(READS[name], X.permute(2, 1, 0)[:3].permute(0, 1, 2).contiguous(), I, J, MASK[:, :, :3])


WRITES = {
    "a number": (lambda i, j, b: (i,), 7.0),
    "a row": (lambda i, j, b: (i[:3],), torch.arange(5.0)),
    "with a slice": (lambda i, j, b: (slice(None), i[:3]), torch.ones(3, 5)),
    "broadcast": (lambda i, j, b: (i[:2], j), torch.arange(10.0).reshape(2, 1, 5)),
    "a mask": (lambda i, j, b: (b,), -1.0),
    "a mask with values": (lambda i, j, b: (b,), torch.arange(20.0)),
    "a mask of some dimensions": (lambda i, j, b: (b[:, :, 0],), torch.arange(5.0)),
    "leading ones": (lambda i, j, b: (i[:3],), torch.ones(1, 1, 3, 4, 5)),
    "apart": (lambda i, j, b: (i[:3], slice(1, 3), i[:3]), torch.arange(6.0).reshape(3, 2)),
    "too many values": (lambda i, j, b: (b,), torch.arange(7.0)),
    "values that do not fit": (lambda i, j, b: (i,), torch.arange(4.0)),
    "too large": (lambda i, j, b: (i + 1,), 1.0),
}


@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16"])
@pytest.mark.parametrize("name", WRITES)
def test_assignment(same, name, dtype):
    where, value = WRITES[name]
    value = value if isinstance(value, float) else (value.to(getattr(torch, dtype)),)

    def assign(m, x, i, j, b, value):
        x[where(i, j, b)] = value if isinstance(value, float) else value[0]
        return x

    same(assign, X.to(getattr(torch, dtype)), I, J, MASK, value)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16", "bool", "complex64"])
@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put(same, dtype, accumulate):
    kind = getattr(torch, dtype)
    i = I if accumulate else I[:3]  # PyTorch does not say which of several values wins
    values = (torch.arange(5.0) - 2).to(kind)
    same(lambda m, x, i, v: x.index_put((i,), v, accumulate=accumulate), X.to(kind), i, values)
    same(lambda m, x, i, v: x.index_put_((i,), v, accumulate), X.to(kind), i, values)
    same(
        lambda m, x, i, v: x.t().index_put_((i[:2], i[:2]), v[0], accumulate),
        X[0, :3, :3].to(kind).clone(),
        i,
        values,
    )


ADDING = {
    "index_put": lambda x, i, v: x.index_put_((i,), v, accumulate=True),
    "index_put of pairs": lambda x, i, v: x[None].index_put_((i - 1, i), v, accumulate=True)[0],
    "index_put of rows": lambda x, i, v: x[:, None].index_put_((i,), v[:, None], accumulate=True)[:, 0],
    "index_put of a matrix": lambda x, i, v: x.index_put_((i.view(2, -1),), v.view(2, -1), accumulate=True),
    "put": lambda x, i, v: x.put_(i, v, accumulate=True),
    "index_add": lambda x, i, v: x.index_add_(0, i, v),
    "scatter_add": lambda x, i, v: x.scatter_add_(0, i, v),
    "scatter_reduce": lambda x, i, v: x.scatter_reduce_(0, i, v, "sum"),
}


@pytest.mark.parametrize("dtype", [tt.float16, tt.bfloat16], ids=str)
@pytest.mark.parametrize("name", ADDING)
def test_many_values_for_one_place_are_added_in_single_precision(name, dtype):
    values, index = tt.full((4096,), 0.25, dtype=dtype), tt.ones(4096, dtype=tt.int64)
    assert ADDING[name](tt.zeros(2, dtype=dtype), index, values).tolist() == [0, 1024]


@pytest.mark.parametrize("dtype", tt.core.types.dtype.STORED, ids=str)
def test_float8_values_are_added_in_single_precision(dtype):
    values, index = tt.full((64,), 0.5, dtype=dtype), tt.ones(64, dtype=tt.int64)
    start = tt.full((2,), 32, dtype=dtype)
    assert start.index_put_((index,), values, accumulate=True).float().tolist() == [32, 64]


GATHERS = {
    "the same shape": torch.randint(0, 3, (3, 4, 5), generator=torch.Generator().manual_seed(0)),
    "smaller": torch.tensor([[[0, 2], [1, 1]]]),
    "larger along the dimension": torch.zeros(3, 9, 5, dtype=torch.int64),
    "too large": torch.full((3, 4, 5), 5),
    "negative": torch.full((3, 4, 5), -1),
    "larger elsewhere": torch.zeros(4, 4, 5, dtype=torch.int64),
    "fewer dimensions": torch.zeros(3, 4, dtype=torch.int64),
    "no elements": torch.zeros(3, 0, 5, dtype=torch.int64),
    "floating point": torch.zeros(3, 4, 5),
    "int32": torch.zeros(3, 4, 5, dtype=torch.int32),
}


@pytest.mark.parametrize("dim", [0, 1, -1, 3])
@pytest.mark.parametrize("name", GATHERS)
def test_gather(same, name, dim):
    if name == "floating point" and dim == 3:
        return  # two mistakes
    same(lambda m, x, i: m.gather(x, dim, i), X, GATHERS[name])


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", GATHERS)
@pytest.mark.parametrize("op", ["scatter", "scatter_add"])
def test_scatter(same, op, name, dim):
    index = GATHERS[name]
    if op == "scatter" and name == "the same shape":
        index = torch.argsort(X.flip(dim), dim)  # all different
        index = index[tuple(slice(3) if d == dim % 3 else slice(None) for d in range(3))]
    if op == "scatter" and name == "smaller" and dim == -1:
        index = index.flip(1)
    source = torch.arange(270.0).reshape(6, 9, 5)
    if op == "scatter" and name in ("larger along the dimension", "int32", "smaller"):
        source = torch.full_like(source, 3.0)
    same(lambda m, x, i, s: getattr(m, op)(x, dim, i, s), X, index, source)
    same(lambda m, x, i, s: getattr(x, op + "_")(dim, i, s), X.clone(), index, source)


def test_scatter_of_a_number(same):
    same(lambda m, x, i: m.scatter(x, 1, i, 5.5), X, GATHERS["smaller"])
    same(lambda m, x, i: x.scatter_(1, i, 1), X.long(), GATHERS["smaller"])
    same(lambda m, x, i: m.scatter(x, 0, i, 2.0), torch.tensor(1.0), torch.tensor(0))
    same(
        lambda m, x, i, s: m.scatter(x, 0, i, s),
        X,
        GATHERS["smaller"],
        torch.ones(2, 2, 2, dtype=torch.float64),
    )


def test_numbers_have_one_dimension(same):
    one, zero = torch.tensor(1.5), torch.tensor(0)
    same(lambda m, x, i: m.gather(x, 0, i), one, zero)
    same(lambda m, x, i: m.gather(x, -1, i), one, torch.zeros(3, dtype=torch.int64))
    same(lambda m, x, i: m.index_select(x, 0, i), one, torch.zeros(1, dtype=torch.int64))
    same(lambda m, x, i, s: m.scatter_add(x, 0, i, s), one, zero, one)


@pytest.mark.parametrize("index", [[0, 2, 2], [], [3], [-1], [[0]]], ids=str)
@pytest.mark.parametrize("dim", [0, -1, 5])
def test_index_select(same, index, dim):
    same(lambda m, x, i: m.index_select(x, dim, i), X, torch.tensor(index, dtype=torch.int64))


@pytest.mark.parametrize("alpha", [1, 2, -0.5])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_index_add(same, alpha, dtype):
    kind = getattr(torch, dtype)
    same(
        lambda m, x, i, s: m.index_add(x, 1, i, s, alpha=alpha),
        X.to(kind),
        torch.tensor([0, 0, 3]),
        torch.ones(3, 3, 5).to(kind),
    )
    same(
        lambda m, x, i, s: x.index_add_(0, i, s),
        X.to(kind),
        torch.tensor([0, 0, 3]),
        torch.ones(3, 4, 5).to(kind),
    )
    same(
        lambda m, x, i, s: x.index_add_(0, i, s),
        X.to(kind),
        torch.tensor([0, 0]),
        torch.ones(3, 4, 5).to(kind),
    )


def test_masked_fill(same):
    same(lambda m, x, b: x.masked_fill(b, -1.5), X, MASK)
    same(lambda m, x, b: x.masked_fill_(b[0], 2), X.clone(), MASK)
    same(lambda m, x, b: x.masked_fill(b, 2.7), X.long(), MASK)
    same(lambda m, x, b: x[0].masked_fill(b, 1.0), X, MASK)
    same(lambda m, x, b: x.masked_fill(b, m.tensor(4.0)), X, MASK)
    same(lambda m, x, b: x.masked_fill(b, m.ones(2)), X, MASK)
    same(lambda m, x, b: x.masked_fill(b.to(m.int64), 1.0), X, MASK)
    same(lambda m, x, b: x.masked_fill(b, 1j), X, MASK)
    same(lambda m, x, b: x.masked_fill(b[:2], 1.0), X, MASK)


def test_masked_select(same):
    same(lambda m, x, b: m.masked_select(x, b), X, MASK)
    same(lambda m, x, b: m.masked_select(x[0], b), X, MASK)
    same(lambda m, x, b: m.masked_select(x, b.int()), X, MASK)
    same(lambda m, x, b: m.masked_select(x, b[:2]), X, MASK)


@pytest.mark.parametrize("dtype", ["bool", "int64", "float32", "bfloat16", "complex64"])
def test_nonzero(same, dtype):
    x = (X.to(torch.int64) % 3).to(getattr(torch, dtype))
    same(lambda m, x: m.nonzero(x), x)
    same(lambda m, x: m.nonzero(x, as_tuple=True), x)
    same(lambda m, x: (m.nonzero(x[0, 0, 0]), m.nonzero(x[0, 0, 1]), m.nonzero(x[:0])), x)
    same(lambda m, x: m.where(x), x)
    same(lambda m, x: m.nonzero(x[0, 0, 1], as_tuple=True), x)


def test_one_hot(same):
    def one_hot(m, x, *classes):
        return m.nn.functional.one_hot(x, *classes)

    for arguments in ((), (5,), (2,), (0,), (-1,)):
        same(lambda m, x, a=arguments: one_hot(m, x, *a), torch.tensor([[0, 2], [1, 0]]))
    same(lambda m, x: one_hot(m, x, 3), torch.tensor([-1]))
    same(lambda m, x: one_hot(m, x, 3), torch.tensor([1.0]))
    same(lambda m, x: one_hot(m, x), torch.zeros(0, dtype=torch.int64))
    same(lambda m, x: one_hot(m, x, 3), torch.zeros(0, dtype=torch.int64))


def test_reading_makes_a_copy():
    x = tt.arange(4)
    for taken in (
        x[tt.tensor([1])],
        x[x > 0],
        tt.gather(x, 0, tt.tensor([0])),
        tt.index_select(x, 0, tt.tensor([3])),
    ):
        taken.add_(10)
    assert x.tolist() == [0, 1, 2, 3]


OF_NOTHING = {
    "index_select": lambda m, x, i: x.index_select(0, i),
    "index_select of columns": lambda m, x, i: x.index_select(1, i),
    "gather": lambda m, x, i: x.gather(0, i[:, None]),
    "take": lambda m, x, i: x.take(i),
    "take_along_dim": lambda m, x, i: m.take_along_dim(x, i[:, None], 0),
    "embedding": lambda m, x, i: m.nn.functional.embedding(i, x),
    "one index": lambda m, x, i: x[i],
    "an index of columns": lambda m, x, i: x[:, i],
    "two indices": lambda m, x, i: x[i, i],
    "index_put": lambda m, x, i: m.index_put(x, (i,), m.tensor(1.0)),
    "put": lambda m, x, i: x.put(i, m.ones(i.numel())),
    "index_fill": lambda m, x, i: x.index_fill(0, i, 1),
    "index_copy": lambda m, x, i: x.index_copy(0, i, m.zeros(i.numel(), x.shape[1])),
    "scatter_add": lambda m, x, i: x.scatter_add(0, i[:, None], m.ones(1, 1)),
}


def shape_or_refusal(call, module, shape, places):
    try:
        return tuple(call(module, module.zeros(shape), module.tensor(places, dtype=module.int64)).shape)
    except (IndexError, RuntimeError):
        return "refused"


@pytest.mark.parametrize("places", [[], [0], [5]], ids=str)
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)], ids=str)
@pytest.mark.parametrize("name", OF_NOTHING)
def test_places_are_checked_where_no_element_is_moved(name, shape, places):
    call = OF_NOTHING[name]
    assert shape_or_refusal(call, tt, shape, places) == shape_or_refusal(call, torch, shape, places)


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("places", [[0], [2], [5]], ids=str)
def test_index_reduce_checks_places_without_elements(places):
    def reduce(m, x, i):
        return x.index_reduce(0, i, m.zeros(1, 0), "prod")

    assert shape_or_refusal(reduce, tt, (3, 0), places) == shape_or_refusal(reduce, torch, (3, 0), places)
