"""Formulas of two and three tensors, element by element.  g is the gradient of the result."""

from __future__ import annotations

import math
from typing import Any

from tt.core.library import Tensor, ops
from tt.plugins.autograd.formulas.helpers import conj
from tt.plugins.autograd.formulas.table import Formulas, zero

d = Formulas()

# --- choosing --------------------------------------------------------------------------------------------------


def fmax_other(g: Any, self: Any, other: Any) -> Any:
    """g where fmax took the second number: not on a tie, nor where it is NaN."""
    return ops.where((self >= other) | ops.isnan(other), 0, g)


def fmin_other(g: Any, self: Any, other: Any) -> Any:
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
d.of("fmax", self=lambda g, self, other: g - fmax_other(g, self, other), other=fmax_other)
d.of("fmin", self=lambda g, self, other: g - fmin_other(g, self, other), other=fmin_other)

# --- division --------------------------------------------------------------------------------------------------

d.of(
    "fmod",
    self=lambda g: g,
    other=lambda g, self, other: -g * ops.div.mode(self, other, rounding_mode="trunc"),
)

# --- floating point numbers ------------------------------------------------------------------------------------


def copysign_self(g: Any, self: Any, result: Any) -> Any:
    """g where the sign was kept, -g where it was changed, 0 at 0."""
    return ops.where(self == 0, 0, g * (result / self))


d.of("copysign", self=copysign_self, other=zero)
d.of("nextafter", self=lambda g, self, other: ops.where(self == other, 0, g), other=zero)
d.of("frexp", self=lambda gs, exponent: None if gs[0] is None else ops.ldexp(gs[0], -exponent))
d.of(
    "ldexp",
    self=lambda g, other: g * conj(2.0**other),
    other=lambda g, result: g * conj(result) * math.log(2),
)

# --- logarithms ------------------------------------------------------------------------------------------------


def _as_operand(number: Any, like: Any) -> Any:
    """Return a number as a tensor; beyond the range of its dtype it is infinite, as in the kernels."""
    return ops.add(ops.scalar_tensor(0.0, dtype=like.dtype, device=like.device), number)


def xlogy_self(g: Any, self: Any, other: Any) -> Any:
    """g * log(other), and 0 where the product was cut off at 0."""
    other = other if isinstance(other, Tensor) else _as_operand(other, g)
    # The product is cut off for g as well: a gradient of 0 stays 0 where the logarithm is infinite.
    return ops.where((self == 0) & (other <= 0), 0, ops.xlogy(g, other))


def xlog1py_self(g: Any, self: Any, other: Any) -> Any:
    """g * log(1 + other), and 0 where the product was cut off at 0."""
    other = other if isinstance(other, Tensor) else _as_operand(other, g)
    return ops.where((self == 0) & (other <= -1), 0, ops.special_xlog1py(g, other))


def cut_off_ratio(g: Any, self: Any, argument: Any) -> Any:
    """g * self / argument, and 0 where both sides are 0: there the product with the logarithm was cut off."""
    nothing = (argument == 0) & ((self == 0) | (g == 0))
    return ops.where(nothing, 0, g * self / ops.where(nothing, 1, argument))


def share_of_sum(g: Any, self: Any, other: Any, unit: float = 1.0) -> Any:
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


def per_square(numerator: Any, y: Any, x: Any) -> Any:
    """Return numerator / (x * x + y * y), and 0 at the origin."""
    length = ops.hypot(y, x)
    return ops.where(length == 0, 0, numerator / length / length)


d.of(
    "atan2",
    self=lambda g, self, other: g * per_square(other, self, other),
    other=lambda g, self, other: -g * per_square(self, self, other),
)
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

# --- complex numbers -------------------------------------------------------------------------------------------

d.of("conj_physical", self=lambda g: conj(g))
# A gradient that is contiguous may still begin at an odd place, or have odd strides where a size is 1: a copy has not.
d.of("view_as_real", self=lambda g: ops.view_as_complex(ops.clone(g, memory_format="contiguous_format")))
d.of("view_as_complex", self=lambda g: ops.view_as_real(g))
