"""Shape rules of resampling."""

from __future__ import annotations

from collections.abc import Sequence

from tt.core.errors import DimensionCountError, ShapeError, ValueRangeError
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


@rule("affine_grid")
def affine_grid(theta: Described, size: Sequence[int], *, op: str) -> Shape:
    """A point for each element of an image or a volume."""
    dims = len(size) - 2
    if dims not in (2, 3) or tuple(theta.shape) != (size[0], dims, dims + 1):
        raise ShapeError(
            f"{op}(): size is (batch, channels, ...) with two or three more, and theta has the shape "
            f"[batch, 2, 3] or [batch, 3, 4]; got {list(size)} and {list(theta.shape)}"
        )
    return (size[0], *size[2:], dims)


@rule("grid_sampler")
def grid_sampler(
    input: Described, grid: Described, interpolation_mode: int, padding_mode: int, *, op: str
) -> Shape:
    """The channels of the input at each point."""
    dims = input.ndim - 2
    if dims not in (2, 3) or grid.ndim != input.ndim:
        raise DimensionCountError(
            f"{op}(): input and grid have 4 dimensions, or 5 for volumes, not {list(input.shape)} "
            f"and {list(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0]:
        raise ShapeError(
            f"{op}(): input and grid have one batch size, not {input.shape[0]} and {grid.shape[0]}"
        )
    if grid.shape[-1] != dims:
        raise ShapeError(
            f"{op}(): the points have {dims} coordinates, but grid has the shape {list(grid.shape)}"
        )
    if 0 in input.shape[2:]:
        raise ShapeError(f"{op}(): the input has no elements to sample: its shape is {list(input.shape)}")
    if interpolation_mode not in (0, 1, 2) or padding_mode not in (0, 1, 2):
        raise ValueRangeError(
            f"{op}(): interpolation_mode and padding_mode are 0, 1 or 2, not {interpolation_mode} and {padding_mode}"
        )
    if interpolation_mode == 2 and dims == 3:
        raise ShapeError(f"{op}(): bicubic interpolation is for images, and the input is a volume")
    return (input.shape[0], input.shape[1], *grid.shape[1:-1])


@rule("grid_sampler_backward")
def grid_sampler_backward(
    grad: Described, input: Described, grid: Described, interpolation_mode: int, padding_mode: int, *, op: str
) -> tuple[Shape, Shape]:
    """The gradients of input and grid."""
    shape = grid_sampler(input, grid, interpolation_mode, padding_mode, op=op)
    if tuple(grad.shape) != shape:
        raise ShapeError(f"{op}(): grad must have the shape {list(shape)}, got {list(grad.shape)}")
    return tuple(input.shape), tuple(grid.shape)
