"""Shape rules of what accumulates along a dimension, and of differences."""

from __future__ import annotations

from typing import Any

from tt.core.errors import ShapeError
from tt.core.shapes.geometry import Described, wrap_dim
from tt.core.shapes.registry import Result, RuleTable
from tt.core.types.dtype import int64

rule = RuleTable()

Shape = tuple[int, ...]


# --- scans -----------------------------------------------------------------------------------------------------


@rule("scan")
def scan(self: Described, /, dim: int, *, op: str) -> Shape:
    """Accumulate along a dimension; the result has the same shape."""
    wrap_dim(op, dim, self.ndim)
    return self.shape


@rule("scan_with_indices")
def scan_with_indices(self: Described, /, dim: int, *, op: str) -> tuple[Result, Result]:
    """Accumulate along a dimension and return the indices of the values (cummax, cummin)."""
    wrap_dim(op, dim, self.ndim)
    return Result(self.shape), Result(self.shape, dtype=int64)


@rule("diff")
def diff(
    self: Described, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None, *, op: str
) -> Shape:
    """Differences of neighbours, n times."""
    if not self.ndim:
        raise ShapeError(f"{op}(): expects input to be at least one-dimensional")
    if n < 0:
        raise ShapeError(f"{op}(): order must be non-negative but got {n}")
    index = wrap_dim(op, dim, self.ndim)
    for name, tensor in (("prepend", prepend), ("append", append)):
        if tensor is not None and _others(tensor.shape, index) != _others(self.shape, index):
            raise ShapeError(
                f"{op}(): {name} must have the shape of input but for dimension {index}; input is "
                f"{list(self.shape)}, {name} {list(tensor.shape)}"
            )
    if not n:
        return self.shape  # unchanged, whatever would be joined to it
    size = self.shape[index] + sum(t.shape[index] for t in (prepend, append) if t is not None)
    shape = list(self.shape)
    shape[index] = max(size - n, 0)
    return tuple(shape)


def _others(shape: Shape, index: int) -> Shape:
    """Return the sizes of the dimensions but one."""
    return (len(shape), *shape[:index], *shape[index + 1 :])
