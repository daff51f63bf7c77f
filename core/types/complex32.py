"""Conversions to and from complex32, two numbers of float16.

PyTorch converts by way of complex64 and float32.  NumPy does not count the dtype among the complex ones: its kind
differs, and it has no `real` and `imag`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.core.types import dtype as dt

__all__ = ["decode_complex32", "encode_complex32", "is_complex32"]

Array = np.ndarray[Any, Any]

_NATIVE: Final = dt.complex32.numpy


def is_complex32(native: Any) -> bool:
    """Return whether a NumPy dtype is complex32.

    Examples
    --------
    >>> import numpy as np, tt
    >>> from tt.core.types.complex32 import is_complex32
    >>> is_complex32(tt.complex32.numpy), is_complex32(np.dtype(np.complex64))
    (True, False)
    """
    return bool(native == _NATIVE)


def decode_complex32(array: Array) -> Array:
    """Return an array of complex32 in complex64, which holds all its numbers; others as they are.

    Examples
    --------
    >>> import numpy as np, tt
    >>> from tt.core.types.complex32 import encode_complex32, decode_complex32
    >>> decode_complex32(encode_complex32(np.array([1 + 2j]))).tolist()
    [(1+2j)]
    """
    return array.astype(np.complex64) if is_complex32(array.dtype) else array


def encode_complex32(array: Array) -> Array:
    """Return an array of any other dtype than the ones of eight bits in complex32.

    Examples
    --------
    >>> import numpy as np
    >>> from tt.core.types.complex32 import encode_complex32
    >>> encode_complex32(np.array([1 + 1e9j])).astype(complex).tolist()
    [(1+infj)]
    """
    if array.dtype == _NATIVE:
        return array
    # What float16 cannot hold becomes infinite or zero without a warning, as in PyTorch.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        encoded: Array = np.asarray(array.astype(np.complex64, copy=False)).astype(_NATIVE)
    return encoded
