"""Kernels that work element by element: NumPy's own functions where they do what PyTorch does."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.backends.array_api.pointwise import check_alpha, check_rounding
from tt.backends.cpu.selection import select
from tt.core.library import (
    KernelTable,
    errors,
    fitted_number,
    from_numpy_dtype,
    is_float8,
    result_type,
    warn_user,
)

__all__ = ["cpu", "refuse_zero"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

NATIVE: Final = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip
"""Dtypes that NumPy's functions write into an `out` array directly; half precision goes through float32."""

# --- arithmetic ------------------------------------------------------------------------------------------------

cpu.kernel("add", np.add)
cpu.kernel("add", np.add, dtypes=NATIVE, form="out", takes=("self", "other"))
cpu.kernel("sub", np.subtract, dtypes="number")
cpu.kernel("sub", np.subtract, dtypes=[d for d in NATIVE if d != "bool"], form="out", takes=("self", "other"))
cpu.kernel("mul", np.multiply)
cpu.kernel("div", np.true_divide, dtypes="floating_complex")
cpu.kernel("neg", np.negative, dtypes="number")


@cpu.kernel("neg", form="inplace", dtypes="number")
def neg_in_place(self: Any) -> None:
    # NumPy 2.4 takes operand and output for contiguous where both have gaps and the operand's stride is of as many
    # elements as an element has bytes, so the result goes through its own memory.
    if self.flags.forc:
        np.negative(self, out=self)
    else:
        self[...] = np.negative(self)


cpu.kernel("abs", np.absolute, dtypes="number")
cpu.kernel("square", np.square, dtypes="number")
cpu.kernel("reciprocal", np.reciprocal, dtypes="floating_complex")
cpu.kernel("maximum", np.maximum, dtypes="real")
cpu.kernel("minimum", np.minimum, dtypes="real")


def _scaled(op: str, self: Any, other: Any, alpha: Any) -> Any:
    """Return `alpha * other` in the dtype of self."""
    kind = self.dtype.kind
    check_alpha(op, kind in "iu", kind == "b", kind == "c", alpha)
    if kind == "b":
        return np.logical_and(other, bool(alpha))
    return np.multiply(other, fitted_number(alpha, from_numpy_dtype(self.dtype)), dtype=self.dtype)


@cpu.kernel("add")
def add(self: Any, other: Any, alpha: Any) -> Any:
    return np.add(self, _scaled("add", self, other, alpha))


@cpu.kernel("add", form="out", dtypes=NATIVE)
def add_out(self: Any, other: Any, alpha: Any, out: Any) -> None:
    np.add(self, _scaled("add", self, other, alpha), out)


@cpu.kernel("sub", dtypes="number")
def sub(self: Any, other: Any, alpha: Any) -> Any:
    return np.subtract(self, _scaled("sub", self, other, alpha))


@cpu.kernel("sub", form="out", dtypes=[d for d in NATIVE if d != "bool"])
def sub_out(self: Any, other: Any, alpha: Any, out: Any) -> None:
    np.subtract(self, _scaled("sub", self, other, alpha), out)


@cpu.kernel("rsub", dtypes="number")
def subtract_from(self: Any, other: Any) -> Any:
    return np.subtract(other, self)


@cpu.kernel("rsub", dtypes="number")
def rsub(self: Any, other: Any, alpha: Any) -> Any:
    return np.subtract(other, _scaled("rsub", self, self, alpha))


@cpu.kernel("pow", dtypes="floating_complex")
def power(self: Any, exponent: Any) -> Any:
    result = self**exponent  # the operator has short ways for squares and square roots, np.power has not
    if isinstance(exponent, np.ndarray) and exponent.dtype.kind == "c":
        # NumPy multiplies for whole exponents and divides at last, by infinity and NaN.
        lost = np.isinf(self) & (exponent.real < 0) & (exponent.imag == 0)
        if lost.any():
            result = np.where(lost, 0, result)
    return result


@cpu.kernel("pow", dtypes="integral")
def integer_power(self: Any, exponent: Any) -> Any:
    if not isinstance(exponent, np.ndarray) and exponent < 0:
        raise errors.DtypeError("pow(): Integers to negative integer powers are not allowed.")
    negative = np.less(exponent, 0)
    if not negative.any():
        return np.power(self, exponent)
    # A negative exponent gives the rounded inverse: 0, 1 or -1.
    inverse = np.where(self == 1, 1, np.where(self == -1, np.where(exponent % 2 == 0, 1, -1), 0))
    return np.where(negative, inverse, np.power(self, np.where(negative, 0, exponent))).astype(self.dtype)


# --- division --------------------------------------------------------------------------------------------------


