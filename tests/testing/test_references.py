"""What NumPy makes of the arguments of an operator, as the conformance check asks it."""

from __future__ import annotations

import pytest

import tt
from tt.core.library import REGISTRY
from tt.testing.references import numpy_reference

CLOSE = 1 + 2.0**-10
"""A number of float32 that bfloat16 rounds to 1."""


@pytest.mark.parametrize(("op", "expected"), [("ge", True), ("gt", False), ("eq", True), ("lt", False)])
def test_numbers_are_compared_in_the_dtype_that_they_meet_in(op, expected):
    arguments = {"self": tt.ones(2, dtype=tt.bfloat16), "other": tt.tensor(CLOSE)}
    wanted = numpy_reference(REGISTRY.definition(op), arguments)
    assert wanted.tolist() == [expected] * 2
    assert getattr(tt, op)(*arguments.values()).tolist() == [expected] * 2


def test_what_is_computed_with_numbers_is_not_rounded_first():
    arguments = {"self": tt.ones(2, dtype=tt.bfloat16), "other": tt.tensor(CLOSE), "alpha": 1}
    assert numpy_reference(REGISTRY.definition("sub"), arguments).tolist() == [1 - CLOSE] * 2
