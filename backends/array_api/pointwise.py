"""Kernels that work element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tt.backends.array_api.creation import complex_of_parts, fitting
from tt.backends.array_api.namespace import Namespace
from tt.backends.array_api.table import NamespaceTable
from tt.core.library import errors, fitted_number, result_type, warn_user

__all__ = ["check_alpha", "check_rounding", "erf", "table"]

table = NamespaceTable()


def check_alpha(op: str, integral: bool, boolean: bool, is_complex: bool, alpha: Any) -> None:
    """Raise unless the factor fits the dtype of the result."""
    if isinstance(alpha, complex) and not is_complex:
        raise errors.DtypeError(f"{op}(): alpha is a complex number, which the tensors are not")
    if isinstance(alpha, bool) and not boolean:
        raise errors.DtypeError(f"{op}(): alpha is a bool, which the result is not")
    if (integral or boolean) and isinstance(alpha, float | complex):
        raise errors.DtypeError(f"{op}(): alpha is a floating point number, and the tensors are integral")


def check_rounding(rounding_mode: str) -> None:
    """Raise unless the rounding of a quotient has a known name."""
    if rounding_mode not in ("floor", "trunc"):
        raise errors.ValueRangeError(
            f"div(): rounding_mode is None, 'trunc' or 'floor', not {rounding_mode!r}"
        )


# --- arithmetic ------------------------------------------------------------------------------------------------


def scaled(xp: Namespace, op: str, self: Any, other: Any, alpha: Any) -> Any:
    """Return `alpha * other` as an array of the dtype of self."""
    other = xp.operand(other, self)
    # True equals 1, but only bools may be scaled by it; check_alpha decides below.
    if alpha == 1 and not isinstance(alpha, bool):
        return other
    boolean = xp.is_kind(self, "bool")
    is_complex = xp.is_kind(self, "complex floating")
    check_alpha(op, xp.is_kind(self, "integral"), boolean, is_complex, alpha)
    if boolean:
        return xp.logical_and(other, xp.number(bool(alpha), xp.bool))
    return other * xp.operand(fitted_number(alpha, xp.dtype_of(self)), self)


@table.kernel("add")
def add(xp: Namespace, self: Any, other: Any, alpha: Any) -> Any:
    other = scaled(xp, "add", self, other, alpha)
    return xp.logical_or(self, other) if xp.is_kind(self, "bool") else xp.add(self, other)


@table.kernel("sub", dtypes="number")
def sub(xp: Namespace, self: Any, other: Any, alpha: Any) -> Any:
    return xp.subtract(self, scaled(xp, "sub", self, other, alpha))


@table.kernel("mul")
def mul(xp: Namespace, self: Any, other: Any) -> Any:
    other = xp.operand(other, self)
    return xp.logical_and(self, other) if xp.is_kind(self, "bool") else xp.multiply(self, other)


@table.kernel("pow", dtypes="number")
def power(xp: Namespace, self: Any, exponent: Any) -> Any:
    if xp.is_kind(self, "integral"):
        if not xp.is_array(exponent) and exponent < 0:
            raise errors.DtypeError("pow(): Integers to negative integer powers are not allowed.")
        if not xp.is_array(exponent):
            return xp.pow(self, xp.operand(exponent, self))
        return _integer_power(xp, self, exponent)
    return xp.pow(self, xp.operand(exponent, self))


@table.kernel("pow.Scalar", dtypes="number")
def power_of_number(xp: Namespace, self: Any, exponent: Any) -> Any:
    return power(xp, xp.asarray(self, dtype=exponent.dtype), exponent)


table.kernel(
    "neg",
    # Two's complement wraps around like PyTorch, in every library.
    lambda xp, self: ~self + 1 if xp.is_kind(self, "unsigned integer") else xp.negative(self),
    dtypes="number",
)
table.functions("abs square", dtypes="number")
table.kernel(
    "sign",
    lambda xp, self: xp.copy(self) if xp.is_kind(self, "bool") else _sign(xp, self),
    dtypes="real",
)
table.kernel("reciprocal", lambda xp, self: 1 / self, dtypes="floating_complex")
table.kernel(
    "conj",
    lambda xp, self: xp.conj(self) if xp.is_kind(self, "complex floating") else xp.copy(self),
    half="native",
)


def _integer_power(xp: Namespace, self: Any, exponent: Any) -> Any:
    """Return integer powers; a negative exponent gives the rounded inverse: 0, 1 or -1."""
    if xp.is_kind(exponent, "unsigned integer"):
        return xp.pow(self, exponent)
    negative = exponent < 0
    zero, one = xp.operand(0, self), xp.operand(1, self)
    # Libraries raise for negative integer exponents, so these become 0 and their results are replaced.
    result = xp.pow(self, xp.where(negative, zero, exponent))
    odd_sign = xp.where(exponent % xp.operand(2, self) == 0, one, self)
    inverse = xp.where(self == 1, one, xp.where(self == -1, odd_sign, zero))
    return xp.where(negative, inverse, result)


def _sign(xp: Namespace, self: Any) -> Any:
    """Return the sign; it is 0 for NaN, as in PyTorch."""
    sign = xp.sign(self)
    if not xp.is_kind(self, "real floating"):
        return sign
    return xp.backend.ordered_as(xp.where(self != self, xp.operand(0, self), sign), self)


@table.kernel("div", dtypes="floating_complex")
def div(xp: Namespace, self: Any, other: Any) -> Any:
    return xp.divide(self, xp.operand(other, self))


@table.kernel("floor_divide", dtypes="real_number")
def floor_divide(xp: Namespace, self: Any, other: Any) -> Any:
    if xp.is_kind(self, "integral"):
        xp.refuse_zero(self, other)
        return xp.floor_divide(self, xp.operand(other, self))
    return _floor_quotient(xp, self, xp.operand(other, self))


@table.kernel("div.mode", dtypes="real_number")
def div_mode(xp: Namespace, self: Any, other: Any, rounding_mode: str) -> Any:
    check_rounding(rounding_mode)
    if rounding_mode == "floor":
        return floor_divide(xp, self, other)
    if not xp.is_kind(self, "integral"):
        return xp.trunc(xp.divide(self, xp.operand(other, self)))
    xp.refuse_zero(self, other)
    other = xp.operand(other, self)
    # Where the signs differ and something is left, rounding down went one too far.
    quotient = xp.floor_divide(self, other)
    inexact = (quotient * other != self) & ((self < 0) != (other < 0))
    return xp.where(inexact, quotient + xp.operand(1, self), quotient)


@table.kernel("remainder", dtypes="real_number")
def remainder(xp: Namespace, self: Any, other: Any) -> Any:
    if xp.is_kind(self, "integral"):
        xp.refuse_zero(self, other)
    return xp.remainder(self, xp.operand(other, self))


table.kernel(
    "remainder.Scalar",
    lambda xp, self, other: remainder(xp, xp.operand(self, other), other),
    dtypes="real_number",
)


def _floor_quotient(xp: Namespace, self: Any, other: Any) -> Any:
    """Return the quotient rounded down; division by zero gives the same as true division."""
    # PyTorch's div_floor_floating: an exact multiple is divided, and its quotient, next to an integer, is
    # rounded to it.
    modulus = xp.remainder(self, other)
    quotient = (self - modulus) / other
    rounded = xp.floor(quotient)
    rounded = xp.where(quotient - rounded > 0.5, rounded + 1, rounded)
    rounded = xp.where(rounded == 0, self / other * 0, rounded)  # a zero has the sign of the exact quotient
    # By an infinite number the quotient is a zero, or the next below it.
    beyond = xp.where((self == 0) | ((self < 0) == (other < 0)), self / other, xp.number(-1.0, self.dtype))
    rounded = xp.where(xp.isinf(other) & xp.isfinite(self), beyond, rounded)
    return xp.where(other == 0, self / other, rounded)


# --- functions of one argument ---------------------------------------------------------------------------------


table.functions(
    "exp expm1 log log1p log2 log10 sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh",
    dtypes="floating_complex",
)
table.functions("floor ceil trunc", dtypes="real_number")
table.functions("signbit", dtypes="floating")
table.kernel("rsqrt", lambda xp, self: 1 / xp.sqrt(self), dtypes="floating_complex")
table.kernel("sigmoid", lambda xp, self: 1 / (1 + xp.exp(-self)), dtypes="complex")


@table.kernel("round", dtypes="real_number")
def round_to_integers(xp: Namespace, self: Any) -> Any:
    rounded = xp.round(self)
    # NumPy 2.1 returns integers themselves.
    return xp.asarray(rounded, copy=True) if rounded is self else rounded


@table.kernel("round", dtypes="floating")
def round_decimals(xp: Namespace, self: Any, decimals: int) -> Any:
    if decimals == 0:
        return xp.round(self)
    # A power of 10 with a positive exponent is exact up to 10**22; one with a negative exponent never is.
    factor = 10.0 ** abs(decimals)
    return xp.round(self * factor) / factor if decimals > 0 else xp.round(self / factor) * factor


@table.kernel("sigmoid", dtypes="floating")
def sigmoid(xp: Namespace, self: Any) -> Any:
    """Return 1 / (1 + exp(-x)) without overflow."""
    small = xp.exp(-xp.abs(self))
    return xp.where(self >= 0, 1 / (1 + small), small / (1 + small))


_ERF_TERMS = 50


@table.kernel("erf", dtypes="floating")
def erf(xp: Namespace, self: Any) -> Any:
    """Return the error function: its series near 0, the continued fraction of erfc elsewhere.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.6 and 7.1.14.
    """
    x = xp.abs(self)
    # `where` computes both branches for all elements: each gets arguments at which it converges.
    near = xp.where(x < 2.5, x, xp.zeros_like(x))
    square = near * near
    term = total = near
    for n in range(1, _ERF_TERMS):
        term = term * square * (2.0 / (2 * n + 1))
        total = total + term
    series = 2.0 / math.sqrt(math.pi) * xp.exp(-square) * total
    far = xp.where(x < 2.5, xp.full_like(x, 2.5), xp.where(x > 30.0, xp.full_like(x, 30.0), x))
    fraction = far
    # A continued fraction is evaluated from its innermost term.
    for n in range(_ERF_TERMS, 0, -1):
        fraction = far + (n / 2.0) / fraction
    tail = 1 - xp.exp(-far * far) / (fraction * math.sqrt(math.pi))
    result = xp.where(x < 2.5, series, tail)
    result = xp.where(self < 0, -result, result)
    return xp.where((self == 0) | (self != self), self, result)  # with the sign of zero


# --- comparison ------------------------------------------------------------------------------------------------


def pair(xp: Namespace, self: Any, other: Any) -> tuple[Any, Any]:
    """Return two operands that the standard's functions order: bools as numbers."""
    return xp.as_number(self), xp.as_number(xp.operand(other, self))


