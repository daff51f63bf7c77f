"""Shapes: broadcasting, joining, repeating, reordering."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.api.array_api.comparing import check
from tt import array_api as xp

X = "a([[1, 2, 3], [4, 5, 6]])"
CASES = [
    "xp.broadcast_to(a([1, 2]), (3, 2))", "xp.broadcast_arrays(a([[1], [2]]), a([3, 4, 5]))",
    "xp.broadcast_arrays(a(1))", f"xp.concat([{X}, {X}])", f"xp.concat(({X}, {X}), axis=1)",
    f"xp.concat([{X}, a([7])], axis=None)", "xp.concat([a([1], 'int8'), a([2], 'int32')])",
    "xp.concat([a([1], 'uint16'), a([2], 'int8')], axis=-1)", "xp.stack([a([1, 2]), a([3, 4])])",
    "xp.stack([a([1, 2]), a([3, 4])], axis=-1)", "xp.stack([a(1, 'float32'), a(2, 'float64')])", f"xp.unstack({X})",
    f"xp.unstack({X}, axis=-1)", f"xp.expand_dims({X}, 1)", f"xp.expand_dims({X}, axis=-1)",
    f"xp.squeeze(xp.expand_dims({X}, 0), 0)", "xp.squeeze(xp.ones((1, 2, 1)), (0, -1))", f"xp.flip({X})",
    f"xp.flip({X}, axis=0)", f"xp.flip({X}, axis=(-1, 0))", f"xp.roll({X}, 1)", f"xp.roll({X}, -2, axis=1)",
    f"xp.roll({X}, (1, 2), axis=(0, 1))", f"xp.roll({X}, 1, axis=(0, 1))", "xp.roll(a(3), 2)",
    f"xp.permute_dims({X}, (1, 0))", "xp.permute_dims(xp.ones((1, 2, 3)), (2, 0, 1))", f"xp.matrix_transpose({X})",
    "xp.matrix_transpose(xp.ones((2, 3, 4)))", "xp.moveaxis(xp.ones((1, 2, 3)), 0, -1)",
    "xp.moveaxis(xp.ones((1, 2, 3)), (0, 1), (2, 0))", f"xp.reshape({X}, (3, 2))", f"xp.reshape({X}, (-1,))",
    f"xp.reshape({X}, (6,), copy=True)", "xp.tile(a([1, 2]), (2,))", f"xp.tile({X}, (2, 1, 2))",
    f"xp.tile({X}, (2,))", f"xp.repeat({X}, 2)", f"xp.repeat({X}, 2, axis=0)",
    f"xp.repeat({X}, a([0, 2, 1]), axis=1)", f"xp.repeat({X}, a([2]), axis=1)", "xp.repeat(a([1, 2]), a(2))",
    "xp.repeat(a([1, 2]), a([1, 2], 'int32'))",
]  # fmt: skip


@pytest.mark.parametrize("call", CASES)
def test_equals_the_strict_library(call):
    check(call)


def test_reshaping_shares_memory_or_says_that_it_cannot():
    x = xp.zeros((2, 3))
    xp.reshape(x, (6,), copy=False)[0] = 1
    xp.reshape(x, (6,), copy=True)[1] = 1
    assert x.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    with pytest.raises(ValueError, match=r"of shape \(3, 2\) cannot be viewed as \(6,\)"):
        xp.reshape(x.mT, (6,), copy=False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: xp.squeeze(xp.ones((2, 1)), 0), "axis 0 has size 2"),
        (lambda: xp.concat([xp.ones((1, 2)), xp.ones(0)]), r"of \[1, 2\] dimensions cannot be joined"),
        (lambda: xp.matrix_transpose(xp.ones(2)), "at least two dimensions, not 1"),
        (lambda: xp.stack([]), "at least one array"),
    ],
)
def test_what_the_standard_forbids_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_only_arrays_are_joined_and_reduced():
    with pytest.raises(TypeError, match="only arrays can be joined, not float"):
        xp.concat([xp.ones(1), 1.0])
    with pytest.raises(TypeError, match="x must be an array, not list"):
        xp.sum([1, 2])


def test_axes_and_sizes_may_be_integers_of_numpy():
    x, one = xp.ones((2, 3)), np.int64(1)
    for found, shape in (
        (xp.sum(x, axis=one), (2,)), (xp.flip(x, axis=one), (2, 3)), (xp.roll(x, one, axis=one), (2, 3)),
        (xp.expand_dims(x, one), (2, 1, 3)), (xp.reshape(x, (np.int64(6), one)), (6, 1)), (xp.zeros(np.int64(2)), (2,)),
        (xp.concat([x, x], axis=one), (2, 6)), (xp.broadcast_to(xp.ones(one), np.array([2, 4])), (2, 4)),
        (xp.linalg.vector_norm(x, axis=one), (2,)), (xp.moveaxis(x, one, 0), (3, 2)), (xp.squeeze(x[:, :1], one), (2,)),
        (xp.cumulative_sum(x, axis=one), (2, 3)), (xp.take(x, xp.asarray([0]), axis=one), (2, 1)),
        (xp.argmax(x, axis=one), (2,)), (xp.sort(x, axis=one), (2, 3)), (xp.repeat(x, np.int64(2), axis=one), (2, 6)),
        (xp.stack([x, x], axis=one), (2, 2, 3)), (xp.unstack(x, axis=one)[0], (2,)), (xp.fft.rfft(x, axis=one), (2, 2)),
        (xp.eye(np.int64(2), np.int64(3), k=one), (2, 3)), (xp.tril(x, k=one), (2, 3)), (xp.diff(x, axis=one), (2, 2)),
        (xp.linspace(np.float64(0), 1, np.int64(3)), (3,)), (xp.arange(np.int64(4)), (4,)),
    ):  # fmt: skip
        assert found.shape == shape


def test_gradients_go_through_joins():
    x = tt.ones(2).requires_grad_()
    xp.sum(xp.concat([x, xp.ones(1, dtype=xp.float64)]) * 2).backward()
    assert x.grad.tolist() == [2.0, 2.0]
