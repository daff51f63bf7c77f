"""Shapes stay shapes: added, sliced, pickled."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tt
from tt.core.types.size import Size


def test_what_is_made_of_a_shape_is_a_shape():
    shape = tt.zeros(2, 3, 4).shape
    for found, expected in (
        (shape[1:], (3, 4)),
        (shape + shape[:1], (2, 3, 4, 2)),
    ):
        assert type(found) is Size and found == expected
    assert type(shape[0]) is int and repr(shape[:0]) == "tt.Size([])"
    again = pickle.loads(pickle.dumps(shape))
    assert type(again) is Size and again == shape


def test_shapes_are_repeated_and_joined_with_tuples():
    for found, expected in (
        (Size([2]) * 2, (2, 2)),
        (2 * Size([2]), (2, 2)),
        (Size.__radd__(Size([2]), (1,)), (1, 2)),
    ):
        assert type(found) is Size and found == expected
    assert Size.__add__(Size([1]), (2,)) == (1, 2) and Size([2]) * tt.tensor(2) == (2, 2)
    for other in ([1], tt.tensor([1])):
        with pytest.raises(TypeError):
            Size([2]) + other


def test_lengths_become_ints():
    found = Size([np.int64(2), tt.tensor(3), True])
    assert repr(found) == "tt.Size([2, 3, 1])" and [type(length) for length in found] == [int] * 3
    assert type(Size(Size([2]))) is Size and Size(range(2)) == (0, 1)
    for wrong in ([1.5], ["a"], [None], [[1]], [tt.tensor(1.5)]):
        with pytest.raises(TypeError, match="takes integers, but item 0 is"):
            Size(wrong)


def test_the_number_of_elements_of_a_number_is_one():
    assert (Size().numel(), Size((3, 0)).numel(), Size((3, 4)).numel()) == (1, 0, 12)
