"""Arrays of other libraries: recognising, checking and sharing them."""

from __future__ import annotations

from math import prod
from operator import index
from typing import Any, Final

import numpy as np

from tt.core.errors import TTError, ValueRangeError
from tt.core.tensor.tensor import Tensor
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import from_numpy_dtype

__all__ = ["check_array", "from_interface", "has_buffer", "is_array_like", "is_elsewhere", "share"]

# --- protocols ---------------------------------------------------------------------------------------------------

_PLAIN: Final = frozenset((bool, int, float, complex, list, tuple))


def is_array_like(data: Any) -> bool:
    """Return whether the object is an array, or a NumPy scalar, that can be shared or read in one piece."""
    if type(data) in _PLAIN:
        return False
    if isinstance(data, np.ndarray | np.generic):
        return not isinstance(data, np.str_ | np.bytes_)
    return any(
        hasattr(data, name) for name in ("__dlpack__", "__array_interface__", "__cuda_array_interface__")
    )


def is_elsewhere(data: Any) -> bool:
    """Return whether an array may be on another device than the CPU."""
    return not isinstance(data, np.ndarray | np.generic) and not hasattr(data, "__array_interface__")


def has_buffer(data: Any) -> bool:
    """Return whether the object has Python's buffer protocol."""
    try:
        memoryview(data).release()
    except TypeError:
        return False
    return True


def share(data: Any) -> np.ndarray[Any, Any] | Tensor:
    """Return another library's array without copying it: a NumPy array, or a tensor where that is not possible."""
    if isinstance(data, np.ndarray):
        return data.view(np.ndarray)
    if isinstance(data, np.generic):
        return np.asarray(data)
    if hasattr(data, "__array_interface__"):
        return from_interface(data, data.__array_interface__)
    from tt.core.methods.interop import import_array

    return import_array(data)


class _Described:
    """An object with its `__array_interface__` as read once, because a second read could differ."""

    def __init__(self, base: Any, interface: dict[str, Any]) -> None:
        self.base, self.__array_interface__ = base, interface


def from_interface(source: Any, interface: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return the array that an `__array_interface__` describes; it keeps the source alive.

    Raises
    ------
    ValueError
        For descriptions that NumPy does not understand, or that reach beyond the buffer that they name.
    """
    try:
        if not isinstance(interface.get("data"), tuple):
            _check_reach(source, interface)
        return np.asarray(_Described(source, interface))
    except TTError:
        raise
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ValueRangeError(
            f"the __array_interface__ of the {type(source).__name__} is not valid: {error}"
        ) from error


def _check_reach(source: Any, interface: dict[str, Any]) -> None:
    """Refuse a description that reaches beyond its buffer; NumPy trusts it."""
    memory = interface.get("data")
    with memoryview(source if memory is None else memory) as view:
        length = view.nbytes
    itemsize, shape = np.dtype(interface["typestr"]).itemsize, tuple(map(index, interface["shape"]))
    strides = interface.get("strides")
    if strides is None:
        strides = [itemsize * prod(shape[place + 1 :]) for place in range(len(shape))]
    first = last = index(interface.get("offset", 0))
    for size, stride in zip(shape, map(index, strides), strict=True):
        first += min(0, (size - 1) * stride)
        last += max(0, (size - 1) * stride)
    if min(shape, default=1) > 0 and (first < 0 or last + itemsize > length):
        raise ValueRangeError(
            f"the __array_interface__ of the {type(source).__name__} describes the bytes {first} to {last + itemsize} "
            f"of a buffer of {length}"
        )


# --- checks of NumPy arrays --------------------------------------------------------------------------------------


def check_array(array: np.ndarray[Any, Any], what: str = "numpy array") -> Dtype:
    """Return the dtype of an array that a tensor can share; messages call it `what`.

    Raises
    ------
    TypeError, ValueError
        For dtypes, byte orders and strides that tensors do not have.
    """
    dtype = from_numpy_dtype(array.dtype)
    if not array.dtype.isnative:
        raise ValueRangeError(
            f"given {what} has byte order different from the native byte order; conversion between byte orders is "
            "not supported\n  try: array.astype(array.dtype.newbyteorder('='))"
        )
    if any(stride < 0 for stride in array.strides):
        raise ValueRangeError(
            f"At least one stride in the given {what} is negative, and tensors with negative strides are not "
            "supported\n  try: array.copy()"
        )
    if any(stride % array.itemsize for stride in array.strides):
        raise ValueRangeError(
            f"given {what} strides not a multiple of the element byte size\n  try: array.copy()"
        )
    return dtype
