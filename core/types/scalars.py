"""Numbers: from Python numbers to arrays of a dtype, with PyTorch's rules for what fits.

An integer must fit into the dtype (a negative one may wrap into an unsigned dtype, as in PyTorch), a float that becomes
an integer is truncated and must be in range, and a complex number becomes nothing but complex.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from tt.core.errors import NumberRangeError
from tt.core.types import dtype as dt
from tt.core.types.complex32 import decode_complex32, encode_complex32, is_complex32
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.float8 import decode_float8, encode_float8, is_float8
from tt.core.types.promotion import get_default_dtype
from tt.core.types.user_warnings import warn_user

__all__ = ["Scalar", "cast_array", "fitted_number", "number_array", "numbers_dtype"]

Scalar = bool | int | float | complex
"""A number of Python, as kernels get it where the schema says Scalar."""

_RANK: Final = {bool: 0, int: 1, float: 2, complex: 3}


def numbers_dtype(kinds: Iterable[type]) -> Dtype:
    """Return the dtype of Python numbers of the given types: the default dtype for float, int64 for int.

    Examples
    --------
    >>> from tt.core.types.scalars import numbers_dtype
    >>> numbers_dtype([bool, int]), numbers_dtype([int, float]), numbers_dtype([])
    (tt.int64, tt.float32, tt.float32)
    """
    highest = max((_RANK[kind] for kind in kinds), default=2)
    if highest < 2:
        return dt.int64 if highest else dt.bool_
    default = get_default_dtype()
    return default if highest == 2 else default.to_complex()


def number_array(numbers: Sequence[bool | int | float | complex], dtype: Dtype) -> np.ndarray[Any, Any]:
    """Return a one-dimensional array of a dtype with the given Python numbers.

    Raises
    ------
    NumberRangeError
        When one of them does not fit.
    TypeError
        When one is complex and the dtype is not.
    """
    if dtype.is_complex:
        # By way of complex128: what a narrower dtype cannot hold becomes infinite there, as in PyTorch.
        with np.errstate(over="ignore"):
            return cast_array(np.array(numbers, dtype=np.complex128), dtype)
    kinds = set(map(type, numbers))
    if complex in kinds and dtype is not dt.bool_:
        raise TypeError(
            f"must be real number, not complex: a complex number cannot be stored as {dtype.name}"
        )
    if dtype.is_floating_point:
        return cast_array(_doubles(numbers), dtype)
    if dtype is dt.bool_:
        return np.array([bool(number) for number in numbers], dtype=np.bool_)
    if float in kinds:
        return _from_doubles(_doubles(numbers), dtype)
    # Half of its numbers are beyond int64, through which those of the other dtypes go.
    if dtype is dt.uint64:
        return _unsigned_long(numbers)
    try:
        longs = np.array(numbers, dtype=np.int64)
    except OverflowError:
        raise NumberRangeError(
            f"{_first_outside(numbers)} does not fit into int64\n"
            f"  try: dtype=tt.uint64 or a floating point dtype"
        ) from None
    return _from_longs(longs, dtype)


def _doubles(numbers: Sequence[Any]) -> np.ndarray[Any, Any]:
    try:
        return np.array(numbers, dtype=np.float64)
    except OverflowError:
        raise NumberRangeError("int too large to convert to float") from None


def _first_outside(numbers: Sequence[Any]) -> Any:
    return next((n for n in numbers if not -(2**63) <= n < 2**63), None)


def _refuse(value: Any, dtype: Dtype) -> NumberRangeError:
    return NumberRangeError(f"{value} is beyond the range of {dtype.name}")


def _unsigned_long(numbers: Sequence[Any]) -> np.ndarray[Any, Any]:
    for number in numbers:
        if number < 0:
            raise OverflowError(f"can't convert negative int to unsigned: {number}")
        if number >= 2**64:
            raise _refuse(number, dt.uint64)
    return np.array(numbers, dtype=np.uint64)


def _from_longs(longs: np.ndarray[Any, Any], dtype: Dtype) -> np.ndarray[Any, Any]:
    # int64 needs no look at its numbers.
    if dtype is not dt.int64 and longs.size:
        limit = np.iinfo(dtype.numpy)
        # A negative integer wraps into an unsigned dtype (two's complement) if its size fits.
        lowest = -int(limit.max) if dtype.kind == "unsigned" else int(limit.min)
        low, high = int(longs.min()), int(longs.max())
        if low < lowest or high > int(limit.max):
            raise _refuse(low if low < lowest else high, dtype)
    return longs.astype(dtype.numpy)


def _from_doubles(doubles: np.ndarray[Any, Any], dtype: Dtype) -> np.ndarray[Any, Any]:
    limit = np.iinfo(dtype.numpy)
    lowest, highest = int(limit.min), int(limit.max)
    # The largest 64-bit integers have no exact double: float(highest) is one too much.
    above = doubles > highest if float(highest) == highest else doubles >= float(highest)
    outside = (doubles < lowest) | above | np.isnan(doubles)
    if outside.any():
        raise _refuse(float(doubles[outside][0]), dtype)
    return doubles.astype(dtype.numpy)


_PLAIN: Final = 1e38
"""Numbers up to this size fit into float32 and float64, so that only their rounding is left."""


def fitted_number(value: Any, dtype: Dtype) -> bool | int | float | complex:
    """Return a Python number as a tensor of a dtype holds it: 2.7 as 2 among integers.

    Raises
    ------
    NumberRangeError
        When it does not fit.

    Examples
    --------
    >>> import tt
    >>> from tt.core.types.scalars import fitted_number
    >>> fitted_number(2.7, tt.int64), fitted_number(-1, tt.uint8)
    (2, 255)
    """
    if dtype is dt.bool_:
        return bool(value)
    # The most frequent case: scalars of arithmetic need neither an array nor a check.
    if (
        (dtype is dt.float32 or dtype is dt.float64)
        and type(value) in (int, float)
        and -_PLAIN <= value <= _PLAIN
    ):
        return float(np.float32(value)) if dtype is dt.float32 else float(value)
    if isinstance(value, complex) and not dtype.is_complex:
        if value.imag:
            raise _refuse(value, dtype)
        value = value.real
    if dtype in dt.STORED:
        return float(decode_float8(number_array([value], dtype))[0])  # saturates, as conversions do
    if dtype is dt.uint64 and isinstance(value, int) and -(2**63) <= value < 0:
        return value + 2**64  # wraps, as in the narrower unsigned dtypes
    fitted = number_array([value], dtype)[0]
    if is_complex32(dtype.numpy):
        return complex(fitted)  # infinite where it does not fit, as in PyTorch
    floats = dtype.is_floating_point or dtype.is_complex
    if floats and np.isinf(fitted) and not _same_infinities(value, fitted):
        raise _refuse(value, dtype)
    return fitted.item() if dtype.numpy.kind in "biufc" else float(fitted)


def _same_infinities(value: Any, found: Any) -> bool:
    """Return whether the parts of a number are infinite where they were before it became one of a dtype."""
    original = complex(value) if isinstance(value, float | complex) else 0j
    converted = complex(found)
    return math.isinf(original.real) == math.isinf(converted.real) and math.isinf(
        original.imag
    ) == math.isinf(converted.imag)


def cast_array(array: np.ndarray[Any, Any], dtype: Dtype) -> np.ndarray[Any, Any]:
    """Return a real, bool or complex array in another dtype, without warnings about what does not fit.

    float64 goes to the half precision dtypes by way of float32, as in PyTorch.
    """
    if array.dtype == dtype.numpy:
        return array
    array = decode_complex32(array)
    if array.dtype.kind == "c" and not dtype.is_complex:
        if dtype is dt.bool_:
            array = array != 0
        else:
            warn_user("complex numbers become real ones, and their imaginary parts are lost")
            array = array.real
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype in dt.STORED:
            return encode_float8(array, dtype.numpy)
        if is_float8(array.dtype):
            array = decode_float8(array)
        if dtype is dt.complex32:
            return encode_complex32(array)
        if dtype in (dt.float16, dt.bfloat16):
            array = array.astype(np.float32)
        return array.astype(dtype.numpy)
