"""Formulas of the operators of neural networks.  g is the gradient of the result."""

from __future__ import annotations

from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

# --- activations -----------------------------------------------------------------------------------------------

d.of("relu", self=lambda g, result: ops.where(result > 0, g, ops.zeros_like(g)))

# --- softmax ---------------------------------------------------------------------------------------------------


def softmax_self(g: Any, result: Any, dim: int) -> Any:
    """result (g - sum(g result))."""
    product = g * result
    return product - result * ops.sum(product, (dim,), True)


def log_softmax_self(g: Any, result: Any, dim: int) -> Any:
    """g - softmax sum(g)."""
    return g - ops.exp(result) * ops.sum(g, (dim,), True)


d.of("softmax", self=softmax_self)
d.of("log_softmax", self=log_softmax_self)
