"""Formulas of resampling.  g is the gradient of the result; the two sums are each other's transposes."""

from __future__ import annotations

from tt.core.library import ops
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
