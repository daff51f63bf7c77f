"""Formulas of operators that work element by element.  g is the gradient of the result."""

from __future__ import annotations

import cmath
import math
from typing import Any

from tt.core.library import Tensor, ops
from tt.plugins.autograd.formulas.helpers import conj, is_complex
from tt.plugins.autograd.formulas.table import Formulas, zero

d = Formulas()

# --- arithmetic ------------------------------------------------------------------------------------------------


def scaled(g: Any, alpha: Any) -> Any:
    """Return g * conj(alpha), which for the usual alpha of 1 is g."""
    return g if alpha == 1 else g * conj(alpha)


d.of("add", self=lambda g: g, other=lambda g, alpha: scaled(g, alpha))
d.of("sub", self=lambda g: g, other=lambda g, alpha: -scaled(g, alpha))
d.of("rsub", self=lambda g, alpha: -scaled(g, alpha), other=lambda g: g)
d.of("mul", self=lambda g, other: g * conj(other), other=lambda g, self: g * conj(self))
d.of(
    "div", self=lambda g, other: g / conj(other), other=lambda g, self, other: -g * conj(self / other / other)
)
d.of("div.mode", self=zero, other=zero)
d.of(
    "remainder",
    self=lambda g: g,
    other=lambda g, self, other: -g * ops.div.mode(self, other, rounding_mode="floor"),
)
d.of("remainder.Scalar", other=lambda g, self, other:
     -g * ops.div.mode(ops.full_like(other, self), other, rounding_mode="floor"))  # fmt: skip
d.of("neg", self=lambda g: -g)
d.of("square", self=lambda g, self: g * 2 * conj(self))
d.of("reciprocal", self=lambda g, result: -g * conj(result * result))

# --- powers ----------------------------------------------------------------------------------------------------


def pow_self(g: Any, self: Any, exponent: Any) -> Any:
    """exponent * self ** (exponent - 1); x ** 0 has the slope 0 also at 0."""
    if not isinstance(exponent, Tensor):
        return zero(g) if exponent == 0 else g * conj(exponent * self ** (exponent - 1))
    return ops.where(exponent == 0, 0, g * conj(exponent * self ** (exponent - 1)))


def pow_exponent(g: Any, self: Any, exponent: Any, result: Any) -> Any:
    """self ** exponent * log(self), and 0 where self is 0 and the exponent not negative."""
    real = ops.real(exponent) if is_complex(exponent) else exponent
    if isinstance(self, Tensor):
        base = (
            self.to(result.dtype) if is_complex(exponent) else self
        )  # negative numbers have a complex logarithm
        return ops.where((self == 0) & (real >= 0), 0, g * conj(result * ops.log(base)))
    if self == 0:
        return ops.where(real >= 0, 0, g * conj(result * -math.inf))
    if isinstance(self, complex) or exponent.dtype.is_complex:
        return g * conj(result * cmath.log(self))
    return g * conj(result * (math.log(self) if self > 0 else math.nan))


d.of("pow", self=pow_self, exponent=pow_exponent)
d.of("pow.Scalar", exponent=pow_exponent)
d.of("sqrt", self=lambda g, result: g / (2 * conj(result)))
d.of("rsqrt", self=lambda g, result: -0.5 * g * conj(result * result * result))

# --- exponentials and logarithms -------------------------------------------------------------------------------

d.of("exp", self=lambda g, result: g * conj(result))
d.of("expm1", self=lambda g, result: g * (conj(result) + 1))
d.of("log", self=lambda g, self: g / conj(self))
d.of("log1p", self=lambda g, self: g / (conj(self) + 1))

# --- trigonometry ----------------------------------------------------------------------------------------------

d.of("sin", self=lambda g, self: g * conj(ops.cos(self)))
d.of("cos", self=lambda g, self: -g * conj(ops.sin(self)))
d.of("tanh", self=lambda g, result: ops.tanh_backward(g, result))

# --- special functions -----------------------------------------------------------------------------------------

d.of("sigmoid", self=lambda g, result: ops.sigmoid_backward(g, result))
d.of("erf", self=lambda g, self: g * (2 / math.sqrt(math.pi)) * ops.exp(-(self * self)))

# --- sign, rounding --------------------------------------------------------------------------------------------


def abs_self(g: Any, self: Any) -> Any:
    """The sign of self, for complex numbers self / |self|; 0 at 0.  The result may be changed: it is not saved."""
    return g * (ops.sgn(self) if is_complex(self) else ops.sign(self))


d.of("abs", self=abs_self)
d.of("sign", self=zero)
d.of("floor", self=zero)
d.of("ceil", self=zero)
d.of("trunc", self=zero)
d.of("round", self=zero)

# --- complex numbers -------------------------------------------------------------------------------------------

d.of("real", self=lambda g: g)
d.of("imag", self=lambda g, self_dtype: g * 1j if self_dtype.is_complex else g)
d.of("conj", self=lambda g: conj(g))

# --- choosing --------------------------------------------------------------------------------------------------


def bigger(g: Any, first: Any, second: Any) -> Any:
    """Return the part of g that goes to `first` in maximum(first, second): half of it where both are equal."""
    return ops.where(first == second, g / 2, ops.where(first < second, 0, g))


def clamp_self(g: Any, self: Any, min: Any, max: Any) -> Any:
    """g where self is within the bounds, the bounds included."""
    if max is None:
        return ops.where(self >= min, g, 0)
    return ops.where(self <= max if min is None else (self >= min) & (self <= max), g, 0)


def clamp_min(g: Any, self: Any, min: Any, max: Any) -> Any:
    """g where the lower bound was taken; the upper one wins where they cross."""
    taken = self < min
    return ops.where(taken if max is None else taken & (min < max), g, 0)


def clamp_max(g: Any, self: Any, min: Any, max: Any) -> Any:
    """g where the upper bound was taken."""
    taken = self > max
    return ops.where(taken if min is None else taken | (max < min), g, 0)


d.of(
    "maximum",
    self=lambda g, self, other: bigger(g, self, other),
    other=lambda g, self, other: bigger(g, other, self),
)
d.of(
    "minimum",
    self=lambda g, self, other: bigger(g, other, self),
    other=lambda g, self, other: bigger(g, self, other),
)
d.of("clamp", self=clamp_self, min=clamp_min, max=clamp_max)
d.of(
    "where",
    self=lambda g, condition: ops.where(condition, g, 0),
    other=lambda g, condition: ops.where(condition, 0, g),
)

# --- copies ----------------------------------------------------------------------------------------------------


def to_source(g: Any, self_dtype: Any, self_device: Any) -> Any:
    """Bring g back to where the copied tensor is; the engine casts, but never moves."""
    return g if g.device == self_device else ops._to_copy(g, dtype=self_dtype, device=self_device)


d.of("clone", self=lambda g: g)
d.of("alias", self=lambda g: g)
d.of("_to_copy", self=to_source)
d.of("copy", self=zero, src=lambda g, src_dtype, src_device: to_source(g, src_dtype, src_device))
d.of("fill", self=zero, value=lambda g: ops.sum(g))
d.of("zero", self=zero)
