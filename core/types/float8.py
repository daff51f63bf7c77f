"""Conversions to and from the dtypes of eight bits.

PyTorch converts every other dtype to float32 first, and rounds that to the nearest number, halves to even.  Numbers
beyond the largest one become it in float8_e4m3fn, infinite in float8_e5m2, and NaN in the other three.
float8_e8m0fnu has no sign, and takes the absolute value.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import ml_dtypes
import numpy as np

from tt.core.types.dtype import STORED

__all__ = ["decode_float8", "encode_float8", "is_float8"]

Array = np.ndarray[Any, Any]

_NATIVE: Final = frozenset(d.numpy for d in STORED)
_E4M3FN: Final = np.dtype(ml_dtypes.float8_e4m3fn)
_E5M2: Final = np.dtype(ml_dtypes.float8_e5m2)
_E8M0FNU: Final = np.dtype(ml_dtypes.float8_e8m0fnu)
_UNSIGNED_NAN: Final = (np.dtype(ml_dtypes.float8_e4m3fnuz), np.dtype(ml_dtypes.float8_e5m2fnuz))


def is_float8(native: Any) -> bool:
    """Return whether a NumPy dtype is one of the five dtypes of eight bits.

    Examples
    --------
    >>> import numpy as np, tt
    >>> from tt.core.types.float8 import is_float8
    >>> is_float8(tt.float8_e5m2.numpy), is_float8(np.dtype(np.uint8))
    (True, False)
    """
    return native.itemsize == 1 and native in _NATIVE


def encode_float8(array: Array, native: Any) -> Array:
    """Return a real or bool array in a dtype of eight bits, with its dimensions in the same order in memory.

    Examples
    --------
    >>> import numpy as np, tt
    >>> from tt.core.types.float8 import encode_float8
    >>> encode_float8(np.array([1.0, 1.3, 1e6]), tt.float8_e4m3fn.numpy).astype(float).tolist()
    [1.0, 1.25, 448.0]
    """
    if array.dtype == native:
        return array.copy("K")
    # What is out of range is not a mistake here: each dtype has its rule for it.
    with np.errstate(all="ignore"):
        single = decode_float8(array) if is_float8(array.dtype) else array.astype(np.float32, copy=False)
        if native == _E4M3FN:
            single = np.clip(single, -448, 448)
        elif native == _E8M0FNU:
            single = np.abs(single)
        encoded: Array = np.asarray(single).astype(native)
    if native == _E8M0FNU:
        codes = encoded.view(np.uint8)
        codes[single < 2.0**-127] = 0  # the smallest number, and ml_dtypes makes zero NaN
    if native == _E5M2:
        # Of the three NaN patterns PyTorch writes the one with all bits set, and ml_dtypes another.
        codes = encoded.view(np.uint8)
        np.bitwise_or(codes, (codes & 0x7F) > 0x7C, out=codes)
    return encoded


@cache
def _numbers(native: Any) -> Array:
    """Return the numbers of all 256 patterns."""
    numbers: Array = np.arange(256, dtype=np.uint8).view(native).astype(np.float32)
    if native in _UNSIGNED_NAN:
        numbers[128] = np.nan  # where other dtypes have -0.0, and ml_dtypes gives it that sign
    return numbers


def decode_float8(array: Array) -> Array:
    """Return an array of a dtype of eight bits in float32, which holds all its numbers.

    Examples
    --------
    >>> import numpy as np, tt
    >>> from tt.core.types.float8 import decode_float8
    >>> decode_float8(np.array([0x38, 0x40], np.uint8).view(tt.float8_e4m3fn.numpy)).tolist()
    [1.0, 2.0]
    """
    # By a table of the 256 numbers, in which the NaN without a sign is put right.
    return np.asarray(_numbers(array.dtype)[array.view(np.uint8)])
