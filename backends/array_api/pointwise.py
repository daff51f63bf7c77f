"""Kernels that work element by element."""

from __future__ import annotations

import math
from typing import Any

from tt.backends.array_api.creation import complex_of_parts, fitting
from tt.backends.array_api.kernel_builder import KernelBuilder
from tt.core.library import errors, fitted_number, result_type, warn_user

__all__ = ["add_kernels", "check_alpha", "check_rounding", "erf"]


def add_kernels(builder: KernelBuilder) -> None:
    """Add the kernels of this family."""
    _arithmetic(builder)
    _division(builder)
    _functions(builder)
    _comparison(builder)
    _logic(builder)
    _selection(builder)
    _elementary(builder)
    _floating(builder)
    _bits(builder)
    _complex(builder)


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


def _arithmetic(builder: KernelBuilder) -> None:
    xp, operand = builder.xp, builder.operand

    def scaled(op: str, self: Any, other: Any, alpha: Any) -> Any:
        """Return `alpha * other` as an array of the dtype of self."""
        other = operand(other, self)
        if alpha == 1 and not isinstance(alpha, bool):
            return other
        boolean = builder.is_kind(self, "bool")
        is_complex = builder.is_kind(self, "complex floating")
        check_alpha(op, builder.is_kind(self, "integral"), boolean, is_complex, alpha)
        if boolean:
            return xp.logical_and(other, builder.number(bool(alpha), xp.bool))
        return other * operand(fitted_number(alpha, builder.dtype(self)), self)

    @builder.kernel("add")
    def add(self: Any, other: Any, alpha: Any) -> Any:
        other = scaled("add", self, other, alpha)
        return xp.logical_or(self, other) if builder.is_kind(self, "bool") else xp.add(self, other)

    @builder.kernel("sub", dtypes="number")
    def sub(self: Any, other: Any, alpha: Any) -> Any:
        return xp.subtract(self, scaled("sub", self, other, alpha))

    @builder.kernel("mul")
    def mul(self: Any, other: Any) -> Any:
        other = operand(other, self)
        return xp.logical_and(self, other) if builder.is_kind(self, "bool") else xp.multiply(self, other)

    @builder.kernel("pow", dtypes="number")
    def power(self: Any, exponent: Any) -> Any:
        if builder.is_kind(self, "integral"):
            if not builder.is_array(exponent) and exponent < 0:
                raise errors.DtypeError("pow(): Integers to negative integer powers are not allowed.")
            if not builder.is_array(exponent):
                return xp.pow(self, operand(exponent, self))
            return _integer_power(builder, self, exponent)
        return xp.pow(self, operand(exponent, self))

    @builder.kernel("pow.Scalar", dtypes="number")
    def power_of_number(self: Any, exponent: Any) -> Any:
        return power(xp.asarray(self, dtype=exponent.dtype), exponent)

    builder.kernel(
        "neg",
        lambda self: ~self + 1 if builder.is_kind(self, "unsigned integer") else xp.negative(self),
        dtypes="number",
    )
    builder.kernel("abs", lambda self: xp.abs(self), dtypes="number")
    builder.kernel(
        "sign",
        lambda self: builder.copy(self) if builder.is_kind(self, "bool") else _sign(builder, self),
        dtypes="real",
    )
    builder.kernel("square", lambda self: xp.square(self), dtypes="number")
    builder.kernel("reciprocal", lambda self: 1 / self, dtypes="floating_complex")
    builder.kernel(
        "conj",
        lambda self: xp.conj(self) if builder.is_kind(self, "complex floating") else builder.copy(self),
        half="native",
    )


def _integer_power(builder: KernelBuilder, self: Any, exponent: Any) -> Any:
    """Return integer powers; a negative exponent gives the rounded inverse: 0, 1 or -1."""
    xp = builder.xp
    if builder.is_kind(exponent, "unsigned integer"):
        return xp.pow(self, exponent)
    negative = exponent < 0
    zero, one = builder.operand(0, self), builder.operand(1, self)
    result = xp.pow(self, xp.where(negative, zero, exponent))
    odd_sign = xp.where(exponent % builder.operand(2, self) == 0, one, self)
    inverse = xp.where(self == 1, one, xp.where(self == -1, odd_sign, zero))
    return xp.where(negative, inverse, result)


