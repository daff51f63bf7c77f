"""The forms of operators for lists: their signatures, dtypes and descriptions."""

from __future__ import annotations

import pytest

from tt.core.errors import SchemaError
from tt.core.schema.load import loads

HEAD = "schema_version: 1\nops:\n"


def test_the_forms_for_lists_are_derived_in_pairs():
    found = loads(
        HEAD
        + "- {func: 'mixed(Tensor self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor', kind: pointwise,"
        + " result: int_to_float, foreach: [Scalar, List], doc: Mixes both., samples: binary_pointwise}\n"
    )
    assert [str(d.signature) for d in found.values()][1:] == [
        "_foreach_mixed.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]",
        "_foreach_mixed_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()",
        "_foreach_mixed.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]",
        "_foreach_mixed_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()",
    ]
    functional, inplace = found["_foreach_mixed.List"], found["_foreach_mixed_.List"]
    assert functional.doc == "Applies mixed to each tensor of a list, with those of another (mixes both)."
    # Integers become floating, which an integer target cannot hold.
    assert "int64" in functional.dtypes and "int64" not in inplace.dtypes and "float32" in inplace.dtypes


def test_a_form_for_lists_has_to_suit_the_arguments():
    with pytest.raises(SchemaError, match="twice has no form 'List' for lists"):
        loads(HEAD + "- {func: twice(Tensor self) -> Tensor, kind: pointwise, foreach: [List]}\n")
