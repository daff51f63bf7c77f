"""Combinations of more elements than there are, and of more than fit into memory."""

from __future__ import annotations

import pytest

import tt


@pytest.mark.parametrize("r", [4, 1025, 2**40])
def test_there_are_no_choices_of_more_elements_than_there_are(r: int) -> None:
    assert tt.combinations(tt.arange(3), r).shape == (0, r)
    assert tt.combinations(tt.arange(0), r, with_replacement=True).shape == (0, r)


def test_one_element_is_repeated() -> None:
    assert tt.combinations(tt.tensor([7]), 5, with_replacement=True).tolist() == [[7] * 5]


@pytest.mark.parametrize(("count", "r"), [(3, 2**31), (3, 2**62), (70, 65), (1000, 1000)])
def test_impossible_numbers_of_choices_are_refused_at_once(count: int, r: int) -> None:
    with pytest.raises(tt.errors.TTError):
        tt.combinations(tt.zeros(count), r, with_replacement=True)