def _sign(builder: KernelBuilder, self: Any) -> Any:
    """Return the sign; it is 0 for NaN, as in PyTorch."""
    sign = builder.xp.sign(self)
    return (
        builder.xp.where(self != self, builder.operand(0, self), sign)
        if builder.is_kind(self, "real floating")
        else sign
    )


def _division(builder: KernelBuilder) -> None:
    xp, operand = builder.xp, builder.operand

    @builder.kernel("div", dtypes="floating_complex")
    def div(self: Any, other: Any) -> Any:
        return xp.divide(self, operand(other, self))

    @builder.kernel("floor_divide", dtypes="real_number")
    def floor_divide(self: Any, other: Any) -> Any:
        if builder.is_kind(self, "integral"):
            builder.refuse_zero(self, other)
            return xp.floor_divide(self, operand(other, self))
        return _floor_quotient(builder, self, operand(other, self))

    @builder.kernel("div.mode", dtypes="real_number")
    def div_mode(self: Any, other: Any, rounding_mode: str) -> Any:
        check_rounding(rounding_mode)
        if rounding_mode == "floor":
            return floor_divide(self, other)
        if not builder.is_kind(self, "integral"):
            return xp.trunc(xp.divide(self, operand(other, self)))
        builder.refuse_zero(self, other)
        other = operand(other, self)
        # Where the signs differ and something is left, rounding down went one too far.
        quotient = xp.floor_divide(self, other)
        inexact = (quotient * other != self) & ((self < 0) != (other < 0))
        return xp.where(inexact, quotient + operand(1, self), quotient)

    @builder.kernel("remainder", dtypes="real_number")
    def remainder(self: Any, other: Any) -> Any:
        if builder.is_kind(self, "integral"):
            builder.refuse_zero(self, other)
        return xp.remainder(self, operand(other, self))

    builder.kernel(
        "remainder.Scalar", lambda self, other: remainder(operand(self, other), other), dtypes="real_number"
    )


def _floor_quotient(builder: KernelBuilder, self: Any, other: Any) -> Any:
    """Return the quotient rounded down; division by zero gives the same as true division."""
    xp = builder.xp
    modulus = xp.remainder(self, other)
    quotient = (self - modulus) / other
    rounded = xp.floor(quotient)
    rounded = xp.where(quotient - rounded > 0.5, rounded + 1, rounded)
    rounded = xp.where(rounded == 0, self / other * 0, rounded)  # a zero has the sign of the exact quotient
    # By an infinite number the quotient is a zero, or the next below it.
    beyond = xp.where(
        (self == 0) | ((self < 0) == (other < 0)), self / other, builder.number(-1.0, self.dtype)
    )
    rounded = xp.where(xp.isinf(other) & xp.isfinite(self), beyond, rounded)
    return xp.where(other == 0, self / other, rounded)


# --- functions of one argument ---------------------------------------------------------------------------------


def _functions(builder: KernelBuilder) -> None:
    xp = builder.xp
    builder.functions({
        "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "sqrt": "sqrt",
        "sin": "sin", "cos": "cos", "tanh": "tanh",
    }, dtypes="floating_complex", takes=("self",))  # fmt: skip
    builder.functions(
        {"floor": "floor", "ceil": "ceil", "trunc": "trunc"}, dtypes="real_number", takes=("self",)
    )
    builder.kernel("rsqrt", lambda self: 1 / xp.sqrt(self), dtypes="floating_complex")
    builder.kernel("sigmoid", lambda self: _sigmoid(builder, self), dtypes="floating")
    builder.kernel("sigmoid", lambda self: 1 / (1 + xp.exp(-self)), dtypes="complex")
    builder.kernel("erf", lambda self: erf(builder, self), dtypes="floating")

    @builder.kernel("round", dtypes="real_number")
    def round_to_integers(self: Any) -> Any:
        rounded = xp.round(self)
        return (
            xp.asarray(rounded, copy=True) if rounded is self else rounded
        )  # NumPy 2.1 returns integers themselves

    @builder.kernel("round", dtypes="floating")
    def round_decimals(self: Any, decimals: int) -> Any:
        if decimals == 0:
            return xp.round(self)
        factor = 10.0 ** abs(decimals)
        return xp.round(self * factor) / factor if decimals > 0 else xp.round(self / factor) * factor


