"""Formulas of activation functions.  g is the gradient of the result."""

from __future__ import annotations

import math
from typing import Any

from tt.core.library import Tensor, ops, to_dtype
from tt.operators.activation._constants import GELU_CUBIC, GELU_SCALE, SELU_ALPHA, SELU_SCALE
from tt.plugins.autograd.formulas.helpers import conj
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

# --- limits ----------------------------------------------------------------------------------------------------

d.of("relu", self=lambda g, result: ops.threshold_backward(g, result, 0))
d.of("threshold", self=lambda g, self, threshold: ops.threshold_backward(g, self, threshold))
d.of("hardtanh", self=lambda g, self, min_val, max_val: ops.hardtanh_backward(g, self, min_val, max_val))
d.of("hardshrink", self=lambda g, self, lambd: ops.where(ops.abs(self) <= lambd, 0, g))
d.of("softshrink", self=lambda g, self, lambd: ops.where(ops.abs(self) <= lambd, 0, g))
d.of("leaky_relu", self=lambda g, self, negative_slope: ops.leaky_relu_backward(g, self, negative_slope))
d.of(
    "_prelu_kernel",
    self=lambda g, self, weight: ops._prelu_backward(g, self, weight),
    weight=lambda g, self: ops.where(self > 0, 0, g * self),
)

# --- exponential -----------------------------------------------------------------------------------------------

d.of("elu", self=lambda g, self, alpha: ops.elu_backward(g, self, alpha, 1.0, 1.0))
d.of("celu", self=lambda g, self, alpha: ops.elu_backward(g, self, alpha, 1.0, 1 / alpha))
d.of("selu", self=lambda g, self: ops.elu_backward(g, self, SELU_ALPHA, SELU_SCALE, 1.0))

# --- sigmoids --------------------------------------------------------------------------------------------------

d.of("silu", self=lambda g, self: ops.silu_backward(g, self))
d.of("mish", self=lambda g, self: ops.mish_backward(g, self))
d.of("hardsigmoid", self=lambda g, self: ops.hardsigmoid_backward(g, self))
d.of("hardswish", self=lambda g, self: ops.hardswish_backward(g, self))
d.of("logsigmoid", self=lambda g, self: ops.log_sigmoid_backward(g, self))
d.of("softplus", self=lambda g, self, beta, threshold: ops.softplus_backward(g, self, beta, threshold))
d.of("gelu", self=lambda g, self, approximate: ops.gelu_backward(g, self, approximate=approximate))

d.of("glu", self=lambda g, self, dim: ops.glu_backward(g, self, dim))

# --- second derivatives of sigmoids ----------------------------------------------------------------------------


def curved(g: Tensor, grad_output: Tensor, curve: Tensor) -> Tensor:
    """Return the gradient of grad_output * slope(x), from the derivative of the slope."""
    return g * grad_output * curve


def single(x: Tensor) -> Tensor:
    """Return a tensor in which many steps are computed: half precision in float32."""
    return ops._to_copy(x, dtype=to_dtype("float32")) if x.dtype.itemsize == 2 else x


def silu_curve(x: Tensor) -> Tensor:
    """s r (2 + x (r - s)) with the sigmoids s of x and r of -x: 1 - s has no digits left where x is large."""
    s, r = ops.sigmoid(x), ops.sigmoid(-x)
    return s * r * (2 + x * (r - s))


def mish_curve(x: Tensor) -> Tensor:
    """u s (2 + x (r - 2 t s)) with s, r as for silu, t = tanh(softplus(x)) and u = 1 - t^2, both written in s and r."""
    s, r = ops.sigmoid(x), ops.sigmoid(-x)
    below = 1 + r * r
    t, root = s * (1 + r) / below, 2 * r / below
    return root * root * s * (2 + x * (r - 2 * t * s))


def softplus_curve(x: Tensor, beta: Any, threshold: Any) -> Tensor:
    """Beta s r, and 0 above the threshold, where softplus is linear."""
    steep = x * beta
    return ops.where(ops.gt(steep, threshold), 0.0, ops.sigmoid(steep) * ops.sigmoid(-steep) * beta)


