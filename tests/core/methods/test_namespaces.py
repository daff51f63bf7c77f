"""Which operators are found below `tt.linalg`, `tt.nn.functional` and their like."""

from __future__ import annotations

import pytest

import tt
from tt.core.methods.namespaces import names_of, namespace
from tt.errors import UnknownOpError


def test_names_stand_for_operators():
    found = names_of("nn.functional")
    assert (found["relu"], found["relu_"]) == ("relu", "relu_")
    assert tt.linalg.svd is tt.ops.linalg_svd
    assert set(names_of("linalg")) <= set(dir(tt.linalg))


def test_an_unknown_name_is_told_with_the_nearest_of_the_namespace():
    find, listing = namespace("linalg", also=["matmul"])
    assert {"matmul", "svd"} <= set(listing())
    with pytest.raises(UnknownOpError, match=r"did you mean 'linalg\.svd'"):
        find("svdd")
    with pytest.raises(AttributeError):
        find("__wrapped__")
