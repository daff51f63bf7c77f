"""Composites of two and three tensors, element by element."""

from __future__ import annotations

import math
from typing import Any, Final

from tt.core.composites.helpers import (
    as_type,
    check_shapes,
    is_integral,
    number,
    operand,
    python_value,
    widened,
)
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.dispatch.resolve.dtypes import common_dtype
from tt.core.errors import DtypeError
from tt.core.tensor.base import TensorBase
from tt.core.types.dtype import complex128, float64, int32, int64
from tt.core.types.promotion import get_default_dtype

composites: Final = CompositeTable()
composite = composites.composite


def promoted(*values: Any, floating: bool = False) -> list[Any]:
    """Return tensors and numbers as tensors of the dtype to which they promote together."""
    dtype = common_dtype(*values)
    if floating and is_integral(dtype):
        dtype = get_default_dtype()
    like = next(value for value in values if isinstance(value, TensorBase))
    return [
        as_type(value, dtype) if isinstance(value, TensorBase) else number(value, like, dtype)
        for value in values
    ]


# --- choosing --------------------------------------------------------------------------------------------------

composite("clamp_min", lambda self, min: ops.maximum(self, operand(min, self)))
composite("clamp_max", lambda self, max: ops.minimum(self, operand(max, self)))
composite("fmax", lambda self, other: _unless_nan(ops.ge(self, other), self, other))
composite("fmin", lambda self, other: _unless_nan(ops.le(self, other), self, other))


def _unless_nan(first: Any, self: Any, other: Any) -> Any:
    return ops.where(ops.logical_or(first, ops.isnan(other)), self, other)


@composite("heaviside")
def heaviside(self: Any, values: Any) -> Any:
    return ops.where(ops.eq(self, 0), values, as_type(ops.gt(self, 0), self.dtype))


# --- division --------------------------------------------------------------------------------------------------


@composite("fmod")
def fmod(self: Any, other: Any) -> Any:
    self, other = promoted(self, other)
    if not is_integral(self.dtype):
        # Of magnitudes the remainder is exact; subtracting the divisor afterwards would not be.
        return ops.copysign(ops.remainder(ops.abs(self), ops.abs(other)), self)
    rest = ops.remainder(self, other)
    if not self.dtype.is_signed:
        return rest
    wrong = ops.logical_and(ops.ne(rest, 0), ops.ne(ops.lt(self, 0), ops.lt(other, 0)))
    return ops.where(wrong, ops.sub(rest, other), rest)


@composite("gcd")
def gcd(self: Any, other: Any) -> Any:
    first, second = promoted(self, other)
    first = ops.bitwise_or(first, ops.zeros_like(second))  # in the shape of the result
    while python_value(ops.any(ops.ne(second, 0))):
        done = ops.eq(second, 0)
        rest = ops.remainder(first, ops.where(done, 1, second))
        first, second = ops.where(done, first, second), ops.where(done, second, rest)
    return _magnitude(first)


@composite("lcm")
def lcm(self: Any, other: Any) -> Any:
    self, other = promoted(self, other)
    divisor = ops.gcd(self, other)
    quotient = ops.floor_divide(self, ops.where(ops.eq(divisor, 0), 1, divisor))  # has no remainder
    return _magnitude(ops.mul(quotient, other))


def _magnitude(self: Any) -> Any:
    return ops.abs(self) if self.dtype.is_signed else self


# --- bits ------------------------------------------------------------------------------------------------------


def _number_first(name: str) -> Any:
    """Return a bitwise operator for a number as its first operand."""

    def composite(self: Any, other: Any) -> Any:
        return getattr(ops, name).default(operand(self, other), other)

    return composite


for _op in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"):
    composite(f"{_op}.Scalar", _number_first(_op))

# --- exponents -------------------------------------------------------------------------------------------------


@composite("float_power")
def float_power(self: Any, exponent: Any) -> Any:
    dtype = complex128 if common_dtype(self, exponent).is_complex else float64
    base, power = (as_type(v, dtype) if isinstance(v, TensorBase) else v for v in (self, exponent))
    return ops.pow(base if isinstance(base, TensorBase) else number(base, power, dtype), power)


composite("float_power.Scalar", float_power)


