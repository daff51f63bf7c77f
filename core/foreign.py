"""Arrays of other libraries: recognising, checking and sharing them."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np

from tt.core.dtype import dtype as Dtype
from tt.core.dtype import from_numpy_dtype
from tt.core.errors import ValueRangeError
from tt.core.tensor import Tensor

__all__ = ["check_array", "has_buffer", "is_array_like", "is_elsewhere", "share", "warn_if_read_only"]

# --- protocols ---------------------------------------------------------------------------------------------------

_PLAIN: Final = frozenset((bool, int, float, complex, list, tuple))


def is_array_like(data: Any) -> bool:
    """Tell whether the object is an array, or a NumPy scalar, that can be shared or read in one piece."""
    if type(data) in _PLAIN:
        return False
    if isinstance(data, np.ndarray | np.generic):
        return not isinstance(data, np.str_ | np.bytes_)
    return any(
        hasattr(data, name) for name in ("__dlpack__", "__array_interface__", "__cuda_array_interface__")
    )


def is_elsewhere(data: Any) -> bool:
    """Tell whether an array may be on another device than the CPU."""
    return not isinstance(data, np.ndarray | np.generic) and not hasattr(data, "__array_interface__")


def has_buffer(data: Any) -> bool:
    """Tell whether the object has Python's buffer protocol."""
    try:
        memoryview(data).release()
    except TypeError:
        return False
    return True


def share(data: Any) -> np.ndarray[Any, Any] | Tensor:
    """Return another library's array without copying it: a NumPy array, or a tensor where that is not possible."""
    if isinstance(data, np.ndarray):
        return data.view(np.ndarray)
    if isinstance(data, np.generic) or hasattr(data, "__array_interface__"):
        return np.asarray(data)
    from tt.core.dlpack import import_array

    return import_array(data)


# --- checks of NumPy arrays --------------------------------------------------------------------------------------


def check_array(array: np.ndarray[Any, Any]) -> Dtype:
    """Return the dtype of an array that a tensor can share.

    Raises
    ------
    TypeError, ValueError
        For dtypes, byte orders and strides that tensors do not have.
    """
    dtype = from_numpy_dtype(array.dtype)
    if not array.dtype.isnative:
        raise ValueRangeError(
            "given numpy array has byte order different from the native byte order; conversion between byte orders is "
            "not supported\n  try: array.astype(array.dtype.newbyteorder('='))"
        )
    if any(stride < 0 for stride in array.strides):
        raise ValueRangeError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "supported\n  try: array.copy()"
        )
    if any(stride % array.itemsize for stride in array.strides):
        raise ValueRangeError(
            "given numpy array strides not a multiple of the element byte size\n  try: array.copy()"
        )
    return dtype


def warn_if_read_only(array: np.ndarray[Any, Any], stacklevel: int) -> None:
    """Warn that tensors cannot be protected against writing."""
    if not array.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable, and tensors cannot be protected against writing: writing to this "
            "tensor fails or is undefined. Copy the array to make it writable.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )
