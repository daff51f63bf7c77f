"""Sizes as modules take them."""

from __future__ import annotations

from tt.nn.modules.sizes import reversed_twice, tuple_of


def test_a_number_stands_for_all_dimensions():
    assert tuple_of(3, 2) == (3, 3) and tuple_of([1, 2], 2) == (1, 2)
    assert tuple_of("ab", 2) == ("a", "b") and tuple_of(None, 2) == (None, None)


def test_padding_lists_the_last_dimension_first():
    assert reversed_twice((1, 2, 3)) == (3, 3, 2, 2, 1, 1)
