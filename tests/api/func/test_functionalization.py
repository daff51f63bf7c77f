"""functionalize: the results of a function with in-place operations."""

from __future__ import annotations

import pytest

import tt
from tt.func import functionalize


def test_results_and_changes_are_those_of_the_function():
    def change(x):
        x.view(2, 2).add_(1)
        return {"twice": x * 2}

    x = tt.zeros(4)
    assert functionalize(change)(x)["twice"].tolist() == [2, 2, 2, 2]
    assert x.tolist() == [1, 1, 1, 1]
    assert functionalize(change, remove="mutations_and_views").__name__ == "change"


def test_what_to_remove_is_one_of_two():
    with pytest.raises(RuntimeError, match="mutations"):
        functionalize(lambda x: x, remove="views")
