"""Errors from inside a composite name the operator that was called."""

from __future__ import annotations

import re

import pytest

import tt
from tt.core.errors import ArgumentError, DimensionError, TTError

ROWS = tt.ones(3, 2)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: ROWS.new_zeros(2, -1), "new_zeros"),
        (lambda: ROWS.new_ones(-3), "new_ones"),
        (lambda: tt.vstack([tt.ones(2), tt.ones(3)]), "vstack"),
        (lambda: tt.hstack([tt.ones(2, 3), tt.ones(3, 3)]), "hstack"),
        (lambda: tt.vstack([tt.ones(2, requires_grad=True), tt.ones(3)]), "vstack"),
        (lambda: tt.tile(ROWS, (-1,)), "tile"),
        (lambda: tt.tile(tt.ones(3, requires_grad=True), (-1,)), "tile"),
        (lambda: tt.nn.functional.embedding(tt.tensor([5]), ROWS), "embedding"),
        (lambda: tt.nn.functional.embedding(tt.tensor([0]), tt.ones(3)), "embedding"),
    ],
)
def test_an_error_names_the_operator_that_was_called(call, name):
    with pytest.raises(TTError, match=rf"^{name}\(\): "):
        call()


def test_the_field_of_an_error_says_the_same():
    with pytest.raises(DimensionError) as caught:
        tt.stack([ROWS], 5)
    assert str(caught.value).startswith(f"{caught.value.op}(): ")


def test_an_error_about_the_arguments_of_a_part_keeps_its_signature():
    with pytest.raises(ArgumentError) as caught:
        tt.nn.functional.embedding(tt.tensor([0]), "weight")
    named, shown = (
        re.match(r"(\w+)\(\)", str(caught.value)),
        re.search(r"signature: (\w+)\(", str(caught.value)),
    )
    assert named and shown and named[1] == shown[1]


@pytest.mark.parametrize("index", [5, -1])
def test_an_index_out_of_range_is_named_with_its_operator(index):
    wrong = tt.tensor([0, index, 2])
    words = rf"\(\): index {index} is out of range for a dimension of size 3\b"
    with pytest.raises(IndexError, match="^embedding" + words):
        tt.nn.functional.embedding(wrong, ROWS)
    with pytest.raises(IndexError, match="^embedding" + words):
        tt.nn.Embedding(3, 2)(wrong)
    with pytest.raises(IndexError, match="^index_select" + words):
        tt.index_select(ROWS, 0, wrong)
