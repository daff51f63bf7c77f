"""The conformance check of the layout: operators do the same to rows of one length as to a dense tensor, or refuse."""

from __future__ import annotations

import pytest

import tt
from tt.core.schema.classes import dtype_names
from tt.library import REGISTRY
from tt.plugins.nested.backend import ALLOWED
from tt.plugins.nested.tables import functions
from tt.testing.conformance.layouts import check_layout, is_served
from tt.testing.conformance.run import Target
from tt.testing.coverage import Place

PLACE = Place("cpu", "jagged")


@pytest.mark.sampled(12)
@pytest.mark.parametrize("op", sorted(functions()))
def test_an_operator_conforms(op):
    dtypes = dtype_names(REGISTRY.operator(op).definition.dtypes)
    report = check_layout(Target(op, "float32" if "float32" in dtypes else "int64"), PLACE, most=20)
    assert not report.failures, str(report.failures[0])


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["bool", "int64", "complex64", "bfloat16"])
@pytest.mark.parametrize("op", ["add", "where", "sum.dim", "reshape", "cat", "index_select"])
def test_other_dtypes_conform(op, dtype):
    report = check_layout(Target(op, dtype), PLACE)
    assert not report.failures, str(report.failures[0])


def test_it_serves_what_it_lists_and_no_other_composite():
    assert all(is_served(op, PLACE) for op in functions())
    backend = REGISTRY.backend("cpu", "jagged")
    assert all(REGISTRY.composite(op) is not None for op in ALLOWED), (
        "without a composite there is nothing to allow"
    )
    assert backend.takes_composite("movedim") and not backend.takes_composite("cov")
    with pytest.raises(tt.errors.NoKernelError, match=r"composite \(not for the layout jagged\)"):
        tt.cov(tt.nested.nested_tensor([[1.0], [2.0, 3.0]]))