def refuse_zero(self: Any, other: Any) -> None:
    """Raise if an integer divisor is or contains zero, unless there is nothing to divide."""
    if not np.all(other) and np.size(self):
        raise errors.DivisionByZeroError("ZeroDivisionError: an integer is divided by zero")


@cpu.kernel("floor_divide", dtypes="integral")
def floor_divide(self: Any, other: Any) -> Any:
    refuse_zero(self, other)
    return np.floor_divide(self, other)


cpu.kernel("floor_divide", np.floor_divide, dtypes="floating")


@cpu.kernel("div.mode", dtypes="floating")
def rounded_quotient(self: Any, other: Any, rounding_mode: str) -> Any:
    check_rounding(rounding_mode)
    return np.floor_divide(self, other) if rounding_mode == "floor" else np.trunc(np.true_divide(self, other))


@cpu.kernel("div.mode", dtypes="integral")
def rounded_integer_quotient(self: Any, other: Any, rounding_mode: str) -> Any:
    check_rounding(rounding_mode)
    refuse_zero(self, other)
    quotient = np.floor_divide(self, other)
    if rounding_mode == "floor":
        return quotient
    # Where the signs differ and something is left, rounding down went one too far.
    inexact = np.multiply(quotient, other) != self
    inexact &= np.less(self, 0) != np.less(other, 0)
    return np.add(quotient, inexact, dtype=self.dtype)


@cpu.kernel("remainder", dtypes="integral")
def remainder(self: Any, other: Any) -> Any:
    refuse_zero(self, other)
    return np.remainder(self, other)


cpu.kernel("remainder", np.remainder, dtypes="floating")

# --- functions of one argument ---------------------------------------------------------------------------------

for _op in ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tanh"):
    cpu.kernel(_op, getattr(np, _op), dtypes="floating_complex")
for _op in ("floor", "ceil", "trunc"):
    cpu.kernel(_op, getattr(np, _op), dtypes="real_number")


@cpu.kernel("sigmoid", dtypes="floating_complex")
def sigmoid(self: Any) -> Any:
    result = np.exp(-self)
    return np.divide(1, np.add(result, 1, result), result) if self.ndim else 1 / (1 + result)


@cpu.kernel("erf", dtypes="floating")
def erf(self: Any) -> Any:
    from scipy.special import erf  # SciPy takes as long to import as NumPy, and few programs need it

    return erf(self)


# --- comparison and logic --------------------------------------------------------------------------------------

for _op, _function in {
    "eq": np.equal, "ne": np.not_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
    "logical_not": np.logical_not,
}.items():  # fmt: skip
    cpu.kernel(_op, _function, half="native")
for _op, _function in {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}.items():  # fmt: skip
    cpu.kernel(_op, _function, dtypes="real", half="native")
for _op in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    cpu.kernel(_op, getattr(np, _op), dtypes="integral_bool")
cpu.kernel("bitwise_not", np.invert, dtypes="integral_bool")
for _op in ("isnan", "isinf", "isfinite"):
    cpu.kernel(_op, getattr(np, _op))

_BOOL: Final = np.dtype(bool)

# --- selection -------------------------------------------------------------------------------------------------


@cpu.kernel("where", half="native")
def where(condition: Any, self: Any, other: Any) -> Any:
    if condition.dtype == np.uint8:
        warn_user("where(): a condition of uint8 is deprecated\n  try: condition.bool()")
        condition = condition != 0
    if condition.dtype is not _BOOL:
        raise errors.DtypeError(f"where(): the condition has the dtype bool, not {condition.dtype}")
    if not isinstance(self, np.ndarray):
        self = _choice(self, other.dtype if isinstance(other, np.ndarray) else result_type(self, other).numpy)
    if not isinstance(other, np.ndarray):
        other = _choice(other, self.dtype)
    # NumPy computes places from the bytes, which may be others than 0 and 1.
    return select(np.asarray(condition.view(np.uint8) != 0), self, other)


def _choice(number: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Return a number as an array; negative integers wrap into unsigned dtypes, and float8 saturates."""
    if dtype.kind in "iu" or is_float8(dtype):
        return np.asarray(fitted_number(number, from_numpy_dtype(dtype))).astype(dtype)
    return np.asarray(number, dtype=dtype)


@cpu.kernel("clamp", dtypes="real_number")
def clamp(self: Any, min: Any, max: Any) -> Any:
    if max is None:
        if min is None:
            raise errors.ArgumentError("clamp", "min and max are both None: give one of them")
        return np.maximum(self, wrapped(min, self))
    return np.minimum(self if min is None else np.maximum(self, wrapped(min, self)), wrapped(max, self))


def wrapped(number: Any, like: Any) -> Any:
    """Return a number as an operand: a negative one wraps into an unsigned dtype, for which NumPy refuses it."""
    return number if like.dtype.kind != "u" or isinstance(number, np.ndarray) else _choice(number, like.dtype)