def _sigmoid(builder: KernelBuilder, self: Any) -> Any:
    """Return 1 / (1 + exp(-x)) without overflow."""
    small = builder.xp.exp(-builder.xp.abs(self))
    return builder.xp.where(self >= 0, 1 / (1 + small), small / (1 + small))


_ERF_TERMS = 50


def erf(builder: KernelBuilder, self: Any) -> Any:
    """Return the error function: its series near 0, the continued fraction of erfc elsewhere.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.6 and 7.1.14.
    """
    xp = builder.xp
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


def _comparison(builder: KernelBuilder) -> None:
    xp, operand = builder.xp, builder.operand

    def ordered(function: Any) -> Any:
        """Return a comparison that also orders bools."""

        def compare(self: Any, other: Any) -> Any:
            other = operand(other, self)
            return function(builder.as_number(self), builder.as_number(other))

        return compare

    def pair(self: Any, other: Any) -> Any:
        return builder.as_number(self), builder.as_number(operand(other, self))

    builder.kernel("eq", lambda self, other: xp.equal(self, operand(other, self)), half="native")
    builder.kernel("ne", lambda self, other: xp.not_equal(self, operand(other, self)), half="native")
    names = {"lt": xp.less, "le": xp.less_equal, "gt": xp.greater, "ge": xp.greater_equal}
    for op, function in names.items():
        builder.kernel(op, ordered(function), dtypes="real", half="native")

    @builder.kernel("equal", half="native")
    def equal(self: Any, other: Any) -> bool:
        return tuple(self.shape) == tuple(other.shape) and bool(xp.all(xp.equal(self, other)))

    def extreme(function: Any) -> Any:
        def kernel(self: Any, other: Any) -> Any:
            result = function(*pair(self, other))
            return xp.astype(result, self.dtype, copy=False)

        return kernel

    builder.kernel("maximum", extreme(xp.maximum), dtypes="real")
    builder.kernel("minimum", extreme(xp.minimum), dtypes="real")


# --- logic and bits --------------------------------------------------------------------------------------------


def _logic(builder: KernelBuilder) -> None:
    xp, operand = builder.xp, builder.operand

    def truth(value: Any) -> Any:
        return value if builder.is_kind(value, "bool") else value != builder.operand(0, value)

    builder.kernel(
        "logical_and", lambda self, other: xp.logical_and(truth(self), truth(other)), half="native"
    )
    builder.kernel("logical_or", lambda self, other: xp.logical_or(truth(self), truth(other)), half="native")
    builder.kernel(
        "logical_xor", lambda self, other: xp.logical_xor(truth(self), truth(other)), half="native"
    )
    builder.kernel("logical_not", lambda self: xp.logical_not(truth(self)), half="native")
    bits = {"bitwise_and": xp.bitwise_and, "bitwise_or": xp.bitwise_or, "bitwise_xor": xp.bitwise_xor}
    for op, function in bits.items():
        builder.kernel(
            op, lambda self, other, f=function: f(self, operand(other, self)), dtypes="integral_bool",
            takes=("self", "other"),
        )  # fmt: skip
    builder.kernel("bitwise_not", lambda self: xp.bitwise_invert(self), dtypes="integral_bool")
    builder.kernel("isnan", lambda self: _test(builder, xp.isnan, self, False))
    builder.kernel("isinf", lambda self: _test(builder, xp.isinf, self, False))
    builder.kernel("isfinite", lambda self: _test(builder, xp.isfinite, self, True))


def _test(builder: KernelBuilder, function: Any, self: Any, otherwise: bool) -> Any:
    """Return a test of floating point numbers; bools and integers all have the other answer."""
    if builder.is_kind(self, ("real floating", "complex floating")):
        return function(self)
    return builder.xp.full(tuple(self.shape), otherwise, dtype=builder.xp.bool)


# --- selection -------------------------------------------------------------------------------------------------


