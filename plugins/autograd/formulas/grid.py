"""Formula of sampling at the points of a grid.  g is the gradient of the result."""

from __future__ import annotations

from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()


def of_input_and_grid(
    g: Any, input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    """Spread the gradients over the elements around the points; a point moves the shares of its elements."""
    return ops._grid_sampler_backward(g, input, grid, interpolation_mode, padding_mode, align_corners)


d.joint("grid_sampler", of_input_and_grid)