def comparison(name: str, above: bool, below: bool) -> Callable[[Namespace, Any, Any], Any]:
    """Return a comparison by a function of the standard; its result for integers above and below 64 bits is given."""

    def compare(xp: Namespace, self: Any, other: Any) -> Any:
        # No library takes them, but every element of an integral array is on the same side.
        if type(other) is int and not -(2**63) <= other < 2**64 and xp.is_kind(self, ("bool", "integral")):
            return xp.full(tuple(self.shape), above if other > 0 else below, dtype=xp.bool)
        compared = (self, xp.operand(other, self)) if above is below else pair(xp, self, other)
        return getattr(xp, name)(*compared)

    return compare


for _op, _name, _above, _below in (
    ("eq", "equal", False, False), ("ne", "not_equal", True, True), ("lt", "less", True, False),
    ("le", "less_equal", True, False), ("gt", "greater", False, True), ("ge", "greater_equal", False, True),
):  # fmt: skip
    table.kernel(
        _op, comparison(_name, _above, _below), dtypes="all" if _above is _below else "real", half="native"
    )


@table.kernel("equal", half="native")
def equal(xp: Namespace, self: Any, other: Any) -> bool:
    return tuple(self.shape) == tuple(other.shape) and bool(xp.all(xp.equal(self, other)))


