"""Formulas of the operators of neural networks.  g is the gradient of the result."""

from __future__ import annotations

import math
from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

# --- activations -----------------------------------------------------------------------------------------------


def gelu_self(g: Any, self: Any, approximate: str) -> Any:
    """The slope of x Phi(x), or of its approximation with tanh."""
    if approximate == "tanh":
        scale = math.sqrt(2 / math.pi)
        t = ops.tanh(scale * (self + 0.044715 * self * self * self))
        return g * (0.5 * (1 + t) + 0.5 * self * (1 - t * t) * scale * (1 + 3 * 0.044715 * self * self))
    cumulative = 0.5 * (1 + ops.erf(self * math.sqrt(0.5)))
    density = ops.exp(-0.5 * self * self) * (1 / math.sqrt(2 * math.pi))
    return g * (cumulative + self * density)


d.of("relu", self=lambda g, result: ops.where(result <= 0, 0, g))
d.of("gelu", self=gelu_self)

# --- softmax ---------------------------------------------------------------------------------------------------


def softmax_self(g: Any, result: Any, dim: int) -> Any:
    """result (g - sum(g result))."""
    product = g * result
    return product - result * ops.sum.dim(product, (dim,), True)


def log_softmax_self(g: Any, result: Any, dim: int) -> Any:
    """g - softmax sum(g)."""
    return g - ops.exp(result) * ops.sum.dim(g, (dim,), True)


d.of("softmax", self=softmax_self)
d.of("log_softmax", self=log_softmax_self)

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