@composite("ldexp")
def ldexp(self: Any, other: Any) -> Any:
    whole = is_integral(other.dtype)
    exponent = other
    self, other = promoted(self, other, floating=True)
    if not whole:
        return ops.mul(self, ops.pow(2.0, other))
    # In three steps, none of which overflows where the result does not, and from float32 on in float64.
    result = as_type(self, complex128 if self.dtype.is_complex else float64)
    exponent = ops.clamp(as_type(exponent, int64), -3000, 3000)
    for parts in (3, 2, 1):
        step = ops.floor_divide(exponent, parts)
        result = ops.mul(result, ops.pow(2.0, as_type(step, float64)))
        exponent = ops.sub(exponent, step)
    return as_type(result, self.dtype)


@composite("frexp")
def frexp(self: Any) -> tuple[Any, Any]:
    x = as_type(self, float64)
    plain = ops.logical_and(ops.isfinite(x), ops.ne(x, 0))
    x = ops.where(plain, x, 1.0)
    # Subnormal numbers are lifted first, so that their logarithm and the scaling below are exact enough.
    tiny = ops.lt(ops.abs(x), 2.0**-1000)
    x = ops.where(tiny, ops.mul(x, 2.0**100), x)
    exponent = ops.floor(ops.div(ops.log(ops.abs(x)), math.log(2)))
    half = ops.floor(ops.div(exponent, 2))
    mantissa = ops.mul(ops.mul(x, ops.pow(2.0, ops.neg(half))), ops.pow(2.0, ops.sub(half, exponent)))
    # The logarithm may be off by one where it is nearly whole; the mantissa is to lie from 0.5 to below 1.
    for _ in range(2):
        large = ops.ge(ops.abs(mantissa), 1)
        mantissa = ops.where(large, ops.mul(mantissa, 0.5), mantissa)
        exponent = ops.add(exponent, as_type(large, float64))
    small = ops.lt(ops.abs(mantissa), 0.5)
    mantissa = ops.where(small, ops.mul(mantissa, 2.0), mantissa)
    exponent = ops.sub(ops.sub(exponent, as_type(small, float64)), ops.where(tiny, 100.0, 0.0))
    return (
        ops.where(plain, as_type(mantissa, self.dtype), self),
        as_type(ops.where(plain, exponent, 0.0), int32),
    )


# --- logarithms ------------------------------------------------------------------------------------------------


@composite("logaddexp")
def logaddexp(self: Any, other: Any) -> Any:
    self, other = promoted(self, other)
    if self.dtype.is_complex:
        swap = ops.lt(ops.real(self), ops.real(other))
        large, small = ops.where(swap, other, self), ops.where(swap, self, other)
        found = ops.add(large, ops.log1p(ops.exp(ops.sub(small, large))))
        # The difference of equal infinite parts is NaN.
        infinite = ops.logical_and(ops.isinf(ops.real(large)), ops.eq(ops.real(large), ops.real(small)))
        if python_value(ops.any(infinite)):
            sums = ops.log(ops.add(ops.exp(self), ops.exp(other)))
            found = ops.where(infinite, ops.where(ops.lt(ops.real(large), 0), large, sums), found)
        return found
    return _log_of_sum(self, other, 1.0)


@composite("logaddexp2")
def logaddexp2(self: Any, other: Any) -> Any:
    self, other = promoted(self, other)
    return _log_of_sum(self, other, math.log(2))


def _log_of_sum(self: Any, other: Any, unit: float) -> Any:
    """Return the logarithm of a sum of powers, from the larger power on; `unit` is the logarithm of the base."""
    dtype = self.dtype
    self, other = widened(self), widened(other)
    distance = ops.where(ops.eq(self, other), 0, ops.abs(ops.sub(self, other)))  # infinities have none
    rest = ops.log1p(ops.exp(ops.mul(distance, -unit)))
    return as_type(ops.add(ops.maximum(self, other), ops.div(rest, unit)), dtype)


composite("xlogy", lambda self, other: _product_with_log(ops.log, self, other))
composite("xlogy.Scalar", lambda self, other: ops.xlogy.default(operand(self, other), other))
composite("special_xlog1py", lambda self, other: _product_with_log(ops.log1p, self, other))
composite(
    "special_xlog1py.Scalar", lambda self, other: ops.special_xlog1py.default(operand(self, other), other)
)


def _product_with_log(logarithm: Any, self: Any, other: Any) -> Any:
    self, other = promoted(self, other, floating=True)
    zero = ops.logical_and(ops.eq(self, 0), ops.eq(other, other))
    return ops.where(zero, 0, ops.mul(self, logarithm(other)))


