"""Formulas of operators that work element by element.  g is the gradient of the result."""

from __future__ import annotations

import math
from typing import Any

from tt.core.library import TensorBase, ops
from tt.plugins.autograd.formulas.helpers import conj, is_complex
from tt.plugins.autograd.formulas.table import Formulas, zero

d = Formulas()

# --- arithmetic ------------------------------------------------------------------------------------------------


def scaled(g: Any, alpha: Any) -> Any:
    """Return g * conj(alpha), which for the usual alpha of 1 is g."""
    return g if alpha == 1 else g * conj(alpha)


def div_other(g: Any, self: Any, other: Any, rounding_mode: Any) -> Any:
    """d(self / other)/d(other); a rounded quotient is constant almost everywhere."""
    return None if rounding_mode else -g * conj(self / other / other)


d.of("add", self=lambda g: g, other=lambda g, alpha: scaled(g, alpha))
d.of("sub", self=lambda g: g, other=lambda g, alpha: -scaled(g, alpha))
d.of("rsub", self=lambda g, alpha: -scaled(g, alpha), other=lambda g: g)
d.of("mul", self=lambda g, other: g * conj(other), other=lambda g, self: g * conj(self))
d.of("div", self=lambda g, other, rounding_mode: None if rounding_mode else g / conj(other), other=div_other)
d.of("neg", self=lambda g: -g)
d.of("positive", self=lambda g: g)
d.of("reciprocal", self=lambda g, result: -g * conj(result * result))
d.of("square", self=lambda g, self: g * 2 * conj(self))
d.of("addcmul", self=lambda g: g,
     tensor1=lambda g, tensor2, value: g * conj(tensor2 * value),
     tensor2=lambda g, tensor1, value: g * conj(tensor1 * value))  # fmt: skip
d.of("addcdiv", self=lambda g: g,
     tensor1=lambda g, tensor2, value: g * conj(value / tensor2),
     tensor2=lambda g, tensor1, tensor2, value: -g * conj(value * tensor1 / (tensor2 * tensor2)))  # fmt: skip
d.of("lerp", self=lambda g, weight: g * conj(1 - weight), end=lambda g, weight: g * conj(weight),
     weight=lambda g, self, end: g * conj(end - self))  # fmt: skip
d.of("fmod", self=lambda g: g, other=lambda g, self, other: -g * ops.trunc(self / other))
d.of("remainder", self=lambda g: g, other=lambda g, self, other: -g * ops.floor(self / other))
d.of("hypot", self=lambda g, self, result: g * (self / result), other=lambda g, other, result: g * (other / result))
d.of("copysign", self=lambda g, self, result: g * ops.where(self == 0, 0.0, result / self), other=zero)

# --- powers ----------------------------------------------------------------------------------------------------


def pow_self(g: Any, self: Any, exponent: Any) -> Any:
    """exponent * self ** (exponent - 1); x ** 0 has the slope 0 also at 0."""
    if not isinstance(exponent, TensorBase):
        return None if exponent == 0 else g * conj(exponent * self ** (exponent - 1))
    slope = g * conj(exponent * self ** (exponent - 1))
    return ops.where(exponent == 0, ops.zeros_like(slope), slope)


def pow_exponent(g: Any, self: Any, exponent: Any, result: Any) -> Any:
    """self ** exponent * log(self), and 0 where self is 0 and the exponent not negative."""
    real = ops.real(exponent) if is_complex(exponent) else exponent
    if not isinstance(self, TensorBase):
        if self == 0:
            slope = g * conj(result * -math.inf)
            return ops.where(real >= 0, ops.zeros_like(slope), slope)
        import cmath

        negative = not isinstance(self, complex) and self < 0
        logarithm = cmath.log(self) if isinstance(self, complex) else math.nan if negative else math.log(self)
        return g * conj(result * logarithm)
    slope = g * conj(result * ops.log(self))
    return ops.where((self == 0) & (real >= 0), ops.zeros_like(slope), slope)


d.of("pow", self=pow_self, exponent=pow_exponent)
d.of("sqrt", self=lambda g, result: g / (2 * conj(result)))
d.of("rsqrt", self=lambda g, result: -0.5 * g * conj(result * result * result))

# --- exponentials and logarithms -------------------------------------------------------------------------------

