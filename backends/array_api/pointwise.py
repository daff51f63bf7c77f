"""Kernels that work element by element."""

from __future__ import annotations

import math
from typing import Any

from tt.backends.array_api.kernel_builder import Kit
from tt.core.library import errors, result_type

__all__ = ["add_kernels", "check_alpha", "check_rounding", "erf"]


def add_kernels(kit: Kit) -> None:
    """Add the kernels of this family."""
    _arithmetic(kit)
    _division(kit)
    _functions(kit)
    _comparison(kit)
    _logic(kit)
    _selection(kit)


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


def _arithmetic(kit: Kit) -> None:
    xp, operand = kit.xp, kit.operand

    def scaled(op: str, self: Any, other: Any, alpha: Any) -> Any:
        """Return `alpha * other` as an array of the dtype of self."""
        other = operand(other, self)
        if alpha == 1 and not isinstance(alpha, bool):
            return other
        boolean = kit.is_kind(self, "bool")
        is_complex = kit.is_kind(self, "complex floating")
        check_alpha(op, kit.is_kind(self, "integral"), boolean, is_complex, alpha)
        if boolean:
            return xp.logical_and(other, kit.number(bool(alpha), xp.bool))
        return other * operand(alpha, self)

    @kit.kernel("add")
    def add(self: Any, other: Any, alpha: Any) -> Any:
        other = scaled("add", self, other, alpha)
        return xp.logical_or(self, other) if kit.is_kind(self, "bool") else xp.add(self, other)

    @kit.kernel("sub", dtypes="number")
    def sub(self: Any, other: Any, alpha: Any) -> Any:
        return xp.subtract(self, scaled("sub", self, other, alpha))

    @kit.kernel("mul")
    def mul(self: Any, other: Any) -> Any:
        other = operand(other, self)
        return xp.logical_and(self, other) if kit.is_kind(self, "bool") else xp.multiply(self, other)

    @kit.kernel("pow", dtypes="number")
    def power(self: Any, exponent: Any) -> Any:
        if kit.is_kind(self, "integral"):
            if not kit.is_array(exponent) and exponent < 0:
                raise errors.DtypeError("pow(): Integers to negative integer powers are not allowed.")
            if not kit.is_array(exponent):
                return xp.pow(self, operand(exponent, self))
            return _integer_power(kit, self, exponent)
        return xp.pow(self, operand(exponent, self))

    @kit.kernel("pow.Scalar", dtypes="number")
    def power_of_number(self: Any, exponent: Any) -> Any:
        return power(xp.asarray(self, dtype=exponent.dtype), exponent)

    kit.kernel("neg", lambda self: xp.negative(self) if not kit.is_kind(self, "unsigned integer") else ~self + 1,
               dtypes="number")  # fmt: skip
    kit.kernel("abs", lambda self: xp.abs(self), dtypes="number")
    kit.kernel(
        "sign", lambda self: kit.copy(self) if kit.is_kind(self, "bool") else _sign(kit, self), dtypes="real"
    )
    kit.kernel("square", lambda self: xp.square(self), dtypes="number")
    kit.kernel("reciprocal", lambda self: 1 / self, dtypes="floating_complex")
    kit.kernel("conj", lambda self: xp.conj(self) if kit.is_kind(self, "complex floating") else kit.copy(self),
               half="native")  # fmt: skip


def _integer_power(kit: Kit, self: Any, exponent: Any) -> Any:
    """Return integer powers; a negative exponent gives what the inverse rounds to: 0, 1 or -1."""
    xp = kit.xp
    if kit.is_kind(exponent, "unsigned integer"):
        return xp.pow(self, exponent)
    negative = exponent < 0
    zero, one = kit.operand(0, self), kit.operand(1, self)
    result = xp.pow(self, xp.where(negative, zero, exponent))
    odd_sign = xp.where(exponent % kit.operand(2, self) == 0, one, self)
    inverse = xp.where(self == 1, one, xp.where(self == -1, odd_sign, zero))
    return xp.where(negative, inverse, result)


def _sign(kit: Kit, self: Any) -> Any:
    """Return the sign; that of NaN is 0, as in PyTorch."""
    sign = kit.xp.sign(self)
    return (
        kit.xp.where(self != self, kit.operand(0, self), sign) if kit.is_kind(self, "real floating") else sign
    )


