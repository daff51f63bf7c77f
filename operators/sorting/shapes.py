"""Shape rules of sorting."""

from __future__ import annotations

from tt.core.errors import (
    DimensionCountError,
    ShapeError,
)
from tt.core.shapes.geometry import (
    Described,
    like_strides,
    wrap_dim,
)
from tt.core.shapes.registry import Result, RuleTable
from tt.core.types.dtype import int64

rule = RuleTable()

Shape = tuple[int, ...]


@rule("sort")
def sort(self: Described, /, dim: int = -1, *, op: str) -> tuple[Result, Result]:
    """Sorted values and their former places, both in the memory order of the input."""
    wrap_dim(op, dim, self.ndim)
    strides = like_strides(self)
    return Result(self.shape, strides), Result(self.shape, strides, dtype=int64)


@rule("argsort")
def argsort(self: Described, /, dim: int = -1, *, op: str) -> Result:
    """The places of the sorted values."""
    return sort(self, dim, op=op)[1]


@rule("topk")
def topk(self: Described, k: int, dim: int = -1, *, op: str) -> tuple[Result, Result]:
    """The k largest or smallest values along a dimension and their places."""
    index = wrap_dim(op, dim, self.ndim)
    # A number counts as a vector of one element.
    size = self.shape[index] if self.ndim else 1
    if not 0 <= k <= size:
        raise ShapeError(
            f"{op}(): selected index k out of range: k is {k}, dimension {index} has size {size}"
        )
    shape = list(self.shape)
    if shape:
        shape[index] = k
    return Result(tuple(shape)), Result(tuple(shape), dtype=int64)


@rule("searchsorted")
def searchsorted(sorted_sequence: Described, self: Described, *, op: str) -> Shape:
    """The place of each value in a sorted sequence (or in the row of its batch)."""
    if not sorted_sequence.ndim:
        raise DimensionCountError(f"{op}(): the boundaries must have at least 1 dimension, but have 0")
    if sorted_sequence.ndim != 1 and not getattr(self, "ndim", 0):
        raise DimensionCountError(
            f"{op}(): a single value is looked up in boundaries of 1 dimension, but these have "
            f"{sorted_sequence.ndim}"
        )
    if not hasattr(self, "shape"):
        return ()
    # One vector serves values of any shape.
    if sorted_sequence.ndim != 1 and sorted_sequence.shape[:-1] != self.shape[:-1]:
        raise ShapeError(
            f"{op}(): boundaries of several dimensions must agree with the values in all but the last, but the "
            f"boundaries have shape {list(sorted_sequence.shape)} and the values {list(self.shape)}"
        )
    return tuple(self.shape)


@rule("isin")
def isin(elements: Described, test_elements: Described) -> Shape:
    """For each element whether it is among others."""
    return tuple(elements.shape) if hasattr(elements, "shape") else ()
