"""Dtypes and shares in few words."""

from __future__ import annotations

import pytest

from tt.core.types.dtype import DTYPES
from tt.testing.coverage.words import dtypes_in_words, percentage


def test_whole_classes_have_one_word():
    assert dtypes_in_words([d.name for d in DTYPES]) == "all"
    assert dtypes_in_words(["complex64", "complex128", "bool"]) == "bool, complex"
    assert dtypes_in_words(["complex128", "float32"]) == "float32, complex128"
    assert dtypes_in_words([]) == ""


@pytest.mark.parametrize(
    ("part", "whole", "expected"), [(0, 3, "0%"), (1, 10**6, "1%"), (10**6 - 1, 10**6, "99%"), (3, 3, "100%")]
)
def test_all_and_none_are_said_of_all_and_none_alone(part, whole, expected):
    assert percentage(part, whole) == expected
