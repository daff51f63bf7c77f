"""Formulas of operators that work element by element.  g is the gradient of the result."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import Any

from tt.core.library import Tensor, ops
from tt.plugins.autograd.formulas.helpers import conj, is_complex, polynomial
from tt.plugins.autograd.formulas.table import Formulas, Unwritten, zero

d = Formulas()

# --- arithmetic ------------------------------------------------------------------------------------------------


def scaled(g: Tensor, alpha: Any) -> Tensor:
    """Return g * conj(alpha), which for the usual alpha of 1 is g."""
    return g if alpha == 1 else g * conj(alpha)


d.of("add", self=lambda g: g, other=lambda g, alpha: scaled(g, alpha))
d.of("sub", self=lambda g: g, other=lambda g, alpha: -scaled(g, alpha))
d.of("rsub", self=lambda g, alpha: -scaled(g, alpha), other=lambda g: g)
d.of("mul", self=lambda g, other: g * conj(other), other=lambda g, self: g * conj(self))
# Divided twice, not by the square, which overflows or underflows where the quotient does not.
d.of(
    "div", self=lambda g, other: g / conj(other), other=lambda g, self, other: -g * conj(self / other / other)
)
# Rounded quotients are steps: flat wherever they have a derivative.
d.of("div.mode", self=zero, other=zero)
# remainder = self - other * floor(self / other), where the floor is constant.
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


def pow_self(g: Tensor, self: Tensor, exponent: Any) -> Tensor:
    """exponent * self ** (exponent - 1); x ** 0 has the slope 0 also at 0."""
    # At 0 the power with exponent -1 is infinite, and the product with the exponent 0 would be NaN.
    if not isinstance(exponent, Tensor):
        return zero(g) if exponent == 0 else g * conj(exponent * self ** (exponent - 1))
    return ops.where(exponent == 0, 0, g * conj(exponent * self ** (exponent - 1)))


def pow_exponent(g: Tensor, self: Any, exponent: Tensor, result: Tensor) -> Any:
    """self ** exponent * log(self), and 0 where self is 0 and the exponent not negative."""
    real = ops.real(exponent) if is_complex(exponent) else exponent
    if isinstance(self, Tensor):
        base = (
            self.to(result.dtype) if is_complex(exponent) else self
        )  # negative numbers have a complex logarithm
        return ops.where((self == 0) & (real >= 0), 0, g * conj(result * ops.log(base)))
    if self == 0:
        # log(0) is -inf, which `math.log` refuses.
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
# exp(x) is the result plus 1: no second exponential.
d.of("expm1", self=lambda g, result: g * (conj(result) + 1))
d.of("log", self=lambda g, self: g / conj(self))
d.of("log1p", self=lambda g, self: g / (conj(self) + 1))


d.of("exp2", self=lambda g, result: g * conj(result) * math.log(2))
d.of("log2", self=lambda g, self: g / (conj(self) * math.log(2)))
d.of("log10", self=lambda g, self: g / (conj(self) * math.log(10)))


# --- trigonometry ----------------------------------------------------------------------------------------------

d.of("sin", self=lambda g, self: g * conj(ops.cos(self)))
d.of("cos", self=lambda g, self: -g * conj(ops.sin(self)))
d.of("tanh", self=lambda g, result: ops.tanh_backward(g, result))

# --- special functions -----------------------------------------------------------------------------------------

d.of("sigmoid", self=lambda g, result: ops.sigmoid_backward(g, result))
d.of("erf", self=lambda g, self: g * (2 / math.sqrt(math.pi)) * ops.exp(-(self * self)))

# --- sign, rounding --------------------------------------------------------------------------------------------


def abs_self(g: Tensor, self: Tensor) -> Tensor:
    """The sign of self, for complex numbers self / |self|; 0 at 0.  The result may be changed: it is not saved."""
    return g * (ops.sgn(self) if is_complex(self) else ops.sign(self))


d.of("abs", self=abs_self)
d.of("sign", self=zero)
d.of("floor", self=zero)
d.of("ceil", self=zero)
d.of("trunc", self=zero)
d.of("round", self=zero)

# --- complex numbers -------------------------------------------------------------------------------------------

d.of("conj", self=lambda g: conj(g))


d.of("conj_physical", self=lambda g: conj(g))


# --- choosing --------------------------------------------------------------------------------------------------


def bigger(g: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Return the part of g that goes to `first` in maximum(first, second): half of it where both are equal."""
    # As PyTorch shares it: the mean of the slopes on both sides.
    return ops.where(first == second, g / 2, ops.where(first < second, 0, g))


def clamp_self(g: Tensor, self: Tensor, min: Any, max: Any) -> Tensor:
    """g where self is within the bounds, the bounds included."""
    if max is None:
        return ops.where(self >= min, g, 0)
    return ops.where(self <= max if min is None else (self >= min) & (self <= max), g, 0)


