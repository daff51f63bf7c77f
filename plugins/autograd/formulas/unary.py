"""Formulas of elementary functions of one argument.  g is the gradient of the result."""

from __future__ import annotations

import math
from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.helpers import conj, is_complex, polynomial
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


SINC_SLOPE = tuple((-1) ** k * 2 * k * math.pi ** (2 * k) / math.factorial(2 * k + 1) for k in range(1, 15))
"""Taylor coefficients of the derivative of sinc, over x: of 1, x^2, x^4, ..."""


def sinc_self(g: Any, self: Any) -> Any:
    """(cos(pi x) - sinc(x)) / x; near 0, where the difference cancels, its Taylor polynomial.

    The polynomial, unlike a limit that is put in at 0 alone, has the right derivatives of all orders, too.
    """
    near = ops.abs(self) < 0.5
    small, x = ops.where(near, self, 0), ops.where(near, 1, self)
    far = (ops.cos(math.pi * x) - ops.sinc(x)) / x
    return g * conj(ops.where(near, small * polynomial(SINC_SLOPE, small * small), far))


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