@table.kernel("maximum", dtypes="real")
def maximum(xp: Namespace, self: Any, other: Any) -> Any:
    return xp.astype(xp.maximum(*pair(xp, self, other)), self.dtype, copy=False)


@table.kernel("minimum", dtypes="real")
def minimum(xp: Namespace, self: Any, other: Any) -> Any:
    return xp.astype(xp.minimum(*pair(xp, self, other)), self.dtype, copy=False)


# --- logic and bits --------------------------------------------------------------------------------------------


def truth(xp: Namespace, value: Any) -> Any:
    """Return whether each element differs from zero."""
    return value if xp.is_kind(value, "bool") else value != xp.operand(0, value)


table.kernel(
    "logical_and", lambda xp, self, other: xp.logical_and(truth(xp, self), truth(xp, other)), half="native"
)
table.kernel(
    "logical_or", lambda xp, self, other: xp.logical_or(truth(xp, self), truth(xp, other)), half="native"
)
table.kernel(
    "logical_xor", lambda xp, self, other: xp.logical_xor(truth(xp, self), truth(xp, other)), half="native"
)
table.kernel("logical_not", lambda xp, self: xp.logical_not(truth(xp, self)), half="native")
table.kernel(
    "bitwise_and",
    lambda xp, self, other: xp.bitwise_and(self, xp.operand(other, self)),
    dtypes="integral_bool",
)
table.kernel(
    "bitwise_or",
    lambda xp, self, other: xp.bitwise_or(self, xp.operand(other, self)),
    dtypes="integral_bool",
)
table.kernel(
    "bitwise_xor",
    lambda xp, self, other: xp.bitwise_xor(self, xp.operand(other, self)),
    dtypes="integral_bool",
)
table.functions({"bitwise_not": "bitwise_invert"}, dtypes="integral_bool")
table.kernel("isnan", lambda xp, self: self != self)
table.kernel("isinf", lambda xp, self: _test(xp, xp.isinf, self, False))
table.kernel("isfinite", lambda xp, self: _test(xp, xp.isfinite, self, True))