def clamp_min(g: Tensor, self: Any, min: Any, max: Any) -> Any:
    """g where the lower bound was taken; the upper one wins where they cross."""
    taken = self < min
    return ops.where(taken if max is None else taken & (min < max), g, 0)


def clamp_max(g: Tensor, self: Any, min: Any, max: Any) -> Any:
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


def fmax_other(g: Tensor, self: Tensor, other: Tensor) -> Tensor:
    """g where fmax took the second number: not on a tie, nor where it is NaN."""
    return ops.where((self >= other) | ops.isnan(other), 0, g)


def fmin_other(g: Tensor, self: Tensor, other: Tensor) -> Tensor:
    """g where fmin took the second number."""
    return ops.where((self <= other) | ops.isnan(other), 0, g)


d.of(
    "clamp_min",
    self=lambda g, self, min: ops.where(self >= min, g, 0),
    min=lambda g, self, min: ops.where(self < min, g, 0),
)
d.of(
    "clamp_max",
    self=lambda g, self, max: ops.where(self <= max, g, 0),
    max=lambda g, self, max: ops.where(self > max, g, 0),
)
# What the second number did not get, so that the two always add up to g.
d.of("fmax", self=lambda g, self, other: g - fmax_other(g, self, other), other=fmax_other)
d.of("fmin", self=lambda g, self, other: g - fmin_other(g, self, other), other=fmin_other)


# --- division --------------------------------------------------------------------------------------------------

d.of(
    "fmod",
    self=lambda g: g,
    other=lambda g, self, other: -g * ops.div.mode(self, other, rounding_mode="trunc"),
)

# --- floating point numbers ------------------------------------------------------------------------------------


