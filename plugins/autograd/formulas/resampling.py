"""Formulas of resampling.  g is the gradient of the result; the two sums are each other's transposes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tt.core.library import Tensor, ops, to_dtype
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

d.tables(
    "_weighted_taps",
    self=lambda g, self_shape, places, weights, dim: ops._spread_taps(
        g, places, weights, dim, self_shape[dim]
    ),
)
d.tables(
    "_spread_taps",
    self=lambda g, places, weights, dim: ops._weighted_taps(g, places, weights, dim),
)


def of_input_and_grid(
    g: Tensor, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    """Spread the gradients over the elements around the points; a point moves the shares of its elements."""
    return ops._grid_sampler_backward(g, input, grid, interpolation_mode, padding_mode, align_corners)


d.joint("grid_sampler", of_input_and_grid)


def of_theta(g: Tensor, theta_shape: Sequence[int], size: Sequence[int], align_corners: bool) -> Tensor:
    """Multiply by the points from which the grid came: they are made again, so that the graph keeps no tensor."""
    batch, dims, _ = theta_shape
    g = ops._to_copy(g, dtype=to_dtype("float32")) if g.dtype.itemsize == 2 else g
    g = ops.transpose(ops.reshape(g, (batch, prod(size[2:]), dims)), 1, 2)
    unchanged = ops.eye(dims, dims + 1, dtype=g.dtype, device=g.device)
    points = ops.affine_grid_generator(ops.unsqueeze(unchanged, 0), (1, 1, *size[2:]), align_corners)
    turned = ops.matmul(g, ops.reshape(points, (-1, dims)))
    return ops.cat([turned, ops.sum(g, -1, keepdim=True)], -1)


d.of("affine_grid_generator", theta=of_theta)