# --- geometry --------------------------------------------------------------------------------------------------


@composite("hypot")
def hypot(self: Any, other: Any) -> Any:
    a, b = (ops.abs(value) for value in promoted(self, other))
    large, small = ops.maximum(a, b), ops.minimum(a, b)
    infinite = ops.logical_or(ops.eq(a, math.inf), ops.eq(b, math.inf))  # also next to NaN
    ratio = ops.div(small, ops.where(ops.eq(large, 0), 1, large))
    length = ops.mul(large, ops.sqrt(ops.add(ops.mul(ratio, ratio), 1)))
    return ops.where(infinite, math.inf, length)


# --- three tensors ---------------------------------------------------------------------------------------------


def fitting_value(op: str, value: Any, self: Any) -> Any:
    """Return the factor of a product in the kind of the dtype for which it is: 2.5 of integers is 2."""
    if isinstance(value, complex) and not self.dtype.is_complex:
        raise DtypeError(f"{op}(): the value {value} cannot be converted to {self.dtype}")
    return int(value) if is_integral(self.dtype) else value


@composite("addcmul")
def addcmul(self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    self, tensor1, tensor2 = promoted(self, tensor1, tensor2)
    factor = fitting_value("addcmul", value, self)
    return ops.add(self, ops.mul(tensor1 if factor == 1 else ops.mul(tensor1, factor), tensor2))


@composite("addcdiv")
def addcdiv(self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    if is_integral(tensor1.dtype) and is_integral(tensor2.dtype):
        raise DtypeError(
            "addcdiv(): integers are not divided; convert tensor1 or tensor2 to floating point, or use "
            "self + value * div(tensor1, tensor2, rounding_mode='trunc')"
        )
    self, tensor1, tensor2 = promoted(self, tensor1, tensor2)
    factor, dtype = fitting_value("addcdiv", value, self), self.dtype
    self, tensor1, tensor2 = (widened(tensor) for tensor in (self, tensor1, tensor2))
    quotient = ops.div(tensor1, tensor2)
    return as_type(ops.add(self, quotient) if factor == 1 else ops.add(self, quotient, alpha=factor), dtype)


def lerp(self: Any, end: Any, weight: Any) -> Any:
    if isinstance(weight, complex) and not self.dtype.is_complex:
        raise DtypeError(f"lerp(): the weight {weight} cannot be converted to {self.dtype}")
    if isinstance(weight, TensorBase):
        if weight.ndim and weight.dtype is not self.dtype:
            raise DtypeError(
                f"lerp(): expected weight to have the dtype {self.dtype} of self, but got {weight.dtype}"
            )
        weight = as_type(weight, self.dtype)
        near = ops.lt(ops.abs(weight), 0.5)
        low, high = (_between(self, end, weight, first) for first in (True, False))
        return ops.where(near, low, high)
    return _between(self, end, weight, abs(weight) < 0.5)


composite("lerp", lerp)
composite("lerp.Scalar", lerp)


def _between(self: Any, end: Any, weight: Any, from_start: bool) -> Any:
    """Return self + weight * (end - self), counted from the nearer of the two, so that it meets both exactly."""
    span = ops.sub(end, self)
    if from_start:
        return ops.add(self, ops.mul(span, weight))
    return ops.sub(end, ops.mul(span, ops.rsub(weight, 1) if isinstance(weight, TensorBase) else 1 - weight))


# --- complex numbers -------------------------------------------------------------------------------------------

composite("conj_physical", lambda self: ops.conj(self))
composite("resolve_conj", lambda self: self)
composite("resolve_neg", lambda self: self)


@composite("view_as_real")
def view_as_real(self: Any) -> Any:
    check_shapes("view_as_real", self)
    if not self._spec.backend.has_views:
        return ops.stack([ops.real(self), ops.imag(self)], -1)
    return ops.view.dtype(ops.unsqueeze(self, -1), self.dtype.to_real())


@composite("view_as_complex")
def view_as_complex(self: Any) -> Any:
    check_shapes("view_as_complex", self)
    if not self._spec.backend.has_views:
        return ops.add(ops.select(self, -1, 0), ops.mul(ops.select(self, -1, 1), 1j))
    return ops.squeeze.dim(ops.view.dtype(self, self.dtype.to_complex()), -1)
