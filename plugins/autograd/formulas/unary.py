"""Formulas of elementary functions of one argument.  g is the gradient of the result."""

from __future__ import annotations

import math
from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.helpers import conj, is_complex
from tt.plugins.autograd.formulas.table import Formulas, zero

d = Formulas()

# --- exponentials and logarithms -------------------------------------------------------------------------------

d.of("exp2", self=lambda g, result: g * conj(result) * math.log(2))
d.of("log2", self=lambda g, self: g / (conj(self) * math.log(2)))
d.of("log10", self=lambda g, self: g / (conj(self) * math.log(10)))

# --- trigonometric and hyperbolic functions --------------------------------------------------------------------


def acosh_self(g: Any, self: Any) -> Any:
    """1 / (sqrt(x - 1) sqrt(x + 1))."""
    if is_complex(self):
        return g * conj(ops.rsqrt(self - 1) * ops.rsqrt(self + 1))
    return g * ops.rsqrt(self * self - 1)


d.of("tan", self=lambda g, result: g * conj(1 + result * result))
d.of("asin", self=lambda g, self: g * conj(ops.rsqrt(1 - self * self)))
d.of("acos", self=lambda g, self: -g * conj(ops.rsqrt(1 - self * self)))
d.of("atan", self=lambda g, self: g / conj(self * self + 1))
d.of("sinh", self=lambda g, self: g * conj(ops.cosh(self)))
d.of("cosh", self=lambda g, self: g * conj(ops.sinh(self)))
d.of("asinh", self=lambda g, self: g * conj(ops.rsqrt(self * self + 1)))
d.of("acosh", self=acosh_self)
d.of("atanh", self=lambda g, self: g / conj(1 - self * self))

# --- angles ----------------------------------------------------------------------------------------------------


def angle_self(g: Any, self: Any) -> Any:
    """i / conj(z), and 0 for real numbers and for 0."""
    if not is_complex(self):
        return zero(g)
    origin = self == 0
    return ops.where(origin, 0, g * 1j / conj(ops.where(origin, 1, self)))


def sinc_self(g: Any, self: Any) -> Any:
    """(cos(pi x) - sinc(x)) / x, and 0 at 0."""
    origin = self == 0
    x = ops.where(origin, 1, self)
    return g * conj(ops.where(origin, 0, (ops.cos(math.pi * x) - ops.sinc(x)) / x))


d.of("deg2rad", self=lambda g: g * (math.pi / 180))
d.of("rad2deg", self=lambda g: g * (180 / math.pi))
d.of("angle", self=angle_self)
d.of("sinc", self=sinc_self)

# --- signs and parts -------------------------------------------------------------------------------------------


def sgn_self(g: Any, self: Any, result: Any) -> Any:
    """The part of g across the direction of z, over |z|; 0 for real numbers and for 0."""
    if not is_complex(self):
        return zero(g)
    size = ops.abs(self)
    origin = size == 0
    turned = g / ops.where(origin, 1, size)
    return ops.where(origin, 0, turned - ops.real(conj(result) * turned) * result)


d.of("frac", self=lambda g: g)
d.of("sgn", self=sgn_self)
d.of("nan_to_num", self=lambda g, self: ops.where(ops.isfinite(self), g, 0))
