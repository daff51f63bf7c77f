"""Shapes stay shapes: added, sliced, pickled."""

from __future__ import annotations

import pickle

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


def test_the_number_of_elements_of_a_number_is_one():
    assert (Size().numel(), Size((3, 0)).numel(), Size((3, 4)).numel()) == (1, 0, 12)
