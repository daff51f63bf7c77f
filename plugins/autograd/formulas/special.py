"""Formulas of special functions.  g is the gradient of the result."""

from __future__ import annotations

import math
from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.helpers import polynomial
from tt.plugins.autograd.formulas.table import Formulas, Unwritten

d = Formulas()

ROOT_PI = math.sqrt(math.pi)
ROOT_TWO_PI = math.sqrt(2 * math.pi)

# --- error functions -------------------------------------------------------------------------------------------

d.of("erfc", self=lambda g, self: g * (-2 / ROOT_PI) * ops.exp(-(self * self)))
d.of("erfinv", self=lambda g, result: g * (ROOT_PI / 2) * ops.exp(result * result))
d.of("special_erfcx", self=lambda g, self, result: g * (2 * self * result - 2 / ROOT_PI))
d.of("special_ndtr", self=lambda g, self: g * ops.exp(-0.5 * self * self) / ROOT_TWO_PI)
d.of("special_ndtri", self=lambda g, result: g * ops.exp(0.5 * result * result) * ROOT_TWO_PI)


def log_ndtr_self(g: Any, self: Any) -> Any:
    """The density over the distribution function; on the left both are tiny, and erfcx is their ratio."""
    left = self < 0
    below, above = ops.where(left, self, -1), ops.where(left, 1, self)
    ratio = (2 / ROOT_TWO_PI) / ops.special_erfcx(-math.sqrt(0.5) * below)
    density = ops.exp(-0.5 * above * above) / ROOT_TWO_PI
    return g * ops.where(left, ratio, density / ops.special_ndtr(above))


d.of("special_log_ndtr", self=log_ndtr_self)

# --- the gamma function ----------------------------------------------------------------------------------------

d.of("lgamma", self=lambda g, self: g * ops.digamma(self))
d.of("digamma", self=lambda g, self: g * ops.polygamma(1, self))
d.of("polygamma", self=lambda g, n, self: g * ops.polygamma(n + 1, self))

# --- Bessel functions ------------------------------------------------------------------------------------------


MODIFIED_RATIO = tuple(1 / (2 * 4**k * math.factorial(k) * math.factorial(k + 1)) for k in range(11))
"""Taylor coefficients of I1(x) / x: of 1, x^2, x^4, ..."""
RATIO = tuple((-1) ** k * coefficient for k, coefficient in enumerate(MODIFIED_RATIO))
"""Those of J1(x) / x."""
SPHERICAL_SLOPE = tuple((-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 11))
"""Those of the derivative of sin(x) / x, over x."""


def over(numerator: Any, x: Any, scaled: bool = False, coefficients: Any = MODIFIED_RATIO) -> Any:
    """I1(x) / x, where I1(x) is given, with the factor exp(-|x|) if scaled; near 0 the Taylor polynomial.

    The polynomial, unlike a limit that is put in at 0 alone, has the right derivatives of all orders, too.
    """
    near = ops.abs(x) < 1
    small = ops.where(near, x, 0)
    ratio = polynomial(coefficients, small * small)
    if scaled:
        ratio = ratio * ops.exp(-ops.abs(small))
    return ops.where(near, ratio, numerator / ops.where(near, 1, x))


d.of("i0", self=lambda g, self: g * ops.special_i1(self))
d.of("special_i0e", self=lambda g, self, result: g * (ops.special_i1e(self) - ops.sign(self) * result))
d.of("special_i1", self=lambda g, self, result: g * (ops.i0(self) - over(result, self)))
d.of("special_i1e", self=lambda g, self, result:
     g * (ops.special_i0e(self) - over(result, self, scaled=True) - ops.sign(self) * result))  # fmt: skip


def spherical_bessel_j0_self(g: Any, self: Any, result: Any) -> Any:
    """(cos(x) - sin(x) / x) / x; near 0 the Taylor polynomial."""
    near = ops.abs(self) < 1
    small, x = ops.where(near, self, 0), ops.where(near, 1, self)
    return g * ops.where(near, small * polynomial(SPHERICAL_SLOPE, small * small), (ops.cos(x) - result) / x)


d.of("special_bessel_j0", self=lambda g, self: -g * ops.special_bessel_j1(self))
d.of("special_bessel_j1", self=lambda g, self, result:
     g * (ops.special_bessel_j0(self) - over(result, self, coefficients=RATIO)))  # fmt: skip
d.of("special_bessel_y0", self=lambda g, self: -g * ops.special_bessel_y1(self))
d.of("special_bessel_y1", self=lambda g, self, result: g * (ops.special_bessel_y0(self) - result / self))
d.of("special_modified_bessel_i0", self=lambda g, self: g * ops.special_modified_bessel_i1(self))
d.of("special_modified_bessel_i1", self=lambda g, self, result:
     g * (ops.special_modified_bessel_i0(self) - over(result, self)))  # fmt: skip
d.of("special_modified_bessel_k0", self=lambda g, self: -g * ops.special_modified_bessel_k1(self))
d.of("special_modified_bessel_k1", self=lambda g, self, result:
     -g * (ops.special_modified_bessel_k0(self) + result / self))  # fmt: skip
d.of("special_scaled_modified_bessel_k0", self=lambda g, self, result:
     g * (result - ops.special_scaled_modified_bessel_k1(self)))  # fmt: skip
d.of("special_scaled_modified_bessel_k1", self=lambda g, self, result:
     g * (result * (1 - 1 / self) - ops.special_scaled_modified_bessel_k0(self)))  # fmt: skip
d.of("special_spherical_bessel_j0", self=spherical_bessel_j0_self)

# --- entropy and log-odds --------------------------------------------------------------------------------------


def logit_self(g: Any, self: Any, eps: float | None) -> Any:
    """1 / (x (1 - x)); outside the limits 0, or NaN if there are none."""
    slope = g / (self * (1 - self))
    if eps is None or eps < 0:
        return ops.where((self >= 0) & (self <= 1), slope, math.nan)
    return ops.where((self >= eps) & (self <= 1 - eps), slope, 0)


d.of("special_entr", self=lambda g, self: g * (-1 - ops.log(self)))
d.of("logit", self=logit_self)

# --- incomplete gamma functions and the zeta function ----------------------------------------------------------


def density(self: Any, other: Any) -> Any:
    """The derivative of igamma by other."""
    return ops.exp((self - 1) * ops.log(other) - other - ops.lgamma(self))


d.of("igamma", self=Unwritten("igamma: self"), other=lambda g, self, other: g * density(self, other))
d.of("igammac", self=Unwritten("igammac: self"), other=lambda g, self, other: -g * density(self, other))
d.of("special_zeta", self=Unwritten("special_zeta: self"),
     other=lambda g, self, other: g * -self * ops.special_zeta(self + 1, other))  # fmt: skip