def _division(kit: Kit) -> None:
    xp, operand = kit.xp, kit.operand

    @kit.kernel("div", dtypes="floating_complex")
    def div(self: Any, other: Any) -> Any:
        return xp.divide(self, operand(other, self))

    @kit.kernel("floor_divide", dtypes="real_number")
    def floor_divide(self: Any, other: Any) -> Any:
        if kit.is_kind(self, "integral"):
            kit.refuse_zero(other)
            return xp.floor_divide(self, operand(other, self))
        return _floor_quotient(kit, self, operand(other, self))

    @kit.kernel("div.mode", dtypes="real_number")
    def div_mode(self: Any, other: Any, rounding_mode: str) -> Any:
        check_rounding(rounding_mode)
        if rounding_mode == "floor":
            return floor_divide(self, other)
        if not kit.is_kind(self, "integral"):
            return xp.trunc(xp.divide(self, operand(other, self)))
        kit.refuse_zero(other)
        other = operand(other, self)
        # Where the signs differ and something is left, rounding down went one too far.
        quotient = xp.floor_divide(self, other)
        inexact = (quotient * other != self) & ((self < 0) != (other < 0))
        return xp.where(inexact, quotient + operand(1, self), quotient)

    @kit.kernel("remainder", dtypes="real_number")
    def remainder(self: Any, other: Any) -> Any:
        if kit.is_kind(self, "integral"):
            kit.refuse_zero(other)
        return xp.remainder(self, operand(other, self))

    kit.kernel(
        "remainder.Scalar", lambda self, other: remainder(operand(self, other), other), dtypes="real_number"
    )


def _floor_quotient(kit: Kit, self: Any, other: Any) -> Any:
    """Return the quotient rounded down; a division by zero gives what a division gives."""
    xp = kit.xp
    modulus = xp.remainder(self, other)
    quotient = (self - modulus) / other
    rounded = xp.floor(quotient)
    rounded = xp.where(quotient - rounded > 0.5, rounded + 1, rounded)
    rounded = xp.where(rounded == 0, self / other * 0, rounded)  # a zero has the sign of the exact quotient
    # By an infinite number the quotient is a zero, or the next below it.
    beyond = xp.where((self == 0) | ((self < 0) == (other < 0)), self / other, kit.number(-1.0, self.dtype))
    rounded = xp.where(xp.isinf(other) & xp.isfinite(self), beyond, rounded)
    return xp.where(other == 0, self / other, rounded)


# --- functions of one argument ---------------------------------------------------------------------------------


def _functions(kit: Kit) -> None:
    xp = kit.xp
    kit.functions({
        "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "sqrt": "sqrt",
        "sin": "sin", "cos": "cos", "tanh": "tanh",
    }, dtypes="floating_complex", takes=("self",))  # fmt: skip
    kit.functions({"floor": "floor", "ceil": "ceil", "trunc": "trunc"}, dtypes="real_number", takes=("self",))
    kit.kernel("rsqrt", lambda self: 1 / xp.sqrt(self), dtypes="floating_complex")
    kit.kernel("sigmoid", lambda self: _sigmoid(kit, self), dtypes="floating")
    kit.kernel("sigmoid", lambda self: 1 / (1 + xp.exp(-self)), dtypes="complex")
    kit.kernel("erf", lambda self: erf(kit, self), dtypes="floating")
    kit.kernel("round", lambda self: xp.round(self), dtypes="real_number")

    @kit.kernel("round", dtypes="floating")
    def round_decimals(self: Any, decimals: int) -> Any:
        if decimals == 0:
            return xp.round(self)
        factor = 10.0 ** abs(decimals)
        return xp.round(self * factor) / factor if decimals > 0 else xp.round(self / factor) * factor


def _sigmoid(kit: Kit, self: Any) -> Any:
    """Return 1 / (1 + exp(-x)) without overflow."""
    small = kit.xp.exp(-kit.xp.abs(self))
    return kit.xp.where(self >= 0, 1 / (1 + small), small / (1 + small))


_ERF_TERMS = 50


def erf(kit: Kit, self: Any) -> Any:
    """Return the error function: its series near 0, the continued fraction of erfc elsewhere.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.6 and 7.1.14.
    """
    xp = kit.xp
    x = xp.abs(self)
    near = xp.where(x < 2.5, x, xp.zeros_like(x))
    square = near * near
    term = total = near
    for n in range(1, _ERF_TERMS):
        term = term * square * (2.0 / (2 * n + 1))
        total = total + term
    series = 2.0 / math.sqrt(math.pi) * xp.exp(-square) * total
    far = xp.where(x < 2.5, xp.full_like(x, 2.5), xp.where(x > 30.0, xp.full_like(x, 30.0), x))
    fraction = far
    for n in range(_ERF_TERMS, 0, -1):
        fraction = far + (n / 2.0) / fraction
    tail = 1 - xp.exp(-far * far) / (fraction * math.sqrt(math.pi))
    result = xp.where(x < 2.5, series, tail)
    result = xp.where(self < 0, -result, result)
    return xp.where((self == 0) | (self != self), self, result)  # with the sign of zero