d.of("exp", self=lambda g, result: g * conj(result))
d.of("exp2", self=lambda g, result: g * conj(result) * math.log(2))
d.of("expm1", self=lambda g, result: g * (conj(result) + 1))
d.of("log", self=lambda g, self: g / conj(self))
d.of("log2", self=lambda g, self: g / (conj(self) * math.log(2)))
d.of("log10", self=lambda g, self: g / (conj(self) * math.log(10)))
d.of("log1p", self=lambda g, self: g / (conj(self) + 1))
d.of("logaddexp", self=lambda g, self, other: g * ops.sigmoid(self - other),
     other=lambda g, self, other: g * ops.sigmoid(other - self))  # fmt: skip
d.of("logaddexp2", self=lambda g, self, other: g * ops.sigmoid((self - other) * math.log(2)),
     other=lambda g, self, other: g * ops.sigmoid((other - self) * math.log(2)))  # fmt: skip
d.of("xlogy", self=lambda g, self, other: g * ops.where((self == 0) & (other <= 0), 0.0, ops.log(other)),
     other=lambda g, self, other: g * self / other)  # fmt: skip

# --- trigonometry ----------------------------------------------------------------------------------------------

d.of("sin", self=lambda g, self: g * conj(ops.cos(self)))
d.of("cos", self=lambda g, self: -g * conj(ops.sin(self)))
d.of("tan", self=lambda g, result: g * (1 + conj(result * result)))
d.of("asin", self=lambda g, self: g * conj(ops.rsqrt(1 - self * self)))
d.of("acos", self=lambda g, self: -g * conj(ops.rsqrt(1 - self * self)))
d.of("atan", self=lambda g, self: g / conj(self * self + 1))
d.of("sinh", self=lambda g, self: g * conj(ops.cosh(self)))
d.of("cosh", self=lambda g, self: g * conj(ops.sinh(self)))
d.of("tanh", self=lambda g, result: g * conj(1 - result * result))
d.of("asinh", self=lambda g, self: g * conj(ops.rsqrt(self * self + 1)))
d.of("acosh", self=lambda g, self: g * conj(ops.rsqrt(self - 1) * ops.rsqrt(self + 1)))
d.of("atanh", self=lambda g, self: g / conj(1 - self * self))
d.of("atan2", self=lambda g, self, other: g * other / (self * self + other * other),
     other=lambda g, self, other: -g * self / (self * self + other * other))  # fmt: skip
d.of("sinc", self=lambda g, self: g * sinc_slope(self))
d.of("deg2rad", self=lambda g: g * (math.pi / 180))
d.of("rad2deg", self=lambda g: g * (180 / math.pi))


def sinc_slope(x: Any) -> Any:
    """(cos(pi x) - sinc(x)) / x, with its limit 0 at 0."""
    safe = ops.where(x == 0, ops.ones_like(x), x)
    return ops.where(x == 0, ops.zeros_like(x), (ops.cos(math.pi * safe) - ops.sinc(safe)) / safe)


# --- special functions -----------------------------------------------------------------------------------------

d.of("sigmoid", self=lambda g, result: g * conj(result * (1 - result)))
d.of("logit", self=lambda g, self, eps: g * logit_slope(self, eps))
d.of("erf", self=lambda g, self: g * (2 / math.sqrt(math.pi)) * ops.exp(-(self * self)))
d.of("erfc", self=lambda g, self: -g * (2 / math.sqrt(math.pi)) * ops.exp(-(self * self)))
d.of("erfinv", self=lambda g, result: g * (math.sqrt(math.pi) / 2) * ops.exp(result * result))
d.of("lgamma", self=lambda g, self: g * ops.digamma(self))


def logit_slope(x: Any, eps: float | None) -> Any:
    """1 / (x (1 - x)), and 0 where x was clamped."""
    slope = 1 / (x * (1 - x))
    if eps is None:
        return ops.where((x < 0) | (x > 1), ops.full_like(x, math.nan), slope)
    return ops.where((x < eps) | (x > 1 - eps), ops.zeros_like(x), slope)


# --- sign, rounding --------------------------------------------------------------------------------------------


