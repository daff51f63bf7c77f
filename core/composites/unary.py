"""Composites of elementary functions of one argument: trigonometric, hyperbolic, signs and parts of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from tt.core.composites.helpers import computed, expect_strided, floating, is_integral, number
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DtypeError
from tt.core.types.dtype import bool_, finfo

composites: Final = CompositeTable()
composite = composites.composite

LOG_2: Final = math.log(2)
LARGE: Final = 1e8
"""From here on 1 vanishes against a square, in float64 too."""


def odd(x: Any, magnitude: Any) -> Any:
    """Return a magnitude with the sign of x; where x is 0, x itself, whose sign stays."""
    return ops.where(ops.eq(x, 0), x, ops.where(ops.lt(x, 0), ops.neg(magnitude), magnitude))


def complex_of(real: Any, imag: Any) -> Any:
    """Return complex numbers of given parts."""
    return ops.view_as_complex(ops.stack([real, imag], -1))


def shifted(z: Any, by: float) -> Any:
    """Return z plus a real number; unlike the sum of two complex numbers it keeps the sign of a zero behind i."""
    return complex_of(ops.add(ops.real(z), by), ops.imag(z))


def times_i(z: Any) -> Any:
    """Return i z, in which each part keeps its sign of zero."""
    return complex_of(ops.neg(ops.imag(z)), ops.real(z))


def over_i(z: Any) -> Any:
    """Return -i z."""
    return complex_of(ops.imag(z), ops.neg(ops.real(z)))


def by_kind(real: Callable[[Any], Any], of_complex: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a composite that has one way for real and another for complex numbers."""

    @computed
    def choose(self: Any) -> Any:
        return of_complex(self) if self.dtype.is_complex else real(self)

    return choose


# --- exponentials and logarithms -------------------------------------------------------------------------------


def _exp2_complex(z: Any) -> Any:
    # Part by part, as one of them may be infinite.
    return ops.exp(complex_of(ops.mul(ops.real(z), LOG_2), ops.mul(ops.imag(z), LOG_2)))


composite("exp2", by_kind(lambda x: ops.pow.Scalar(2.0, x), _exp2_complex))


def _logarithm(base: float) -> Callable[[Any], Any]:
    """Return the logarithm to a base; parts of complex numbers are divided each, as one of them may be infinite."""
    scale = math.log(base)

    def of_complex(z: Any) -> Any:
        found = ops.log(z)
        return complex_of(ops.div.default(ops.real(found), scale), ops.div.default(ops.imag(found), scale))

    return by_kind(lambda x: ops.div.default(ops.log(x), scale), of_complex)


composite("log2", _logarithm(2))
composite("log10", _logarithm(10))

# --- trigonometric functions -----------------------------------------------------------------------------------
# The complex ones by W. Kahan, "Branch cuts for complex elementary functions" (1987).

composite("tan", by_kind(lambda x: ops.div.default(ops.sin(x), ops.cos(x)),
                         lambda z: over_i(ops.tanh(times_i(z)))))  # fmt: skip


def _below_and_above(z: Any) -> tuple[Any, Any]:
    """Return the square roots of 1 - z and 1 + z."""
    return ops.sqrt(complex_of(ops.rsub(ops.real(z), 1.0), ops.neg(ops.imag(z)))), ops.sqrt(shifted(z, 1))


def _asin_complex(z: Any) -> Any:
    below, above = _below_and_above(z)
    real = ops.atan(ops.div.default(ops.real(z), ops.real(ops.mul(below, above))))
    return complex_of(real, ops.asinh(ops.imag(ops.mul(ops.conj(below), above))))


def _acos_complex(z: Any) -> Any:
    below, above = _below_and_above(z)
    real = ops.mul(ops.atan(ops.div.default(ops.real(below), ops.real(above))), 2)
    return complex_of(real, ops.asinh(ops.imag(ops.mul(ops.conj(above), below))))


def _asin_real(x: Any) -> Any:
    return ops.atan(ops.div.default(x, ops.sqrt(ops.mul(ops.rsub(x, 1.0), ops.add(x, 1)))))


def _acos_real(x: Any) -> Any:
    return ops.mul(ops.atan(ops.sqrt(ops.div.default(ops.rsub(x, 1.0), ops.add(x, 1)))), 2)


composite("asin", by_kind(_asin_real, _asin_complex))
composite("acos", by_kind(_acos_real, _acos_complex))

# --- hyperbolic functions --------------------------------------------------------------------------------------


def _sinh_real(x: Any) -> Any:
    # Near 0 by expm1, which loses no digits; far from it in two factors, the product of which overflows last.
    size = ops.abs(x)
    less_one, root = ops.expm1(size), ops.exp(ops.mul(size, 0.5))
    near = ops.mul(ops.add(less_one, ops.div.default(less_one, ops.add(less_one, 1))), 0.5)
    return odd(x, ops.where(ops.lt(size, 20.0), near, ops.mul(ops.mul(root, 0.5), root)))