# --- comparison ------------------------------------------------------------------------------------------------


def _comparison(kit: Kit) -> None:
    xp, operand = kit.xp, kit.operand

    def ordered(function: Any) -> Any:
        """Return a comparison that also orders bools."""

        def compare(self: Any, other: Any) -> Any:
            other = operand(other, self)
            return function(kit.as_number(self), kit.as_number(other))

        return compare

    def pair(self: Any, other: Any) -> Any:
        return kit.as_number(self), kit.as_number(operand(other, self))

    kit.kernel("eq", lambda self, other: xp.equal(self, operand(other, self)), half="native")
    kit.kernel("ne", lambda self, other: xp.not_equal(self, operand(other, self)), half="native")
    names = {"lt": xp.less, "le": xp.less_equal, "gt": xp.greater, "ge": xp.greater_equal}
    for op, function in names.items():
        kit.kernel(op, ordered(function), dtypes="real", half="native")

    @kit.kernel("equal", half="native")
    def equal(self: Any, other: Any) -> bool:
        return tuple(self.shape) == tuple(other.shape) and bool(xp.all(xp.equal(self, other)))

    def extreme(function: Any) -> Any:
        def kernel(self: Any, other: Any) -> Any:
            result = function(*pair(self, other))
            return xp.astype(result, self.dtype, copy=False)

        return kernel

    kit.kernel("maximum", extreme(xp.maximum), dtypes="real")
    kit.kernel("minimum", extreme(xp.minimum), dtypes="real")


# --- logic and bits --------------------------------------------------------------------------------------------


def _logic(kit: Kit) -> None:
    xp, operand = kit.xp, kit.operand

    def truth(value: Any) -> Any:
        return value if kit.is_kind(value, "bool") else value != kit.operand(0, value)

    kit.kernel("logical_and", lambda self, other: xp.logical_and(truth(self), truth(other)), half="native")
    kit.kernel("logical_or", lambda self, other: xp.logical_or(truth(self), truth(other)), half="native")
    kit.kernel("logical_xor", lambda self, other: xp.logical_xor(truth(self), truth(other)), half="native")
    kit.kernel("logical_not", lambda self: xp.logical_not(truth(self)), half="native")
    bits = {"bitwise_and": xp.bitwise_and, "bitwise_or": xp.bitwise_or, "bitwise_xor": xp.bitwise_xor}
    for op, function in bits.items():
        kit.kernel(
            op, lambda self, other, f=function: f(self, operand(other, self)), dtypes="integral_bool",
            takes=("self", "other"),
        )  # fmt: skip
    kit.kernel("bitwise_not", lambda self: xp.bitwise_invert(self), dtypes="integral_bool")
    kit.kernel("isnan", lambda self: _test(kit, xp.isnan, self, False))
    kit.kernel("isinf", lambda self: _test(kit, xp.isinf, self, False))
    kit.kernel("isfinite", lambda self: _test(kit, xp.isfinite, self, True))


def _test(kit: Kit, function: Any, self: Any, otherwise: bool) -> Any:
    """Return a test of floating point numbers; bools and integers all have the other answer."""
    if kit.is_kind(self, ("real floating", "complex floating")):
        return function(self)
    return kit.xp.full(tuple(self.shape), otherwise, dtype=kit.xp.bool)


# --- selection -------------------------------------------------------------------------------------------------


def _selection(kit: Kit) -> None:
    xp, operand = kit.xp, kit.operand

    @kit.kernel("where", half="native")
    def where(condition: Any, self: Any, other: Any) -> Any:
        like = self if kit.is_array(self) else other
        if not kit.is_array(like):
            native = kit.backend.native_dtype(result_type(self, other))
            self, other = kit.number(self, native), kit.number(other, native)
        else:
            self, other = operand(self, like), operand(other, like)
        if not kit.is_kind(condition, "bool"):
            raise errors.DtypeError(f"where(): the condition has the dtype bool, not {condition.dtype}")
        return xp.where(condition, self, other)

    @kit.kernel("clamp", dtypes="real_number")
    def clamp(self: Any, min: Any, max: Any) -> Any:
        if min is None and max is None:
            raise errors.ArgumentError("clamp", "min and max are both None: give one of them")
        result = self if min is None else xp.maximum(self, operand(min, self))
        return result if max is None else xp.minimum(result, operand(max, self))