def copysign_self(g: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """g where the sign was kept, -g where it was changed, 0 at 0."""
    # result / self is 1 or -1, whichever sign was taken.
    return ops.where(self == 0, 0, g * (result / self))


d.of("copysign", self=copysign_self, other=zero)
d.of("nextafter", self=lambda g, self, other: ops.where(self == other, 0, g), other=zero)
# The mantissa is self * 2 ** -exponent; the exponent is constant between powers of two.
d.of("frexp", self=lambda gs, exponent: None if gs[0] is None else ops.ldexp(gs[0], -exponent))
d.of(
    "ldexp",
    self=lambda g, other: g * conj(2.0**other),
    other=lambda g, result: g * conj(result) * math.log(2),
)

# --- logarithms ------------------------------------------------------------------------------------------------


def _as_operand(number: Any, like: Tensor) -> Any:
    """Return a number as a tensor; beyond the range of its dtype it is infinite, as in the kernels."""
    return ops.add(ops.scalar_tensor(0.0, dtype=like.dtype, device=like.device), number)


def xlogy_self(g: Any, self: Tensor, other: Any) -> Tensor:
    """g * log(other), and 0 where the product was cut off at 0."""
    other = other if isinstance(other, Tensor) else _as_operand(other, g)
    # The product is cut off for g as well: a gradient of 0 stays 0 where the logarithm is infinite.
    return ops.where((self == 0) & (other <= 0), 0, ops.xlogy(g, other))


def xlog1py_self(g: Any, self: Tensor, other: Any) -> Tensor:
    """g * log(1 + other), and 0 where the product was cut off at 0."""
    other = other if isinstance(other, Tensor) else _as_operand(other, g)
    return ops.where((self == 0) & (other <= -1), 0, ops.special_xlog1py(g, other))


def cut_off_ratio(g: Tensor, self: Tensor, argument: Tensor) -> Tensor:
    """g * self / argument, and 0 where both sides are 0: there the product with the logarithm was cut off."""
    nothing = (argument == 0) & ((self == 0) | (g == 0))
    return ops.where(nothing, 0, g * self / ops.where(nothing, 1, argument))


def share_of_sum(g: Tensor, self: Tensor, other: Tensor, unit: float = 1.0) -> Any:
    """g times the part of self in the sum of the powers, a sigmoid; of nothing, the sum of two -inf, 0.

    A quotient of exponentials would overflow, and its derivatives be NaN.
    """
    # Subtraction refuses bools, so bools next to floats are added with the factor -1.
    difference = ops.add(self, other, alpha=-1)
    nothing = (self == -math.inf) & (other == -math.inf)
    return g * conj(ops.sigmoid(ops.where(nothing, -math.inf, difference) * unit))


d.of("xlogy", self=xlogy_self, other=lambda g, self, other: cut_off_ratio(g, self, other))
d.of("special_xlog1py", self=xlog1py_self, other=lambda g, self, other: cut_off_ratio(g, self, other + 1))
d.of(
    "logaddexp",
    self=lambda g, self, other: share_of_sum(g, self, other),
    other=lambda g, self, other: share_of_sum(g, other, self),
)
d.of(
    "logaddexp2",
    self=lambda g, self, other: share_of_sum(g, self, other, math.log(2)),
    other=lambda g, self, other: share_of_sum(g, other, self, math.log(2)),
)

# --- geometry --------------------------------------------------------------------------------------------------


def per_square(numerator: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Return numerator / (x * x + y * y), and 0 at the origin."""
    # By hypot, as the sum of squares overflows or underflows much earlier.
    length = ops.hypot(y, x)
    return ops.where(length == 0, 0, numerator / length / length)


d.of(
    "atan2",
    self=lambda g, self, other: g * per_square(other, self, other),
    other=lambda g, self, other: -g * per_square(self, self, other),
)
# The quotients lie between -1 and 1; a product with g first might overflow.
d.of(
    "hypot",
    self=lambda g, self, result: g * (self / result),
    other=lambda g, other, result: g * (other / result),
)

# --- three tensors ---------------------------------------------------------------------------------------------

d.of(
    "addcmul",
    self=lambda g: g,
    tensor1=lambda g, tensor2, value: g * conj(tensor2 * value),
    tensor2=lambda g, tensor1, value: g * conj(tensor1 * value),
)
d.of(
    "addcdiv",
    self=lambda g: g,
    tensor1=lambda g, tensor2, value: (
        g * value.conjugate() / conj(tensor2)
    ),  # g first: it may be of higher precision
    tensor2=lambda g, tensor1, tensor2, value: -g * conj(value * tensor1 / (tensor2 * tensor2)),
)
d.of(
    "lerp",
    self=lambda g, weight: g * (1 - conj(weight)),
    end=lambda g, weight: g * conj(weight),
    weight=lambda g, self, end: g * conj(end - self),
)

d.of("lerp.Scalar", self=lambda g, weight: g * (1 - conj(weight)), end=lambda g, weight: g * conj(weight))

# --- trigonometric and hyperbolic functions --------------------------------------------------------------------


def acosh_self(g: Tensor, self: Tensor) -> Any:
    """1 / (sqrt(x - 1) sqrt(x + 1))."""
    if is_complex(self):
        # The root of the product has another branch cut than the product of roots.
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


def angle_self(g: Tensor, self: Tensor) -> Tensor:
    """i / conj(z), and 0 for real numbers and for 0."""
    if not is_complex(self):
        return zero(g)
    origin = self == 0
    return ops.where(origin, 0, g * 1j / conj(ops.where(origin, 1, self)))


SINC_SLOPE = tuple((-1) ** k * 2 * k * math.pi ** (2 * k) / math.factorial(2 * k + 1) for k in range(1, 15))
"""Taylor coefficients of the derivative of sinc, over x: of 1, x^2, x^4, ..."""


def sinc_self(g: Tensor, self: Tensor) -> Any:
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


def sgn_self(g: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """The part of g across the direction of z, over |z|; 0 for real numbers and for 0."""
    if not is_complex(self):
        return zero(g)
    size = ops.abs(self)
    # Replaced before the division: a NaN in the branch that is not taken would come back in second
    # derivatives.
    origin = size == 0
    turned = g / ops.where(origin, 1, size)
    return ops.where(origin, 0, turned - ops.real(conj(result) * turned) * result)


d.of("frac", self=lambda g: g)
d.of("sgn", self=sgn_self)
d.of("nan_to_num", self=lambda g, self: ops.where(ops.isfinite(self), g, 0))


ROOT_PI = math.sqrt(math.pi)
ROOT_TWO_PI = math.sqrt(2 * math.pi)

# --- error functions -------------------------------------------------------------------------------------------

d.of("erfc", self=lambda g, self: g * (-2 / ROOT_PI) * ops.exp(-(self * self)))
d.of("erfinv", self=lambda g, result: g * (ROOT_PI / 2) * ops.exp(result * result))
d.of("special_erfcx", self=lambda g, self, result: g * (2 * self * result - 2 / ROOT_PI))
d.of("special_ndtr", self=lambda g, self: g * ops.exp(-0.5 * self * self) / ROOT_TWO_PI)
d.of("special_ndtri", self=lambda g, result: g * ops.exp(0.5 * result * result) * ROOT_TWO_PI)


def log_ndtr_self(g: Tensor, self: Tensor) -> Tensor:
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


def over(
    numerator: Tensor, x: Tensor, scaled: bool = False, coefficients: Sequence[float] = MODIFIED_RATIO
) -> Tensor:
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


def spherical_bessel_j0_self(g: Tensor, self: Tensor, result: Tensor) -> Tensor:
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


def logit_self(g: Tensor, self: Tensor, eps: float | None) -> Tensor:
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
    # In logarithms: the power and the gamma function overflow before their quotient does.
    return ops.exp((self - 1) * ops.log(other) - other - ops.lgamma(self))


d.of("igamma", self=Unwritten("igamma: self"), other=lambda g, self, other: g * density(self, other))
d.of("igammac", self=Unwritten("igammac: self"), other=lambda g, self, other: -g * density(self, other))
d.of("special_zeta", self=Unwritten("special_zeta: self"),
     other=lambda g, self, other: g * -self * ops.special_zeta(self + 1, other))  # fmt: skip


d.of("complex", real=lambda g: ops.real(g), imag=lambda g: ops.imag(g))
