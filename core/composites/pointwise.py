"""Composites that work element by element."""

from __future__ import annotations

import math
from typing import Any, Final

from tt.core.composites.helpers import as_type, computed, floating, is_integral, operand, widened
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.dispatch.resolve.dtypes import common_dtype
from tt.core.errors import ArgumentError, DtypeError, ValueRangeError
from tt.core.tensor.base import TensorBase

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
def div_mode(self: Any, other: Any, rounding_mode: str) -> Any:
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
def div_optional_mode(self: Any, other: Any, rounding_mode: str | None) -> Any:
    if rounding_mode is None:
        return ops.div.default(self, other)
    return ops.div.mode(self, other, rounding_mode=rounding_mode)


@composite("clamp")
def clamp(self: Any, min: Any, max: Any) -> Any:
    if min is None and max is None:
        raise ArgumentError("clamp", "min and max are both None: give one of them")
    result = self if min is None else ops.maximum(self, operand(min, self))
    return result if max is None else ops.minimum(result, operand(max, self))


@composite("sigmoid")
@computed
def sigmoid(self: Any) -> Any:
    return ops.reciprocal(ops.add(ops.exp(ops.neg(self)), 1))


@composite("conj")
def conj(self: Any) -> Any:
    if not self.dtype.is_complex:
        return ops.clone(self)
    return ops.sub(ops.real(self), ops.mul(ops.imag(self), 1j))


# --- comparison and logic --------------------------------------------------------------------------------------

composite("gt", lambda self, other: ops.lt(operand(other, self), self))
composite("ge", lambda self, other: ops.le(operand(other, self), self))
composite("logical_not", lambda self: ops.eq(self, 0))
composite("logical_and", lambda self, other: ops.bitwise_and(ops.ne(self, 0), ops.ne(other, 0)))
composite("logical_or", lambda self, other: ops.bitwise_or(ops.ne(self, 0), ops.ne(other, 0)))
composite("logical_xor", lambda self, other: ops.bitwise_xor(ops.ne(self, 0), ops.ne(other, 0)))
composite("isnan", lambda self: ops.ne(self, self))


@composite("isinf")
def isinf(self: Any) -> Any:
    if is_integral(self.dtype):
        return ops.ne(self, self)
    if self.dtype.is_complex:
        return ops.bitwise_or(isinf(ops.real(self)), isinf(ops.imag(self)))
    return ops.eq(ops.abs(self), math.inf)


@composite("isfinite")
def isfinite(self: Any) -> Any:
    if is_integral(self.dtype):
        return ops.eq(self, self)
    if self.dtype.is_complex:
        return ops.bitwise_and(isfinite(ops.real(self)), isfinite(ops.imag(self)))
    return ops.lt(ops.abs(self), math.inf)


@composite("equal")
def equal(self: Any, other: Any) -> bool:
    return tuple(self.shape) == tuple(other.shape) and bool(ops.all(ops.eq(self, other)).item())


@composite("isclose")
def isclose(self: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    if self.dtype is not other.dtype:
        raise DtypeError(f"isclose(): {self.dtype} did not match {other.dtype}")
    if rtol < 0 or atol < 0:
        name, value = ("rtol", rtol) if rtol < 0 else ("atol", atol)
        raise ValueRangeError(f"isclose(): {name} is {value}; it cannot be negative")
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
def allclose(self: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> bool:
    return bool(ops.all(ops.isclose(self, other, rtol, atol, equal_nan)).item())


# --- selection -------------------------------------------------------------------------------------------------

composite("where.condition", lambda condition: list(ops.nonzero.as_tuple(condition, as_tuple=True)))
composite("max.other", lambda self, other: ops.maximum(self, other))
composite("min.other", lambda self, other: ops.minimum(self, other))
