"""Shapes, strides and offsets of views of parts of a tensor."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

aten = torch.ops.aten
SHAPES = [(), (3,), (0,), (2, 3), (5, 4, 3), (0, 3)]


def variants(shape):
    yield torch.zeros(shape)
    if len(shape) > 1:
        yield (
            torch.zeros([size + 2 for size in shape])[tuple(slice(1, -1) for _ in shape)]
            .transpose(0, 1)
            .transpose(0, 1)
        )
        yield torch.zeros(shape[::-1]).permute(*reversed(range(len(shape))))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_select_and_unbind(agree, shape):
    for x in variants(shape):
        for dim in (0, 1, -1, 3):
            agree("unbind", torch.unbind, self=x, dim=dim)
            for index in (0, 2, -1, -3, 3, 7):
                agree("select", torch.select, self=x, dim=dim, index=index)


bound = st.none() | st.integers(-7, 7)


@settings(max_examples=300, deadline=None)
@given(
    shape=st.sampled_from(SHAPES),
    which=st.integers(0, 2),
    dim=st.integers(-3, 2),
    start=bound,
    end=bound,
    step=st.integers(-1, 3),
)
def test_slice(agree, shape, which, dim, start, end, step):
    x = list(variants(shape))[which % len(list(variants(shape)))]
    agree("slice", aten.slice.Tensor, self=x, dim=dim, start=start, end=end, step=step)


@settings(max_examples=300, deadline=None)
@given(
    shape=st.sampled_from(SHAPES), dim=st.integers(-3, 3), start=st.integers(-6, 6), length=st.integers(-1, 6)
)
def test_narrow(agree, shape, dim, start, length):
    for x in variants(shape):
        agree("narrow", torch.narrow, self=x, dim=dim, start=start, length=length)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_diagonal_and_unfold(agree, shape):
    for x in variants(shape):
        for offset in (0, 1, -1, 4, -7):
            for dims in ((0, 1), (1, 0), (-1, -2), (0, 0), (2, 0), (4, 1)):
                agree("diagonal", torch.diagonal, self=x, offset=offset, dim1=dims[0], dim2=dims[1])
        for dim in (0, -1, 3):
            for size, step in ((1, 1), (2, 1), (3, 2), (0, 1), (9, 1), (2, 0), (-1, 1)):
                agree("unfold", torch.Tensor.unfold, self=x, dimension=dim, size=size, step=step)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dim", [0, 1, -1, 3])
def test_several_parts(agree, shape, dim):
    for x in variants(shape):
        for size in (1, 2, 3, 10, 0, -1):
            agree("split", torch.split, self=x, split_size=size, dim=dim)
            agree("chunk", torch.chunk, self=x, chunks=size, dim=dim)
            agree("tensor_split", torch.tensor_split, self=x, sections=size, dim=dim)
        for sizes in ([1, 2], [3], [], [2, 2, 1], [-1, 4], [0, 3]):
            agree("split_with_sizes", torch.split_with_sizes, self=x, split_sizes=sizes, dim=dim)
            agree("tensor_split", torch.tensor_split, self=x, indices=sizes, dim=dim)


@settings(max_examples=300, deadline=None)
@given(
    size=st.lists(st.integers(0, 4), max_size=3),
    stride=st.lists(st.integers(-1, 5), max_size=3),
    offset=st.none() | st.integers(-1, 12),
)
def test_as_strided_stays_in_its_memory(agree, size, stride, offset):
    x = torch.zeros(4, 6)[1:, 1:]
    agree(
        "as_strided", torch.as_strided, self=x, size=size, stride=stride[: len(size)], storage_offset=offset
    )


def test_errors_name_the_place(rule):
    with pytest.raises(
        IndexError, match=r"index 5 is out of range in dimension 1 of a tensor of shape \[2, 3\]"
    ):
        rule("select", self=torch.zeros(2, 3), dim=1, index=5)
    with pytest.raises(RuntimeError, match="add up to 2, and dimension 1 has size 3"):
        rule("split_with_sizes", self=torch.zeros(2, 3), split_sizes=[1, 1], dim=1)
