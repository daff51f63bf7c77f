"""Shape rules of order statistics."""

from __future__ import annotations

from typing import Any

from tt.core.errors import DataTypeError, ShapeError, ValueRangeError
from tt.core.shapes.geometry import Described, wrap_dim
from tt.core.shapes.registry import Result, RuleTable
from tt.operators.reduction.shapes import reduce_with_indices

rule = RuleTable()


@rule("kthvalue")
def kthvalue(
    self: Described, k: int, dim: int = -1, keepdim: bool = False, *, op: str
) -> tuple[Result, Result]:
    """The k-th smallest value along a dimension and its place."""
    results = reduce_with_indices(self, dim, keepdim, op=op)
    size = self.shape[wrap_dim(op, dim, self.ndim)] if self.ndim else 1
    if not 1 <= k <= size:
        raise ShapeError(f"{op}(): k={k} is not from 1 to {size}, the size of dimension {dim}")
    return results


@rule("histc")
def histc(bins: int, min: Any, max: Any, *, op: str) -> tuple[int, ...]:
    """A count for each bin."""
    if bins < 1:
        raise ValueRangeError(f"{op}(): bins must be > 0, but got {bins}")
    if isinstance(min, complex) or isinstance(max, complex):
        raise DataTypeError(f"{op}(): min and max are real, but got min={min} and max={max}")
    if not min <= max:
        raise ValueRangeError(f"{op}(): max must be larger than min, but got min={min} and max={max}")
    return (bins,)
