"""Shape rules of resampling."""

from __future__ import annotations

from tt.core.errors import ShapeError
from tt.core.shapes.geometry import Described, wrap_dim
from tt.core.shapes.registry import RuleTable

rule = RuleTable()

Shape = tuple[int, ...]


@rule("weighted_taps")
def weighted_taps(self: Described, places: Described, weights: Described, dim: int, *, op: str) -> Shape:
    """As many elements along a dimension as there are columns of places."""
    if places.ndim != 2 or tuple(places.shape) != tuple(weights.shape):
        raise ShapeError(
            f"{op}(): places and weights are matrices of one shape, but have {list(places.shape)} and "
            f"{list(weights.shape)}"
        )
    if not self.ndim:
        raise ShapeError(f"{op}(): self must have at least one dimension")
    dim = wrap_dim(op, dim, self.ndim)
    _refuse_empty(op, self.shape[dim], places)
    return (*self.shape[:dim], places.shape[1], *self.shape[dim + 1 :])


def _refuse_empty(op: str, size: int, places: Described) -> None:
    """Raise if places are meant in a dimension that has none."""
    if not size and 0 not in places.shape:
        raise ShapeError(f"{op}(): there are {list(places.shape)} places in a dimension without elements")


@rule("spread_taps")
def spread_taps(
    self: Described, places: Described, weights: Described, dim: int, size: int, *, op: str
) -> Shape:
    """The size passed by the caller along a dimension."""
    shape = weighted_taps(self, places, weights, dim, op=op)
    if shape != tuple(self.shape):
        raise ShapeError(f"{op}(): self has the shape {list(self.shape)}, but places {list(places.shape)}")
    if size < 0:
        raise ShapeError(f"{op}(): size must not be negative, got {size}")
    dim = wrap_dim(op, dim, self.ndim)
    return (*shape[:dim], size, *shape[dim + 1 :])
