"""Which operators are found below `tt.linalg`, `tt.nn.functional` and their like."""

from __future__ import annotations

import pytest

import tt
from tests.processes import printed_by
from tt.core.methods.namespaces import names_of, namespace
from tt.errors import UnknownOpError


def test_names_stand_for_operators():
    found = names_of("nn.functional")
    assert (found["relu"], found["relu_"]) == ("relu", "relu_")
    assert tt.linalg.svd is tt.ops.linalg_svd
    assert set(names_of("linalg")) <= set(dir(tt.linalg))


def test_a_function_of_a_namespace_makes_the_definitions_of_no_other() -> None:
    made = printed_by(
        "import tt; tt.linalg.svd; tt.nn.functional.elu_\n"
        "from tt.core.schema.snapshot import definitions\n"
        "print(*definitions()._made)"
    )
    assert set(made.split()) <= {"linalg_svd", "elu", "elu.inplace"}


def test_an_unknown_name_is_told_with_the_nearest_of_the_namespace():
    find, listing = namespace("linalg", also=["matmul"])
    assert {"matmul", "svd"} <= set(listing())
    with pytest.raises(UnknownOpError, match=r"did you mean 'svd'"):
        find("svdd")
    with pytest.raises(AttributeError):
        find("__wrapped__")
