"""Shapes and strides of pointwise results."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tt.core.errors import BroadcastError
from tt.core.shapes.geometry import broadcast

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")


def arrangements(shape):
    """Yield tensors of one shape in different layouts."""
    base = torch.empty(shape)
    yield base
    if base.ndim >= 2:
        yield torch.empty(shape[::-1]).permute(*reversed(range(base.ndim)))
        yield torch.empty((*shape[1:], shape[0])).movedim(-1, 0)
        yield torch.empty((*shape[:-1], 2 * shape[-1]))[..., ::2]
    if base.ndim == 4:
        yield torch.empty(shape).to(memory_format=torch.channels_last)
    if base.ndim:
        yield torch.empty((1, *shape[1:])).expand(shape)


SHAPES = [
    (),
    (3,),
    (2, 3),
    (3, 1),
    (1, 1),
    (2, 1, 4),
    (0, 3),
    (3, 0, 2),
    (2, 3, 4, 5),
    (2, 1, 4, 5),
    (1, 3, 1, 1),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_unary_result_follows_the_layout_of_its_input(agree, shape):
    for x in arrangements(shape):
        agree("broadcast", torch.exp, self=x)
        agree("same", torch.clone, self=x)
        agree("same", torch.empty_like, self=x)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_binary_result_follows_the_common_layout_of_its_inputs(agree, shape):
    for x in arrangements(shape):
        for y in arrangements(shape):
            agree("broadcast", torch.add, self=x, other=y)


@pytest.mark.parametrize("left", SHAPES, ids=str)
@pytest.mark.parametrize("right", [(), (1,), (3, 1), (1, 3), (4, 1, 1), (1, 4, 5), (2, 1, 1, 1)], ids=str)
def test_broadcasting_with_layouts(agree, left, right):
    for x in arrangements(left):
        for y in arrangements(right):
            agree("broadcast", torch.add, self=x, other=y)


def test_three_operands_and_numbers(agree):
    x, y = torch.empty(3, 2).t(), torch.empty(2, 1)
    agree("broadcast", torch.where, condition=x > 0, self=x, other=y)
    agree("broadcast", torch.lerp, self=y, end=x, weight=x)
    agree("broadcast", torch.mul, self=x, other=2.0)
    agree("broadcast", torch.clamp, self=x, min=torch.zeros(3), max=None)


shapes = st.lists(st.integers(0, 3), max_size=4).map(tuple)


@settings(max_examples=300, deadline=None)
@given(left=shapes, right=shapes)
def test_broadcast_equals_pytorch(left, right):
    try:
        wanted = tuple(torch.broadcast_shapes(left, right))
    except RuntimeError:
        with pytest.raises(BroadcastError):
            broadcast("add", left, right)
    else:
        assert broadcast("add", left, right) == wanted


@st.composite
def dense_or_strided(draw, shape):
    order = draw(st.permutations(range(len(shape))))
    steps = draw(st.lists(st.sampled_from([1, 1, 1, 2]), min_size=len(shape), max_size=len(shape)))
    memory = torch.empty([shape[d] * step for d, step in zip(order, steps, strict=True)])
    memory = memory[tuple(slice(None, None, step) for step in steps)]
    return memory.permute(*[order.index(d) for d in range(len(shape))]) if shape else memory


@st.composite
def operands(draw):
    shape = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    found = []
    for _ in range(draw(st.integers(1, 3))):
        own = [1 if draw(st.integers(0, 4)) == 0 else size for size in shape][
            draw(st.integers(0, 1)) * (len(shape) > 1) :
        ]
        found.append(draw(dense_or_strided(own)))
    return found


@settings(max_examples=400, deadline=None)
@given(tensors=operands())
def test_strides_equal_those_of_pytorchs_iterator(rule, tensors):
    call = {1: torch.exp, 2: torch.add, 3: torch.addcmul}[len(tensors)]
    wanted = call(*tensors)
    found = rule("broadcast", "op", **dict(zip("abc", tensors, strict=False)))
    assert (found.shape, found.full_strides) == (tuple(wanted.shape), wanted.stride())


def test_the_error_names_both_shapes_and_the_dimension():
    with pytest.raises(BroadcastError) as caught:
        broadcast("add", (2, 3), (4, 2, 5))
    assert (caught.value.left, caught.value.right, caught.value.dim) == ((2, 3), (4, 2, 5), 2)
    assert (
        "[2, 3]" in str(caught.value)
        and "[4, 2, 5]" in str(caught.value)
        and "dimension 2" in str(caught.value)
    )
