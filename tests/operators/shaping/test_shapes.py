"""Shapes, strides and offsets of views of whole tensors."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

SHAPES = [(), (3,), (2, 3), (4, 1, 3), (0, 3), (1, 1), (2, 3, 4)]


def variants(shape):
    yield torch.zeros(shape)
    if shape:
        yield torch.zeros([2 * size + 1 for size in shape])[tuple(slice(1, None, 2) for _ in shape)]
        yield torch.zeros(shape[::-1]).permute(*reversed(range(len(shape))))
        yield torch.zeros((1, *shape[1:])).expand(shape)


SIZES = [
    [],
    [1],
    [-1],
    [6],
    [3, 2],
    [2, -1],
    [-1, -1],
    [0, -1],
    [12],
    [3, 4],
    [1, 3, 1, -1],
    [2, 3],
    [24],
    [4, 6],
    [-2, 3],
    [0],
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_view_and_reshape(agree, shape, size):
    for x in variants(shape):
        agree("view", torch.Tensor.view, self=x, size=size)
        agree("reshape", torch.reshape, self=x, shape=size)


def test_the_error_of_an_impossible_view_says_what_to_do(rule):
    with pytest.raises(
        RuntimeError, match=r"shape \[3, 2\] and strides \[1, 3\] cannot be read as \[6\] without a copy"
    ):
        rule("view", "view", self=torch.zeros(2, 3).t(), size=[6])
    with pytest.raises(RuntimeError, match=r"6 elements do not fill the shape \[4\]"):
        rule("view", "view", self=torch.zeros(2, 3), size=[4])


@st.composite
def strided(draw):
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    steps = draw(st.lists(st.integers(1, 2), min_size=len(shape), max_size=len(shape)))
    order = draw(st.permutations(range(len(shape))))
    x = torch.zeros([size * step for size, step in zip(shape, steps, strict=True)])
    x = x[tuple(slice(None, None, step) for step in steps)].permute(*order) if shape else x
    return x


@settings(max_examples=400, deadline=None)
@given(data=st.data(), x=strided())
def test_view_and_reshape_of_any_strides(agree, data, x):
    size = []
    left = x.numel()
    for _ in range(data.draw(st.integers(0, 3))):
        divisors = [d for d in range(1, left + 1) if left % d == 0] or [0, 1, 2]
        size.append(data.draw(st.sampled_from(divisors)))
        left = left // size[-1] if size[-1] else left
    size.insert(data.draw(st.integers(0, len(size))), data.draw(st.sampled_from([left, -1])))
    agree("view", torch.Tensor.view, self=x, size=size)
    agree("reshape", torch.reshape, self=x, shape=size)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), x=strided())
def test_permute_expand_and_flatten_of_any_strides(agree, data, x):
    order = data.draw(st.permutations(range(x.ndim)))
    agree("permute", torch.permute, self=x, dims=[d - x.ndim * data.draw(st.integers(0, 1)) for d in order])
    lead = data.draw(st.lists(st.integers(0, 3), max_size=2))
    size = [data.draw(st.sampled_from([n, -1, 3])) for n in x.shape]
    agree("expand", torch.Tensor.expand, self=x, size=lead + size)
    start, end = data.draw(st.integers(-3, 3)), data.draw(st.integers(-3, 3))
    agree("flatten", torch.flatten, self=x, start_dim=start, end_dim=end)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_order_of_dimensions(agree, shape):
    for x in variants(shape):
        agree("t", torch.t, self=x)
        if x.ndim == 2:
            agree("T", lambda x: x.T, self=x)
        if x.ndim:  # deprecated in PyTorch, where it does nothing
            agree("mT", lambda x: x.mT, self=x)
        agree("ravel", torch.ravel, self=x)
        for first in (0, 1, -1, 3):
            for second in (0, -1, 2, -4):
                agree("transpose", torch.transpose, self=x, dim0=first, dim1=second)
                agree("movedim", torch.movedim, self=x, source=first, destination=second)
        agree("movedim", torch.movedim, self=x, source=[0, 1], destination=[-2, -1])
        agree("movedim", torch.movedim, self=x, source=[0], destination=[-1, 0])
        agree("permute", torch.permute, self=x, dims=[0])
        agree("permute", torch.permute, self=x, dims=[0, 0])
        agree("permute", torch.permute, self=x, dims=[0, 7])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_dimensions_of_size_one(agree, shape):
    for x in variants(shape):
        agree("squeeze", torch.squeeze, self=x)
        for dim in (0, 1, -1, 4, -5, (0, 1), (0, 0)):
            agree("squeeze", torch.squeeze, self=x, dim=dim)
        for dim in (0, 1, -1, -2, 4, -5):
            agree("unsqueeze", torch.unsqueeze, self=x, dim=dim)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    "size",
    [[], [3], [2, 3], [4, 2, 3], [1, 1, 1], [-1, 3], [2, -1], [0, 3], [5, 4, -1, 3], [-1, 2, 3]],
    ids=str,
)
def test_expand_and_repeat(agree, shape, size):
    for x in variants(shape):
        agree("expand", torch.Tensor.expand, self=x, size=size)
        if 0 in shape and -1 in size:
            continue  # PyTorch takes any negative count for an empty dimension
        agree("repeat", torch.Tensor.repeat, self=x, repeats=size)
        agree("tile", torch.tile, self=x, dims=size)


def test_expand_refuses_to_infer_a_new_dimension(rule):
    with pytest.raises(RuntimeError, match=r"dimension 0 of .* is new"):
        rule("expand", self=torch.zeros(3), size=[-1, 3])


def test_unflatten(agree):
    for x in variants((2, 6)):
        for dim, sizes in (
            (1, [2, 3]),
            (1, [2, -1]),
            (-1, [6, 1]),
            (1, [4, -1]),
            (0, [2, 2]),
            (5, [1]),
            (1, []),
        ):
            agree("unflatten", torch.unflatten, self=x, dim=dim, sizes=sizes)


def test_reshape_counts_its_elements(rule):
    found = rule("reshape", self=torch.zeros(4, 6), shape=[3, -1])
    assert prod(found.shape) == 24
