"""Shapes of indexing with tensors."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tt.core.errors import DataDependentError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
aten = torch.ops.aten


def index(*shape):
    return torch.zeros(shape, dtype=torch.int64)


@pytest.mark.parametrize(
    ("shape", "places"),
    [
        pytest.param(shape, places, id=f"{places}-{shape}")
        for places in [(), (2,), (5,), (2, 3), (5, 3), (2, 4), (0, 3), (1, 1, 1), (0,)]
        for shape in [(), (4,), (4, 3), (0, 3), (2, 3, 4)]
        # Without elements an index of zeros points nowhere; the values of an index are the kernel's business.
        if 0 not in shape or 0 in places
    ],
)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gather_and_scatter(agree, shape, places, dim):
    x = torch.zeros(shape)
    agree("gather", torch.gather, self=x, dim=dim, index=index(*places))
    agree("scatter", torch.scatter, self=x, dim=dim, index=index(*places), src=torch.zeros(places))
    if len(shape) == 2:
        agree("scatter", torch.scatter, self=x, dim=dim, index=index(*places), src=torch.zeros((2, 2)))
    agree("scatter", torch.scatter, self=x, dim=dim, index=index(*places), value=1.0)
    agree("scatter", torch.scatter_add, self=x, dim=dim, index=index(*places), src=torch.zeros(places))


def test_indices_have_an_integer_dtype(agree):
    for dtype in (torch.float32, torch.bool, torch.int16):
        agree("gather", torch.gather, self=torch.zeros(3), dim=0, index=torch.zeros(2, dtype=dtype))
        agree(
            "index_select", torch.index_select, self=torch.zeros(3), dim=0, index=torch.zeros(2, dtype=dtype)
        )
        agree("take", torch.take, self=torch.zeros(3), index=torch.zeros(2, dtype=dtype))


@pytest.mark.parametrize("shape", [(), (4,), (4, 3), (2, 3, 4)], ids=str)
def test_slices_chosen_by_a_vector(agree, shape):
    for x in (torch.zeros(shape), torch.zeros(shape[::-1]).permute(list(reversed(range(len(shape)))))):
        for dim in (0, -1, 1, 5):
            for places in ((), (2,), (0,), (1,), (2, 2)):
                i = index(*places)
                agree("index_select", torch.index_select, self=x, dim=dim, index=i)
                agree("index_fill", torch.index_fill, self=x, dim=dim, index=i, value=1.0)
                source = torch.zeros([2 if d == dim % (x.ndim or 1) else n for d, n in enumerate(x.shape)])
                agree("index_add", torch.index_add, op="index_add", self=x, dim=dim, index=i, source=source)
                agree("index_copy", torch.index_copy, self=x, dim=dim, index=i, source=source)
        agree("take", torch.take, self=x, index=index(2, 3))
        agree("take", torch.take, self=x, index=index(3, 2).t())


def test_take_along_dim(agree):
    for places in ((4, 3), (1, 3), (4, 1), (2, 3), (3,), (5, 1)):
        for dim in (None, 0, 1, -1, 2):
            agree(
                "take_along_dim",
                torch.take_along_dim,
                self=torch.zeros(4, 3),
                indices=index(*places),
                dim=dim,
            )


@st.composite
def indexed(draw):
    ndim = draw(st.integers(1, 4))
    order = draw(st.permutations(range(ndim)))
    x = torch.zeros([draw(st.integers(1, 3)) for _ in range(ndim)]).permute(*order)
    common = draw(st.lists(st.integers(0, 3), max_size=2))
    indices = []
    for _ in range(draw(st.integers(1, ndim))):
        own = [1 if draw(st.booleans()) else size for size in common][draw(st.integers(0, len(common))) :]
        indices.append(index(*own) if draw(st.integers(0, 3)) else None)
    return x, indices


@settings(max_examples=400, deadline=None)
@given(indexed())
def test_advanced_indexing(agree, rule, case):
    x, indices = case
    if any(i is not None for i in indices):
        place = rule("index", self=x, indices=indices).shape
        # The strides of a result without elements are anybody's choice; tt's are row-major.
        agree("index", aten.index.Tensor, strides=0 not in place, self=x, indices=indices)
        agree("index_put", aten.index_put.default, self=x, indices=indices, values=torch.zeros(place))
        agree("index_put", aten.index_put.default, self=x, indices=indices, values=torch.zeros((1, *place)))
        agree("index_put", aten.index_put.default, self=x, indices=indices, values=torch.zeros((7, 7)))


def test_mistakes_in_advanced_indexing(agree):
    x = torch.zeros(3, 4)
    agree("index", aten.index.Tensor, self=x, indices=[index(2), index(3)])
    agree("index", aten.index.Tensor, self=x, indices=[index(2), index(2), index(2)])
    agree("index", aten.index.Tensor, self=x, indices=[torch.zeros(2)])
    agree("index", aten.index.Tensor, self=x, indices=[torch.zeros(2, dtype=torch.bool)])
    agree("index", aten.index.Tensor, self=x, indices=[torch.zeros(3, 4, 2, dtype=torch.bool)])
    agree("index", aten.index.Tensor, self=torch.zeros(0, 4), indices=[index(2)])


def test_a_mask_selects_a_number_of_elements_that_depends_on_its_values(rule, agree):
    x, mask = torch.zeros(3, 4), torch.zeros(3, 4, dtype=torch.bool)
    with pytest.raises(DataDependentError):
        rule("index", "index", self=x, indices=[mask])
    with pytest.raises(DataDependentError):
        rule("masked_select", "masked_select", self=x, mask=mask)
    agree("index_put", aten.index_put.default, self=x, indices=[mask], values=torch.zeros(()))


def test_masks(agree):
    for shape in ((3, 4), (4,), (2, 3, 4), (3, 1), (2,)):
        mask = torch.zeros(shape, dtype=torch.bool)
        for x in (torch.zeros(3, 4), torch.zeros(4, 3).t(), torch.zeros(3, 1)):
            agree("masked_fill", torch.masked_fill, self=x, mask=mask, value=0.0)
            agree("masked_fill", torch.masked_fill, self=x, mask=mask, value=torch.zeros(2))
            agree("masked_scatter", torch.masked_scatter, self=x, mask=mask, source=torch.zeros(30))
    agree("masked_fill", torch.masked_fill, self=torch.zeros(3), mask=torch.zeros(3), value=0.0)


def test_copies_with_a_part_replaced(agree):
    x = torch.zeros(3, 4)
    for shape in ((3,), (4,), (3, 4), (3, 2), ()):
        src = torch.zeros(shape)
        for dim in (0, 1, -1, 2):
            agree("select_scatter", torch.select_scatter, self=x, src=src, dim=dim, index=1)
            agree("slice_scatter", torch.slice_scatter, self=x, src=src, dim=dim, start=0, end=2)
        agree("diagonal_scatter", torch.diagonal_scatter, self=x, src=src, offset=0)
        agree("as_strided_scatter", torch.as_strided_scatter, self=x, src=src, size=(3, 2), stride=(4, 1))


def test_look_ups(agree):
    for sequence in ((5,), (2, 5), (3, 5)):
        for values in ((2, 3), (3,), ()):
            agree(
                "searchsorted",
                torch.searchsorted,
                sorted_sequence=torch.zeros(sequence),
                self=torch.zeros(values),
            )
            agree("bucketize", torch.bucketize, self=torch.zeros(values), boundaries=torch.zeros(sequence))
    agree("isin", torch.isin, elements=torch.zeros(2, 3), test_elements=torch.zeros(4))


def test_copy_does_not_grow_its_target(agree):
    for shape in ((3, 4), (4,), (), (2, 3, 4), (3,), (1, 3, 4)):
        agree("copy", lambda a, b: a.clone().copy_(b), self=torch.zeros(3, 4), src=torch.zeros(shape))