def _cosh_real(x: Any) -> Any:
    root = ops.exp(ops.mul(ops.abs(x), 0.5))
    power = ops.mul(root, root)
    near = ops.mul(ops.add(power, ops.reciprocal(power)), 0.5)
    return ops.where(ops.lt(ops.abs(x), 20.0), near, ops.mul(ops.mul(root, 0.5), root))


def _asinh_real(x: Any) -> Any:
    size = ops.abs(x)
    square = ops.square(size)
    near = ops.log1p(ops.add(size, ops.div.default(square, ops.add(ops.sqrt(ops.add(square, 1)), 1))))
    return odd(x, ops.where(ops.lt(size, LARGE), near, ops.add(ops.log(size), LOG_2)))


def _acosh_real(x: Any) -> Any:
    above = ops.sub(x, 1)
    near = ops.log1p(ops.add(above, ops.mul(ops.sqrt(above), ops.sqrt(ops.add(above, 2)))))
    return ops.where(ops.gt(x, LARGE), ops.add(ops.log(x), LOG_2), near)


def _acosh_complex(z: Any) -> Any:
    below, above = ops.sqrt(shifted(z, -1)), ops.sqrt(shifted(z, 1))
    imag = ops.mul(ops.atan(ops.div.default(ops.imag(below), ops.real(above))), 2)
    return complex_of(ops.asinh(ops.real(ops.mul(ops.conj(below), above))), imag)


def _atanh_real(x: Any) -> Any:
    size = ops.abs(x)
    return odd(x, ops.mul(ops.log1p(ops.div.default(ops.mul(size, 2), ops.rsub(size, 1.0))), 0.5))


composite("sinh", by_kind(_sinh_real, lambda z: over_i(ops.sin(times_i(z)))))
composite("cosh", by_kind(_cosh_real, lambda z: ops.cos(times_i(z))))
composite("asinh", by_kind(_asinh_real, lambda z: over_i(ops.asin(times_i(z)))))
composite("acosh", by_kind(_acosh_real, _acosh_complex))
composite("atanh", by_kind(_atanh_real, lambda z: over_i(ops.atan(times_i(z)))))

# --- angles ----------------------------------------------------------------------------------------------------

composite("deg2rad", computed(lambda self: ops.mul(self, math.pi / 180)))
composite("rad2deg", computed(lambda self: ops.mul(self, 180 / math.pi)))


@composite("angle")
def angle(self: Any) -> Any:
    if self.dtype.is_complex:
        return ops.atan2(ops.imag(self), ops.real(self))
    x = floating(self)
    turned = ops.where(ops.lt(x, 0), number(math.pi, x), number(0, x))
    return ops.where(ops.isnan(x), x, turned)


@composite("sinc")
@computed
def sinc(self: Any) -> Any:
    turns = ops.mul(self, math.pi)
    zero = ops.eq(self, 0)
    return ops.where(zero, number(1, self), ops.div.default(ops.sin(turns), turns))


# --- signs and parts -------------------------------------------------------------------------------------------

composite("frac", lambda self: ops.sub(self, ops.trunc(self)))


@composite("sgn")
def sgn(self: Any) -> Any:
    if not self.dtype.is_complex:
        return ops.sign(self)
    size = ops.abs(self)
    # Part by part, as one of them may be infinite.
    turned = complex_of(ops.div.default(ops.real(self), size), ops.div.default(ops.imag(self), size))
    return ops.where(ops.eq(size, 0), number(0, self), turned)


@composite("positive")
def positive(self: Any) -> Any:
    if self.dtype.kind == "bool":
        raise DtypeError("positive(): The `+` operator, on a bool tensor is not supported.")
    return self


@composite("signbit")
def signbit(self: Any) -> Any:
    if is_integral(self.dtype):
        return ops.lt(self, 0)
    # The inverse of a zero is infinite, with the sign of the zero.
    return ops.lt(ops.where(ops.eq(self, 0), ops.reciprocal(self), self), 0)


# --- tests -----------------------------------------------------------------------------------------------------


def _is(self: Any, value: float) -> Any:
    return ops.ne(self, self) if is_integral(self.dtype) else ops.eq(self, value)


composite("isposinf", lambda self: _is(self, math.inf))
composite("isneginf", lambda self: _is(self, -math.inf))


@composite("isreal")
def isreal(self: Any) -> Any:
    expect_strided("isreal", self)
    return ops.eq(ops.imag(self), 0) if self.dtype.is_complex else ops.ones_like(self, dtype=bool_)


@composite("nan_to_num")
def nan_to_num(self: Any, nan: float | None, posinf: float | None, neginf: float | None) -> Any:
    if is_integral(self.dtype):
        return ops.clone(self)
    if self.dtype.is_complex:
        parts = (nan_to_num(part(self), nan, posinf, neginf) for part in (ops.real, ops.imag))
        return complex_of(*parts)
    limits = finfo(self.dtype)
    most = limits.max if posinf is None else posinf
    least = limits.min if neginf is None else neginf
    result = ops.where(ops.isnan(self), number(0.0 if nan is None else nan, self), self)
    result = ops.where(ops.eq(self, math.inf), number(most, self), result)
    return ops.where(ops.eq(self, -math.inf), number(least, self), result)
