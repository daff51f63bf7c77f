"""Composites that work element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import (
    DtypeError,
    ValueRangeError,
)
from tt.core.tensor.base import TensorBase
from tt.core.tensor.common_dtype import common_dtype
from tt.core.types.dtype import bool_, complex128, finfo, float64, int32, int64
from tt.core.types.promotion import get_default_dtype
from tt.operators.helpers import (
    as_type,
    computed,
    expect_strided,
    floating,
    is_integral,
    number,
    operand,
    python_value,
    widened,
)

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

# --- arithmetic ------------------------------------------------------------------------------------------------

composite("square", lambda self: ops.pow.default(self, 2))
composite("reciprocal", lambda self: ops.pow.default(floating(self), -1))
composite("rsqrt", computed(lambda self: ops.pow.default(ops.sqrt(self), -1)))
composite("rsub", lambda self, other, alpha: ops.sub(operand(other, self), self, alpha=alpha))
composite("remainder.Scalar", lambda self, other: ops.remainder.default(operand(self, other), other))
composite("pow.Scalar", lambda self, exponent: ops.pow.default(operand(self, exponent), exponent))


@composite("div.mode")
def div_mode(self: Tensor, other: Any, rounding_mode: str) -> Tensor:
    if rounding_mode == "floor":
        return ops.floor_divide(self, other)
    if rounding_mode != "trunc":
        raise ValueRangeError(f"div(): rounding_mode is None, 'trunc' or 'floor', not {rounding_mode!r}")
    dtype = common_dtype(self, other)
    if not is_integral(dtype):
        # The half dtypes in float32, or a quotient just below an integer would be rounded up before it is truncated.
        divisor = widened(other) if isinstance(other, TensorBase) else other
        return as_type(ops.trunc(ops.div.default(widened(self), divisor)), dtype)
    quotient = ops.floor_divide(self, other)
    if not dtype.is_signed:
        return quotient
    # Where the signs differ and something is left, rounding down went one too far.
    inexact = ops.ne(ops.mul(quotient, other), self)
    negative = ops.ne(ops.lt(self, 0), ops.lt(operand(other, self), 0))
    return ops.add(quotient, as_type(ops.bitwise_and(inexact, negative), quotient.dtype))


@composite("div.optional_mode")
def div_optional_mode(self: Tensor, other: Any, rounding_mode: str | None) -> Tensor:
    if rounding_mode is None:
        return ops.div.default(self, other)
    return ops.div.mode(self, other, rounding_mode=rounding_mode)


@composite("clamp")
def clamp(self: Tensor, min: Any, max: Any) -> Tensor:
    if min is None and max is None:
        raise ValueRangeError("clamp(): min and max are both None: give one of them")
    result = self if min is None else ops.maximum(self, operand(min, self))
    return result if max is None else ops.minimum(result, operand(max, self))


@composite("sigmoid")
@computed
def sigmoid(self: Tensor) -> Tensor:
    return ops.reciprocal(ops.add(ops.exp(ops.neg(self)), 1))


@composite("conj")
def conj(self: Tensor) -> Tensor:
    if not self.dtype.is_complex:
        return ops.clone(self)
    return ops.sub(ops.real(self), ops.mul(ops.imag(self), 1j))


# --- comparison and logic --------------------------------------------------------------------------------------

# Swapped, not negated: a comparison with NaN is false either way.
composite("gt", lambda self, other: ops.lt(operand(other, self), self))
composite("ge", lambda self, other: ops.le(operand(other, self), self))
composite("logical_not", lambda self: ops.eq(self, 0))
composite("logical_and", lambda self, other: ops.bitwise_and(ops.ne(self, 0), ops.ne(other, 0)))
composite("logical_or", lambda self, other: ops.bitwise_or(ops.ne(self, 0), ops.ne(other, 0)))
composite("logical_xor", lambda self, other: ops.bitwise_xor(ops.ne(self, 0), ops.ne(other, 0)))
# Only NaN differs from itself; of integers this is False everywhere.
composite("isnan", lambda self: ops.ne(self, self))


@composite("isinf")
def isinf(self: Tensor) -> Tensor:
    if is_integral(self.dtype):
        # False everywhere, in the shape and on the device of the tensor.
        return ops.ne(self, self)
    if self.dtype.is_complex:
        return ops.bitwise_or(isinf(ops.real(self)), isinf(ops.imag(self)))
    return ops.eq(ops.abs(self), math.inf)


@composite("isfinite")
def isfinite(self: Tensor) -> Tensor:
    if is_integral(self.dtype):
        return ops.eq(self, self)
    if self.dtype.is_complex:
        return ops.bitwise_and(isfinite(ops.real(self)), isfinite(ops.imag(self)))
    return ops.lt(ops.abs(self), math.inf)


@composite("equal")
def equal(self: Tensor, other: Tensor) -> bool:
    # Shapes first: the comparison would broadcast.
    return tuple(self.shape) == tuple(other.shape) and bool(ops.all(ops.eq(self, other)).item())


@composite("isclose")
def isclose(self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    if self.dtype is not other.dtype:
        raise DtypeError(f"isclose(): {self.dtype} did not match {other.dtype}")
    if rtol < 0 or atol < 0:
        name, value = ("rtol", rtol) if rtol < 0 else ("atol", atol)
        raise ValueRangeError(f"isclose(): {name} is {value}; it cannot be negative")
    # Equal infinities are close, but their difference is NaN.
    close = ops.eq(self, other)
    if equal_nan and not is_integral(self.dtype):
        close = ops.logical_or(close, ops.logical_and(ops.isnan(self), ops.isnan(other)))
    if rtol == 0 and atol == 0:
        return close
    if is_integral(self.dtype):
        # In the default dtype the difference of integers neither overflows nor is refused.
        self, other = as_type(self, common_dtype(self, 1.0)), as_type(other, common_dtype(other, 1.0))
    allowed = ops.add(ops.mul(ops.abs(other), rtol), atol)
    difference = ops.abs(ops.sub(self, other))
    return ops.logical_or(close, ops.logical_and(ops.isfinite(difference), ops.le(difference, allowed)))


@composite("allclose")
def allclose(self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> bool:
    return bool(ops.all(ops.isclose(self, other, rtol, atol, equal_nan)).item())


# --- selection -------------------------------------------------------------------------------------------------

composite("where.condition", lambda condition: list(ops.nonzero.as_tuple(condition, as_tuple=True)))
composite("max.other", lambda self, other: ops.maximum(self, other))
composite("min.other", lambda self, other: ops.minimum(self, other))


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


def _unless_nan(first: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return ops.where(ops.logical_or(first, ops.isnan(other)), self, other)


@composite("heaviside")
def heaviside(self: Tensor, values: Tensor) -> Tensor:
    return ops.where(ops.eq(self, 0), values, as_type(ops.gt(self, 0), self.dtype))


# --- division --------------------------------------------------------------------------------------------------


@composite("fmod")
def fmod(self: Tensor, other: Any) -> Tensor:
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
def gcd(self: Tensor, other: Tensor) -> Any:
    first, second = promoted(self, other)
    first = ops.bitwise_or(first, ops.zeros_like(second))  # in the shape of the result
    # Euclid's algorithm for all elements at once: the number of steps is logarithmic in the largest.
    while python_value(ops.any(ops.ne(second, 0))):
        done = ops.eq(second, 0)
        rest = ops.remainder(first, ops.where(done, 1, second))
        first, second = ops.where(done, first, second), ops.where(done, second, rest)
    return _magnitude(first)


@composite("lcm")
def lcm(self: Tensor, other: Tensor) -> Any:
    self, other = promoted(self, other)
    divisor = ops.gcd(self, other)
    # Divided first: the product of both may overflow where the result does not.
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
def float_power(self: Any, exponent: Any) -> Tensor:
    dtype = complex128 if common_dtype(self, exponent).is_complex else float64
    base, power = (as_type(v, dtype) if isinstance(v, TensorBase) else v for v in (self, exponent))
    return ops.pow(base if isinstance(base, TensorBase) else number(base, power, dtype), power)


composite("float_power.Scalar", float_power)


@composite("ldexp")
def ldexp(self: Tensor, other: Tensor) -> Tensor:
    whole = is_integral(other.dtype)
    exponent = other
    self, other = promoted(self, other, floating=True)
    if not whole:
        return ops.mul(self, ops.pow(2.0, other))
    # In three steps, none of which overflows where the result does not, and from float32 on in float64.
    result = as_type(self, complex128 if self.dtype.is_complex else float64)
    # Beyond 3000 every float64 has become 0 or infinite; within, a third of it has a finite power, so 0 stays
    # 0.
    exponent = ops.clamp(as_type(exponent, int64), -3000, 3000)
    for parts in (3, 2, 1):
        step = ops.floor_divide(exponent, parts)
        result = ops.mul(result, ops.pow(2.0, as_type(step, float64)))
        exponent = ops.sub(exponent, step)
    return as_type(result, self.dtype)


@composite("frexp")
def frexp(self: Tensor) -> tuple[Any, Any]:
    x = as_type(self, float64)
    plain = ops.logical_and(ops.isfinite(x), ops.ne(x, 0))
    x = ops.where(plain, x, 1.0)
    # Subnormal numbers are lifted first, so that their logarithm and the scaling below are exact enough.
    tiny = ops.lt(ops.abs(x), 2.0**-1000)
    x = ops.where(tiny, ops.mul(x, 2.0**100), x)
    exponent = ops.floor(ops.div(ops.log(ops.abs(x)), math.log(2)))
    # Two factors: 2 ** -exponent of the largest numbers is subnormal, which some devices take for 0.
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
def logaddexp(self: Tensor, other: Tensor) -> Tensor:
    self, other = promoted(self, other)
    if self.dtype.is_complex:
        # From the larger one on, so that the exponential is at most 1.
        swap = ops.lt(ops.real(self), ops.real(other))
        large, small = ops.where(swap, other, self), ops.where(swap, self, other)
        result = ops.add(large, ops.log1p(ops.exp(ops.sub(small, large))))
        # The difference of equal infinite parts is NaN.
        infinite = ops.logical_and(ops.isinf(ops.real(large)), ops.eq(ops.real(large), ops.real(small)))
        if python_value(ops.any(infinite)):
            sums = ops.log(ops.add(ops.exp(self), ops.exp(other)))
            result = ops.where(infinite, ops.where(ops.lt(ops.real(large), 0), large, sums), result)
        return result
    return _log_of_sum(self, other, 1.0)


@composite("logaddexp2")
def logaddexp2(self: Tensor, other: Tensor) -> Tensor:
    self, other = promoted(self, other)
    return _log_of_sum(self, other, math.log(2))


def _log_of_sum(self: Tensor, other: Tensor, unit: float) -> Tensor:
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


def _product_with_log(logarithm: Any, self: Tensor, other: Tensor) -> Tensor:
    self, other = promoted(self, other, floating=True)
    # NaN in the second operand stays NaN: it equals nothing.
    zero = ops.logical_and(ops.eq(self, 0), ops.eq(other, other))
    return ops.where(zero, 0, ops.mul(self, logarithm(other)))


# --- geometry --------------------------------------------------------------------------------------------------


@composite("hypot")
def hypot(self: Tensor, other: Tensor) -> Tensor:
    a, b = (ops.abs(value) for value in promoted(self, other))
    large, small = ops.maximum(a, b), ops.minimum(a, b)
    infinite = ops.logical_or(ops.eq(a, math.inf), ops.eq(b, math.inf))  # also next to NaN
    # At most 1, so its square cannot overflow.
    ratio = ops.div(small, ops.where(ops.eq(large, 0), 1, large))
    length = ops.mul(large, ops.sqrt(ops.add(ops.mul(ratio, ratio), 1)))
    return ops.where(infinite, math.inf, length)


# --- three tensors ---------------------------------------------------------------------------------------------


def fitting_value(op: str, value: Any, self: Tensor) -> Any:
    """Return the factor of a product in the kind of the dtype for which it is: 2.5 of integers is 2."""
    if isinstance(value, complex) and not self.dtype.is_complex:
        raise DtypeError(f"{op}(): the value {value} cannot be converted to {self.dtype}")
    return int(value) if is_integral(self.dtype) else value


@composite("addcmul")
def addcmul(self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any) -> Tensor:
    self, tensor1, tensor2 = promoted(self, tensor1, tensor2)
    factor = fitting_value("addcmul", value, self)
    return ops.add(self, ops.mul(tensor1 if factor == 1 else ops.mul(tensor1, factor), tensor2))


@composite("addcdiv")
def addcdiv(self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any) -> Tensor:
    if is_integral(tensor1.dtype) and is_integral(tensor2.dtype):
        raise DtypeError(
            "addcdiv(): integers are not divided; convert tensor1 or tensor2 to floating point, or use "
            "self + value * div(tensor1, tensor2, rounding_mode='trunc')"
        )
    self, tensor1, tensor2 = promoted(self, tensor1, tensor2)
    factor, dtype = fitting_value("addcdiv", value, self), self.dtype
    # Half precision would round the quotient before it is added.
    self, tensor1, tensor2 = (widened(tensor) for tensor in (self, tensor1, tensor2))
    quotient = ops.div(tensor1, tensor2)
    return as_type(ops.add(self, quotient) if factor == 1 else ops.add(self, quotient, alpha=factor), dtype)


def lerp(self: Tensor, end: Tensor, weight: Any) -> Tensor:
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


def _between(self: Tensor, end: Tensor, weight: Any, from_start: bool) -> Tensor:
    """Return self + weight * (end - self), counted from the nearer of the two, so that it meets both exactly."""
    span = ops.sub(end, self)
    if from_start:
        return ops.add(self, ops.mul(span, weight))
    return ops.sub(end, ops.mul(span, ops.rsub(weight, 1) if isinstance(weight, TensorBase) else 1 - weight))


# --- complex numbers -------------------------------------------------------------------------------------------

composite("conj_physical", lambda self: ops.conj(self))
composite("resolve_conj", lambda self: self)
composite("resolve_neg", lambda self: self)


LOG_2: Final = math.log(2)
LARGE: Final = 1e8
"""From here on 1 vanishes against a square, in float64 too."""


def odd(x: Tensor, magnitude: Tensor) -> Tensor:
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
    def choose(self: Tensor) -> Any:
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
        natural = ops.log(z)
        return complex_of(
            ops.div.default(ops.real(natural), scale), ops.div.default(ops.imag(natural), scale)
        )

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


def _asin_real(x: Tensor) -> Tensor:
    # (1 - x) (1 + x) keeps the digits near 1 that 1 - x * x loses.
    return ops.atan(ops.div.default(x, ops.sqrt(ops.mul(ops.rsub(x, 1.0), ops.add(x, 1)))))


def _acos_real(x: Tensor) -> Tensor:
    return ops.mul(ops.atan(ops.sqrt(ops.div.default(ops.rsub(x, 1.0), ops.add(x, 1)))), 2)


composite("asin", by_kind(_asin_real, _asin_complex))
composite("acos", by_kind(_acos_real, _acos_complex))

# --- hyperbolic functions --------------------------------------------------------------------------------------


def _sinh_real(x: Tensor) -> Tensor:
    # Near 0 by expm1, which loses no digits; far from it in two factors, the product of which overflows last.
    size = ops.abs(x)
    less_one, root = ops.expm1(size), ops.exp(ops.mul(size, 0.5))
    near = ops.mul(ops.add(less_one, ops.div.default(less_one, ops.add(less_one, 1))), 0.5)
    return odd(x, ops.where(ops.lt(size, 20.0), near, ops.mul(ops.mul(root, 0.5), root)))


def _cosh_real(x: Tensor) -> Tensor:
    root = ops.exp(ops.mul(ops.abs(x), 0.5))
    power = ops.mul(root, root)
    near = ops.mul(ops.add(power, ops.reciprocal(power)), 0.5)
    return ops.where(ops.lt(ops.abs(x), 20.0), near, ops.mul(ops.mul(root, 0.5), root))


def _asinh_real(x: Tensor) -> Tensor:
    size = ops.abs(x)
    square = ops.square(size)
    # sqrt(x^2 + 1) - 1 without cancellation: x^2 / (sqrt(x^2 + 1) + 1).
    near = ops.log1p(ops.add(size, ops.div.default(square, ops.add(ops.sqrt(ops.add(square, 1)), 1))))
    return odd(x, ops.where(ops.lt(size, LARGE), near, ops.add(ops.log(size), LOG_2)))


def _acosh_real(x: Tensor) -> Tensor:
    # Exact near 1, where the result is about sqrt(2 (x - 1)).
    above = ops.sub(x, 1)
    near = ops.log1p(ops.add(above, ops.mul(ops.sqrt(above), ops.sqrt(ops.add(above, 2)))))
    return ops.where(ops.gt(x, LARGE), ops.add(ops.log(x), LOG_2), near)


def _acosh_complex(z: Any) -> Any:
    below, above = ops.sqrt(shifted(z, -1)), ops.sqrt(shifted(z, 1))
    imag = ops.mul(ops.atan(ops.div.default(ops.imag(below), ops.real(above))), 2)
    return complex_of(ops.asinh(ops.real(ops.mul(ops.conj(below), above))), imag)


def _atanh_real(x: Tensor) -> Tensor:
    size = ops.abs(x)
    # log((1 + x) / (1 - x)) / 2, written so that small numbers keep their digits.
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
def angle(self: Tensor) -> Tensor:
    if self.dtype.is_complex:
        return ops.atan2(ops.imag(self), ops.real(self))
    x = floating(self)
    turned = ops.where(ops.lt(x, 0), number(math.pi, x), number(0, x))
    return ops.where(ops.isnan(x), x, turned)


@composite("sinc")
@computed
def sinc(self: Tensor) -> Tensor:
    turns = ops.mul(self, math.pi)
    zero = ops.eq(self, 0)
    return ops.where(zero, number(1, self), ops.div.default(ops.sin(turns), turns))


# --- signs and parts -------------------------------------------------------------------------------------------

composite("frac", lambda self: ops.sub(self, ops.trunc(self)))


@composite("sgn")
def sgn(self: Tensor) -> Tensor:
    if not self.dtype.is_complex:
        return ops.sign(self)
    size = ops.abs(self)
    # Part by part, as one of them may be infinite.
    turned = complex_of(ops.div.default(ops.real(self), size), ops.div.default(ops.imag(self), size))
    return ops.where(ops.eq(size, 0), number(0, self), turned)


@composite("positive")
def positive(self: Tensor) -> Tensor:
    if self.dtype.kind == "bool":
        raise DtypeError("positive(): The `+` operator, on a bool tensor is not supported.")
    return self


@composite("signbit")
def signbit(self: Tensor) -> Tensor:
    if is_integral(self.dtype):
        return ops.lt(self, 0)
    # The inverse of a zero is infinite, with the sign of the zero.
    return ops.lt(ops.where(ops.eq(self, 0), ops.reciprocal(self), self), 0)


# --- tests -----------------------------------------------------------------------------------------------------


def _is(self: Tensor, value: float) -> Tensor:
    return ops.ne(self, self) if is_integral(self.dtype) else ops.eq(self, value)


composite("isposinf", lambda self: _is(self, math.inf))
composite("isneginf", lambda self: _is(self, -math.inf))


@composite("isreal")
def isreal(self: Tensor) -> Tensor:
    expect_strided("isreal", self)
    return ops.eq(ops.imag(self), 0) if self.dtype.is_complex else ops.ones_like(self, dtype=bool_)


@composite("nan_to_num")
def nan_to_num(self: Tensor, nan: float | None, posinf: float | None, neginf: float | None) -> Any:
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


@composite("complex")
def complex_(real: Tensor, imag: Tensor) -> Tensor:
    _expect_parts("complex", real, imag)
    return ops.view_as_complex(ops.stack(list(ops.broadcast_tensors([real, imag])), -1))


@composite("polar")
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    _expect_parts("polar", abs, angle)
    return ops.complex(ops.mul(abs, ops.cos(angle)), ops.mul(abs, ops.sin(angle)))


def _expect_parts(op: str, *parts: Any) -> None:
    first, second = (part.dtype for part in parts)
    if first is not second:
        raise DtypeError(f"{op}(): both parts must have one dtype, but they have {first} and {second}")
    if first.name not in ("float32", "float64"):
        raise DtypeError(f"{op}(): takes parts of float32 or float64, not of {first}")
