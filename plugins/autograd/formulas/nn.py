"""Formulas of the operators of neural networks.  g is the gradient of the result."""

from __future__ import annotations

from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

# --- losses ----------------------------------------------------------------------------------------------------


def nll_loss_self(
    g: Any, self_shape: Any, target: Any, weight: Any, ignore_index: int, reduction: str
) -> Any:
    """-weight of the class at the place of the target, 0 elsewhere and where the target is ignored."""
    classes = 0 if len(self_shape) == 1 else 1
    counts = target != ignore_index
    safe = ops.where(counts, target, 0)
    factor = counts.to(g.dtype)
    if weight is not None:
        factor = factor * ops.reshape(
            ops.index_select(weight, 0, ops.reshape(safe, (-1,))), tuple(safe.shape)
        )
    slope = -g * factor / ops.sum(factor) if reduction == "mean" else -g * factor
    places = ops.new_zeros(g, self_shape)
    return ops.scatter(places, classes, ops.unsqueeze(safe, classes), ops.unsqueeze(slope, classes))


d.of("nll_loss", self=nll_loss_self)