def tanh_gelu_curve(x: Tensor) -> Any:
    """4 p q (v' + x v'' / 2 - x t v'^2) / 2 with v = the argument of tanh, p and q the sigmoids of 2 v and -2 v."""
    square = x * x
    v = GELU_SCALE * x * (1 + GELU_CUBIC * square)
    rise = GELU_SCALE * (1 + 3 * GELU_CUBIC * square)
    p, q = ops.sigmoid(2 * v), ops.sigmoid(-2 * v)
    return 4 * p * q * (rise + x * (3 * GELU_CUBIC * GELU_SCALE * x - (p - q) * rise * rise))


def gelu_backward_self(g: Tensor, grad_output: Tensor, self: Tensor, approximate: str) -> Tensor:
    """The second derivative of x Phi(x) is (2 - x^2) phi(x)."""
    x = single(self)
    if approximate == "tanh":
        return curved(g, grad_output, tanh_gelu_curve(x))
    density = ops.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))
    return curved(g, grad_output, (2 - x * x) * density)


d.of(
    "silu_backward",
    grad_output=lambda g, self: conj(ops.silu_backward(conj(g), self)),
    self=lambda g, grad_output, self: conj(g) * grad_output * conj(silu_curve(single(self))),
)
d.of(
    "mish_backward",
    grad_output=lambda g, self: ops.mish_backward(g, self),
    self=lambda g, grad_output, self: curved(g, grad_output, mish_curve(single(self))),
)
# Not through the composite, which computes the slope also where it is not chosen: at infinities that is NaN.
d.of(
    "hardswish_backward",
    grad_output=lambda g, self: ops.hardswish_backward(g, self),
    self=lambda g, grad_output, self: ops.where((self > -3) & (self < 3), g * grad_output / 3, 0),
)
d.of(
    "log_sigmoid_backward",
    grad_output=lambda g, self: ops.log_sigmoid_backward(g, self),
    self=lambda g, grad_output, self: curved(
        g, grad_output, -(ops.sigmoid(single(self)) * ops.sigmoid(-single(self)))
    ),
)
d.of(
    "softplus_backward",
    grad_output=lambda g, self, beta, threshold: ops.softplus_backward(g, self, beta, threshold),
    self=lambda g, grad_output, self, beta, threshold: curved(
        g, grad_output, softplus_curve(single(self), beta, threshold)
    ),
)
d.of(
    "gelu_backward",
    grad_output=lambda g, self, approximate: ops.gelu_backward(g, self, approximate=approximate),
    self=gelu_backward_self,
)


def halves(x: Tensor, dim: int) -> tuple[Any, Any]:
    """Return both halves of a tensor, in the precision of many steps."""
    half = x.shape[dim] // 2
    return single(ops.narrow(x, dim, 0, half)), single(ops.narrow(x, dim, half, half))


def glu_backward_grad_output(g: Tensor, self: Tensor, dim: int) -> Any:
    """Return s (g' + a r g") with the halves a, b of self, g', g" of g, and the sigmoids s of b and r of -b."""
    (a, b), (first, second) = halves(self, dim), halves(g, dim)
    return ops.sigmoid(b) * (first + a * ops.sigmoid(-b) * second)


def glu_backward_self(g: Tensor, grad_output: Tensor, self: Tensor, dim: int) -> Tensor:
    """Return s r g" and s r (g' + a (r - s) g") side by side, times the gradient of glu."""
    (a, b), (first, second) = halves(self, dim), halves(g, dim)
    s, r = ops.sigmoid(b), ops.sigmoid(-b)
    slope = s * r * grad_output
    return ops.cat([slope * second, slope * (first + a * (r - s) * second)], dim)


d.of("glu_backward", grad_output=glu_backward_grad_output, self=glu_backward_self)

# --- softmax ---------------------------------------------------------------------------------------------------


d.of("softmax", self=lambda g, result, dim: ops._softmax_backward(g, result, dim))
d.of("log_softmax", self=lambda g, result, dim: ops._log_softmax_backward(g, result, dim))
