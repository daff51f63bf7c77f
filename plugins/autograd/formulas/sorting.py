"""Formulas of operators that order elements.  g is the gradient of the result."""

from __future__ import annotations

from collections.abc import Sequence

from tt.core.library import Tensor, ops
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()


def to_places(g: Tensor, indices: Tensor, self_shape: Sequence[int], dim: int) -> Tensor:
    """Put g where the elements came from."""
    if not self_shape:
        return g
    return ops.scatter_add(ops.new_zeros(g, tuple(self_shape)), dim, indices, g)


d.of("sort", self=to_places)
d.of("topk", self=to_places)
