"""Promotion as the array API standard defines it: zero-dimensional arrays count like others, unlike in operators."""

from __future__ import annotations

from functools import reduce
from operator import index
from typing import Any, Final

import numpy as np

import tt

__all__ = [
    "SIGNED",
    "UNSIGNED",
    "as_tensors",
    "as_tuple",
    "cast",
    "filled",
    "number_as_tensor",
    "promote_all",
]

UNSIGNED: Final = (tt.uint8, tt.uint16, tt.uint32, tt.uint64)
SIGNED: Final = (tt.int8, tt.int16, tt.int32, tt.int64)
_NUMBERS: Final = (bool, int, float, complex)
_KINDS: Final = (*_NUMBERS, np.number, np.bool_)


def as_tuple(value: Any) -> tuple[int, ...]:
    """Return one integer or a sequence of integers, of Python or NumPy, as a tuple.

    Examples
    --------
    >>> import numpy as np
    >>> from tt.array_api._promotion import as_tuple
    >>> as_tuple(np.int64(3)), as_tuple([1, 2])
    ((3,), (1, 2))
    """
    try:
        return (index(value),)
    except TypeError:
        return tuple(map(index, value))


def promote_all(dtypes: list[tt.dtype]) -> tt.dtype:
    """Return the dtype that one or more dtypes have in common."""
    return reduce(tt.promote_types, dtypes)


def cast(x: tt.Tensor, dtype: tt.dtype) -> tt.Tensor:
    """Return an array in another dtype; itself where it has that."""
    return x if x.dtype is dtype else x.to(dtype)


def filled(sizes: tuple[int, ...], number: Any, dtype: tt.dtype | None, device: Any) -> tt.Tensor:
    """Return an array of one number; numbers too large for a floating-point dtype become infinite, as in conversion.

    Examples
    --------
    >>> import tt
    >>> from tt.array_api._promotion import filled
    >>> filled((2,), 1e300, tt.float32, "cpu")
    tensor([inf, inf])
    """
    try:
        return tt.full(sizes, number, dtype=dtype, device=device)
    except tt.errors.NumberRangeError:
        if dtype is None and isinstance(number, float | complex):
            dtype = tt.result_type(tt.empty((0,), dtype=tt.get_default_dtype(), device="meta"), number)
        # Integers that do not fit are an error in the standard.
        if dtype is None or not (dtype.is_floating_point or dtype.is_complex):
            raise
        wide = tt.complex128 if dtype.is_complex else tt.float64
        return tt.full(sizes, number, dtype=wide, device=device).to(dtype)


def number_as_tensor(number: Any, like: tt.Tensor) -> tt.Tensor:
    """Return a Python number as an array of the dtype that it has next to another array, on its device."""
    if isinstance(number, np.generic):
        number = number.item()
    kind = next((kind for kind in _NUMBERS if isinstance(number, kind)), None)
    if kind is None:
        raise TypeError(f"an argument must be an array or a Python number, not {type(number).__name__}")
    dtype = tt.result_type(like, number)
    # In the standard a Python number never widens an array of its kind.
    if kind is float and like.dtype.is_floating_point:
        dtype = like.dtype
    elif kind is complex and like.dtype.is_floating_point:
        dtype = like.dtype.to_complex()
    return filled((), number, dtype, like.device)


def as_tensors(
    x1: tt.Tensor | bool | int | float | complex,
    x2: tt.Tensor | bool | int | float | complex,
    numbers: bool = False,
) -> tuple[Any, Any]:
    """Return both arguments of a binary function as arrays of one dtype.

    Parameters
    ----------
    x1, x2 : Tensor or number
        At least one of them is an array.
    numbers : bool
        A Python number as the second argument may stay one.
    """
    if isinstance(x1, tt.Tensor):
        if isinstance(x2, tt.Tensor):
            if x1.dtype is not x2.dtype:
                dtype = tt.promote_types(x1.dtype, x2.dtype)
                return cast(x1, dtype), cast(x2, dtype)
            return x1, x2
        if numbers and isinstance(x2, _KINDS):
            return x1, x2
        x2 = number_as_tensor(x2, x1)
    elif isinstance(x2, tt.Tensor):
        x1 = number_as_tensor(x1, x2)
    else:
        raise TypeError(
            f"one argument must be an array; these are {type(x1).__name__} and {type(x2).__name__}"
        )
    dtype = tt.promote_types(x1.dtype, x2.dtype)
    return cast(x1, dtype), cast(x2, dtype)
