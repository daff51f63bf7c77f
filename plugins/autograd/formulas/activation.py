"""Formulas of activation functions.  g is the gradient of the result."""

from __future__ import annotations

import math
from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.helpers import conj
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946

# --- limits ----------------------------------------------------------------------------------------------------

d.of("relu", self=lambda g, result: ops.where(result <= 0, 0, g))
d.of("threshold", self=lambda g, self, threshold: ops.where(self <= threshold, 0, g))
d.of(
    "hardtanh", self=lambda g, self, min_val, max_val: ops.where((self <= min_val) | (self >= max_val), 0, g)
)
d.of("hardshrink", self=lambda g, self, lambd: ops.where(ops.abs(self) <= lambd, 0, g))
d.of("softshrink", self=lambda g, self, lambd: ops.where(ops.abs(self) <= lambd, 0, g))
d.of("leaky_relu", self=lambda g, self, negative_slope: ops.where(self > 0, g, g * negative_slope))

# --- exponential -----------------------------------------------------------------------------------------------


def bent(g: Any, self: Any, slope: float, stretch: float = 1.0) -> Any:
    """g slope exp(stretch x) for the numbers that are not positive."""
    return g * slope * ops.exp(ops.clamp(self, max=0) * stretch)


d.of("elu", self=lambda g, self, alpha: ops.where(self > 0, g, bent(g, self, alpha)))
d.of("celu", self=lambda g, self, alpha: ops.where(self > 0, g, bent(g, self, 1.0, 1 / alpha)))
d.of("selu", self=lambda g, self: ops.where(self > 0, g * SELU_SCALE, bent(g, self, SELU_ALPHA * SELU_SCALE)))

# --- sigmoids --------------------------------------------------------------------------------------------------


def silu_self(g: Any, self: Any) -> Any:
    """s (1 + x (1 - s)) with the sigmoid s."""
    s = ops.sigmoid(self)
    return g * conj(s * (1 + self * (1 - s)))


def mish_self(g: Any, self: Any) -> Any:
    """t + x s (1 - t^2) with t = tanh(softplus(x)) and the sigmoid s."""
    t = ops.tanh(ops.softplus(self))
    return g * (t + self * ops.sigmoid(self) * (1 - t * t))


def hardswish_self(g: Any, self: Any) -> Any:
    """x / 3 + 1/2 between -3 and 3, 0 below, 1 above."""
    return ops.where(self <= -3, 0, ops.where(self < 3, g * (self / 3 + 0.5), g))


d.of("silu", self=silu_self)
d.of("mish", self=mish_self)
d.of("hardsigmoid", self=lambda g, self: ops.where((self > -3) & (self < 3), g / 6, 0))
d.of("hardswish", self=hardswish_self)
d.of("logsigmoid", self=lambda g, self: g * ops.sigmoid(-self))
d.of("softplus", self=lambda g, self, beta, threshold:
     ops.where(self * beta > threshold, g, g * ops.sigmoid(self * beta)))  # fmt: skip


# --- gelu ------------------------------------------------------------------------------------------------------


def gelu_self(g: Any, self: Any, approximate: str) -> Any:
    """The slope of x Phi(x), or of its approximation with tanh."""
    if approximate == "tanh":
        scale = math.sqrt(2 / math.pi)
        t = ops.tanh(scale * (self + 0.044715 * self * self * self))
        return g * (0.5 * (1 + t) + 0.5 * self * (1 - t * t) * scale * (1 + 3 * 0.044715 * self * self))
    cumulative = 0.5 * (1 + ops.erf(self * math.sqrt(0.5)))
    density = ops.exp(-0.5 * self * self) * (1 / math.sqrt(2 * math.pi))
    return g * (cumulative + self * density)


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
