"""Types of sizes, for annotations."""

from __future__ import annotations

from typing import get_args

from tt.nn import common_types


def test_a_size_is_a_number_or_a_tuple():
    assert get_args(common_types._size_2_t) == (int, tuple[int, int])
    assert get_args(common_types._size_any_t) == (int, tuple[int, ...])
    assert get_args(common_types._scalar_or_tuple_3_t[str]) == (str, tuple[str, str, str])