def _selection(builder: KernelBuilder) -> None:
    xp = builder.xp

    @builder.kernel("where", half="native")
    def where(condition: Any, self: Any, other: Any) -> Any:
        like = self if builder.is_array(self) else other
        if not builder.is_array(like):
            native = builder.backend.native_dtype(result_type(self, other))
            self, other = builder.number(self, native), builder.number(other, native)
        else:
            # Negative integers wrap into unsigned dtypes, as in PyTorch.
            self, other = (
                x if builder.is_array(x) else builder.number(fitting(builder, x, like.dtype), like.dtype)
                for x in (self, other)
            )
        if condition.dtype == xp.uint8:
            warn_user("where(): a condition of uint8 is deprecated\n  try: condition.bool()")
            condition = builder.backend.cast(condition, xp.bool)
        if not builder.is_kind(condition, "bool"):
            raise errors.DtypeError(f"where(): the condition has the dtype bool, not {condition.dtype}")
        return xp.where(condition, self, other)

    @builder.kernel("clamp", dtypes="real_number")
    def clamp(self: Any, min: Any, max: Any) -> Any:
        if min is None and max is None:
            raise errors.ValueRangeError("clamp(): min and max are both None: give one of them")
        # Negative integers wrap into unsigned dtypes, as in PyTorch.
        low, high = (
            x
            if x is None or builder.is_array(x)
            else builder.number(fitting(builder, x, self.dtype), self.dtype)
            for x in (min, max)
        )
        result = self if low is None else xp.maximum(self, low)
        return result if high is None else xp.minimum(result, high)


# --- functions of one array ----------------------------------------------------------------------------------


def _elementary(builder: KernelBuilder) -> None:
    xp = builder.xp
    builder.functions({
        "log2": "log2", "log10": "log10", "tan": "tan", "sinh": "sinh", "cosh": "cosh",
        "asin": "asin", "acos": "acos", "atan": "atan", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh",
    }, dtypes="floating_complex", takes=("self",))  # fmt: skip
    builder.functions({"signbit": "signbit"}, dtypes="floating", takes=("self",))
    builder.kernel("exp2", lambda self: xp.pow(builder.operand(2, self), self), dtypes="floating_complex")
    builder.kernel("frac", lambda self: self - xp.trunc(self), dtypes="floating")

    @builder.kernel("sinc", dtypes="floating_complex")
    def sinc(self: Any) -> Any:
        turns = xp.where(self == 0, xp.ones_like(self), self * builder.operand(math.pi, self))
        return xp.where(self == 0, xp.ones_like(self), xp.sin(turns) / turns)


# --- of two arrays -------------------------------------------------------------------------------------------


def _floating(builder: KernelBuilder) -> None:
    xp, operand = builder.xp, builder.operand
    builder.kernel("atan2", lambda self, other: xp.atan2(self, other), dtypes="floating")
    builder.kernel("copysign", lambda self, other: xp.copysign(self, operand(other, self)), dtypes="floating")
    builder.kernel("nextafter", lambda self, other: xp.nextafter(self, other), needs="nextafter", dtypes="floating",
               half="native")  # fmt: skip
    builder.kernel("hypot", lambda self, other: xp.hypot(self, other), dtypes="floating")
    builder.kernel("logaddexp", lambda self, other: xp.logaddexp(self, other), dtypes="floating")


def _bits(builder: KernelBuilder) -> None:
    xp, operand = builder.xp, builder.operand

    def within(self: Any, places: Any) -> tuple[Any, Any, int]:
        """Return the places as an array, whether there are as many, and the number of bits; others shift all out."""
        bits = xp.iinfo(self.dtype).bits
        places = places if builder.is_array(places) else xp.asarray(places, dtype=self.dtype)
        return places, (places >= 0) & (places < bits), bits

    @builder.kernel("bitwise_left_shift", dtypes="integral")
    def left(self: Any, other: Any) -> Any:
        places, valid, _ = within(self, other)
        zero = operand(0, self)
        return xp.where(valid, xp.bitwise_left_shift(self, xp.where(valid, places, zero)), zero)

    @builder.kernel("bitwise_right_shift", dtypes="integral")
    def right(self: Any, other: Any) -> Any:
        places, valid, bits = within(self, other)
        if builder.is_kind(self, "signed integer"):
            return xp.bitwise_right_shift(self, xp.where(valid, places, operand(bits - 1, self)))
        zero = operand(0, self)
        return xp.where(valid, xp.bitwise_right_shift(self, xp.where(valid, places, zero)), zero)


def _complex(builder: KernelBuilder) -> None:
    @builder.kernel("complex", needs="isfinite where", dtypes=("float32", "float64"), half="native")
    def complex_(real: Any, imag: Any) -> Any:
        return complex_of_parts(builder, real, imag)
