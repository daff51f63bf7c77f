"""Shape rules of copies."""

from __future__ import annotations

from tt.core.shapes.geometry import (
    Described,
    like_strides,
)
from tt.core.shapes.registry import Result, RuleTable
from tt.operators.pointwise.shapes import expect_broadcastable_to

rule = RuleTable()

Shape = tuple[int, ...]


@rule("copy")
def copy(self: Described, src: Described, *, op: str) -> Result:
    """The values of another tensor in the shape of the first."""
    expect_broadcastable_to(op, src.shape, self.shape)
    return Result(self.shape, like_strides(self))