def angle_self(g: Any, self: Any) -> Any:
    """The angle of a real number is constant; that of z = x + iy grows with (-y + ix) / |z|^2."""
    if not is_complex(self):
        return None
    square = ops.real(self * conj(self))
    slope = ops.where(square == 0, ops.zeros_like(square), g / square)
    return ops.complex(-ops.imag(self) * slope, ops.real(self) * slope)


def sgn_self(g: Any, self: Any, result: Any) -> Any:
    """The sign of a real number is constant; that of a complex one turns with it."""
    if not is_complex(self):
        return None
    size = ops.abs(self)
    slope = (g - ops.real(g * conj(result)) * result) / size
    return ops.where(size == 0, ops.zeros_like(slope), slope)


d.of("abs", self=lambda g, self: g * (ops.sgn(self) if is_complex(self) else ops.sign(self)))
d.of("sign", self=zero)
d.of("sgn", self=sgn_self)
d.of("floor", self=zero)
d.of("ceil", self=zero)
d.of("trunc", self=zero)
d.of("round", self=zero)
d.of("frac", self=lambda g: g)
d.of("angle", self=angle_self)
d.of("nan_to_num", self=lambda g, self: g * ops.isfinite(self))

# --- complex numbers -------------------------------------------------------------------------------------------

d.of("real", self=lambda g: g)
d.of("imag", self=lambda g: g * 1j)
d.of("conj", self=lambda g: conj(g))
d.of("resolve_conj", self=lambda g: g)
d.of("complex", real=lambda g: ops.real(g), imag=lambda g: ops.imag(g))
d.of("polar", abs=lambda g, angle: ops.real(g * conj(ops.polar(ops.ones_like(angle), angle))),
     angle=lambda g, result: ops.real(g * conj(result * 1j)))  # fmt: skip

# --- choosing --------------------------------------------------------------------------------------------------


def bigger(g: Any, first: Any, second: Any) -> Any:
    """Return the part of g that goes to `first` in maximum(first, second): half of it where both are equal."""
    return ops.where(first == second, g / 2, ops.where(first > second, g, ops.zeros_like(g)))


def clamp_self(g: Any, self: Any, min: Any, max: Any) -> Any:
    """g where self lies within the bounds, the bounds included."""
    inside = None if min is None else self >= min
    if max is not None:
        below = self <= max
        inside = below if inside is None else inside & below
    return ops.where(inside, g, ops.zeros_like(g))


def clamp_min(g: Any, self: Any, min: Any, max: Any) -> Any:
    """g where the lower bound was taken; the upper one wins where they cross."""
    taken = self < min
    return ops.where(taken if max is None else taken & (min < max), g, ops.zeros_like(g))


def clamp_max(g: Any, self: Any, min: Any, max: Any) -> Any:
    """g where the upper bound was taken."""
    taken = self > max
    return ops.where(taken if min is None else taken | (max < min), g, ops.zeros_like(g))


d.of("maximum", self=lambda g, self, other: bigger(g, self, other), other=lambda g, self, other: bigger(g, other, self))
d.of("minimum", self=lambda g, self, other: bigger(g, other, self), other=lambda g, self, other: bigger(g, self, other))
d.of("fmax", self=lambda g, self, other: ops.where((self >= other) | ops.isnan(other), g, ops.zeros_like(g)),
     other=lambda g, self, other: ops.where((self >= other) | ops.isnan(other), ops.zeros_like(g), g))  # fmt: skip
d.of("fmin", self=lambda g, self, other: ops.where((self <= other) | ops.isnan(other), g, ops.zeros_like(g)),
     other=lambda g, self, other: ops.where((self <= other) | ops.isnan(other), ops.zeros_like(g), g))  # fmt: skip
d.of("clamp", self=clamp_self, min=clamp_min, max=clamp_max)
d.of("where", self=lambda g, condition: ops.where(condition, g, ops.zeros_like(g)),
     other=lambda g, condition: ops.where(condition, ops.zeros_like(g), g))  # fmt: skip

# --- copies ----------------------------------------------------------------------------------------------------

d.of("clone", self=lambda g: g)
d.of("contiguous", self=lambda g: g)
d.of("copy", self=zero, src=lambda g: g)
d.of("zero", self=zero)
d.of("fill", self=zero, value=lambda g: ops.sum(g))