def _test(xp: Namespace, function: Any, self: Any, otherwise: bool) -> Any:
    """Return a test of floating point numbers; bools and integers all have the other answer."""
    if xp.is_kind(self, ("real floating", "complex floating")):
        return function(self)
    # Compared with themselves, since a new array of one value has no order in memory to follow.
    return self == self if otherwise else self != self


# --- selection -------------------------------------------------------------------------------------------------


@table.kernel("where", half="native")
def where(xp: Namespace, condition: Any, self: Any, other: Any) -> Any:
    like = self if xp.is_array(self) else other
    if not xp.is_array(like):
        native = xp.backend.native_dtype(result_type(self, other))
        self, other = xp.number(self, native), xp.number(other, native)
    else:
        # Negative integers wrap into unsigned dtypes, as in PyTorch.
        self, other = (
            x if xp.is_array(x) else xp.number(fitting(xp, x, like.dtype), like.dtype) for x in (self, other)
        )
    if condition.dtype == xp.uint8:
        warn_user("where(): a condition of uint8 is deprecated\n  try: condition.bool()")
        condition = xp.backend.cast(condition, xp.bool)
    if not xp.is_kind(condition, "bool"):
        raise errors.DtypeError(f"where(): the condition has the dtype bool, not {condition.dtype}")
    return xp.where(condition, self, other)


@table.kernel("clamp", dtypes="real_number")
def clamp(xp: Namespace, self: Any, min: Any, max: Any) -> Any:
    if min is None and max is None:
        raise errors.ValueRangeError("clamp(): min and max are both None: give one of them")
    # Negative integers wrap into unsigned dtypes, as in PyTorch.
    low, high = (
        x if x is None or xp.is_array(x) else xp.number(fitting(xp, x, self.dtype), self.dtype)
        for x in (min, max)
    )
    result = self if low is None else xp.maximum(self, low)
    return result if high is None else xp.minimum(result, high)


# --- functions of one array ----------------------------------------------------------------------------------


table.kernel("exp2", lambda xp, self: xp.pow(xp.operand(2, self), self), dtypes="floating_complex")
table.kernel("frac", lambda xp, self: self - xp.trunc(self), dtypes="floating")


@table.kernel("sinc", dtypes="floating_complex")
def sinc(xp: Namespace, self: Any) -> Any:
    # The quotient is computed at 0, too; there it gets a harmless argument.
    turns = xp.where(self == 0, xp.ones_like(self), self * xp.operand(math.pi, self))
    return xp.backend.ordered_as(xp.where(self == 0, xp.ones_like(self), xp.sin(turns) / turns), self)


# --- of two arrays -------------------------------------------------------------------------------------------


table.functions("atan2 hypot logaddexp", takes=("self", "other"), dtypes="floating")
table.functions("nextafter", takes=("self", "other"), dtypes="floating", half="native")
table.kernel(
    "copysign", lambda xp, self, other: xp.copysign(self, xp.operand(other, self)), dtypes="floating"
)


def within(xp: Namespace, self: Any, shifts: Any) -> tuple[Any, Any, int]:
    """Return the shifts as an array, whether there are as many, and the number of bits; others shift all out."""
    bits = xp.iinfo(self.dtype).bits
    shifts = shifts if xp.is_array(shifts) else xp.asarray(shifts, dtype=self.dtype)
    return shifts, (shifts >= 0) & (shifts < bits), bits


@table.kernel("bitwise_left_shift", dtypes="integral")
def left(xp: Namespace, self: Any, other: Any) -> Any:
    shifts, valid, _ = within(xp, self, other)
    zero = xp.operand(0, self)
    # C leaves shifts by the width of a number or more undefined, and processors differ.
    return xp.where(valid, xp.bitwise_left_shift(self, xp.where(valid, shifts, zero)), zero)


@table.kernel("bitwise_right_shift", dtypes="integral")
def right(xp: Namespace, self: Any, other: Any) -> Any:
    shifts, valid, bits = within(xp, self, other)
    if xp.is_kind(self, "signed integer"):
        # Shifting out all but the sign leaves 0 or -1, which PyTorch returns for larger shifts, too.
        return xp.bitwise_right_shift(self, xp.where(valid, shifts, xp.operand(bits - 1, self)))
    zero = xp.operand(0, self)
    return xp.where(valid, xp.bitwise_right_shift(self, xp.where(valid, shifts, zero)), zero)


@table.kernel("complex", needs="isfinite where", dtypes=("float32", "float64"), half="native")
def complex_(xp: Namespace, real: Any, imag: Any) -> Any:
    return complex_of_parts(xp, real, imag)
