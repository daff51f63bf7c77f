"""The backend of the CPU: handles are NumPy arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any, Final

import ml_dtypes
import numpy as np

from tt.backends.array_api import ArrayApiBackend
from tt.backends.cpu import memory
from tt.backends.cpu.native.loading import load
from tt.core.library import (
    Device,
    MetaHandle,
    contiguous_strides,
    decode_complex32,
    decode_float8,
    dense_strides,
    dtype,
    encode_complex32,
    encode_float8,
    errors,
    from_numpy_dtype,
    is_complex32,
    is_float8,
    order_of_strides,
    to_dtype,
    warn_user,
)

__all__ = [
    "Array",
    "CpuBackend",
    "cast",
    "duplicate",
    "element_strides",
    "empty_view",
    "extent",
    "in_order_of",
    "in_rows",
    "is_ambiguous",
    "new_array",
    "new_like",
    "new_ones",
    "owner_of",
    "python_number",
]

Array = np.ndarray[Any, Any]

_BFLOAT16: Final = np.dtype(ml_dtypes.bfloat16)


def cast(array: Array, native_dtype: np.dtype[Any]) -> Array:
    """Return a copy in another dtype, without NumPy's warnings where values do not fit.

    Complex numbers lose their imaginary part, with a warning as in PyTorch.
    """
    if is_ambiguous(array):
        result = new_like(array, native_dtype)
        result[...] = cast(array.reshape(-1), native_dtype).reshape(array.shape)
        return result
    # NumPy has neither half-precision complex numbers nor float8, so both are handled around its own cast.
    array = decode_complex32(array)
    if array.dtype.kind == "c" and native_dtype.kind not in "cbW":
        warn_user("complex numbers become real ones, and their imaginary parts are lost")
        array = array.real
    if array.dtype.kind == "b":  # bytes of bools that came from elsewhere may be others than 0 and 1
        array = np.asarray(array.view(np.uint8) != 0)
    if is_float8(native_dtype):
        # A broadcast array is copied: views of the encoded bytes must not overlap.
        return encode_float8(array.copy() if 0 in array.strides else array, native_dtype)
    if is_float8(array.dtype):
        array = decode_float8(array)
    if is_complex32(native_dtype):
        return encode_complex32(array.copy() if 0 in array.strides else array)
    order: Any = "C" if 0 in array.strides else "K"
    # np.errstate takes longer than a short cast, so casts in which all values fit go without.
    if native_dtype.kind in "cfb" and (
        native_dtype.itemsize >= array.itemsize or _holds(native_dtype, array)
    ):
        return array.astype(native_dtype, order=order)
    with np.errstate(all="ignore"):
        return array.astype(native_dtype, order=order)


def _holds(native_dtype: np.dtype[Any], array: Array) -> bool:
    """Return whether a shorter floating dtype is wide enough for all integers of an array's dtype."""
    return native_dtype.itemsize >= 4 and array.dtype.kind in "iu"


def duplicate(array: Array) -> Array:
    """Return a copy with dimensions in the same order in memory; those that repeat elements have none."""
    # Broadcast memory cannot be kept, as its elements overlap, so it becomes row-major.
    if is_ambiguous(array):
        result = new_like(array, array.dtype)
        result[...] = array
        return result
    return array.copy("C" if 0 in array.strides else "K")


def is_ambiguous(array: Array) -> bool:
    """Return whether an array is row-major although its strides are not those of row-major arrays.

    Dimensions of one element may have any stride.  Those of an image with one channel, or of weights of one pixel, say
    which memory format it has, and NumPy does not copy them.
    """
    if 1 not in array.shape or not array.flags.c_contiguous or not array.size:
        return False
    step = array.itemsize
    for size, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if stride != step:
            return True
        step *= size
    return False


def new_like(array: Array, native_dtype: np.dtype[Any]) -> Array:
    """Return an array of any content with the strides of a row-major one, in dimensions of one element, too."""
    scale = native_dtype.itemsize
    strides = [abs(step) // array.itemsize * scale for step in array.strides]  # those of a flip are negative
    return np.ndarray(array.shape, native_dtype, strides=strides)


def in_rows(result: Any, self: Array) -> Any:
    """Return what was made of an array in row-major order: NumPy keeps another order of dimensions."""
    return result if result.ndim < 2 or self.flags.c_contiguous else np.ascontiguousarray(result)


def in_order_of(result: Array, arrays: Sequence[Array]) -> Array:
    """Return a result with the strides that the shape rule of pointwise operators derives from the arguments'."""
    operands = [
        MetaHandle(array.shape, from_numpy_dtype(array.dtype), element_strides(array)) for array in arrays
    ]
    strides = dense_strides(result.shape, operands)
    if element_strides(result) == strides:
        return result
    new = np.ndarray(result.shape, result.dtype, strides=[step * result.itemsize for step in strides])
    new[...] = result
    return new


def extent(owner: Array) -> int:
    """Return how many bytes are between the start of an owner's first element and the end of its last one.

    Memory of another library may have gaps, or elements that repeat.
    """
    if owner.flags.c_contiguous or not owner.size:
        return owner.nbytes
    steps = zip(owner.shape, owner.strides, strict=True)
    return int(owner.itemsize + sum((size - 1) * stride for size, stride in steps))


def owner_of(array: Array) -> Array:
    """Return the array that allocated the memory, or the first one made over memory of another library."""
    while type(array.base) is np.ndarray:
        array = array.base
    return array


def element_strides(array: Array) -> tuple[int, ...]:
    """Return the strides of a tensor in elements.

    NumPy's strides of an array that it makes without elements are zeros, and so are those of its own views of it; a
    tensor's are those of its shape.
    """
    if not array.size and not any(array.strides) and not owner_of(array).size:
        return contiguous_strides(array.shape)
    size = array.itemsize
    return tuple(stride // size for stride in array.strides)


def empty_view(
    array: Array,
    shape: Sequence[int],
    strides: Sequence[int],
    start: int = 0,
    dtype: np.dtype[Any] | None = None,
) -> Array:
    """Return a view without elements; its strides, and its beginning behind that of the array, are in bytes.

    NumPy begins no array behind the end of its memory, but has rows that do.
    """
    if not array.flags.c_contiguous:
        array = array[:0]  # NumPy takes no memory with gaps
    # The second of two rows that lie `start` bytes apart begins there.
    rows = np.ndarray((2, *shape), array.dtype if dtype is None else dtype, array, 0, (start, *strides))
    return rows[1]  # type: ignore[no-any-return]


def python_number(array: Array) -> bool | int | float | complex:
    """Return the only element; NumPy returns those of bfloat16 and complex32 in their own types."""
    array = decode_complex32(array)
    item: Any = array.item()
    # bfloat16 and float8 give a NumPy scalar of their own, which is no Python number.
    return float(item) if array.dtype.kind not in "biufc" else item


@cache  # kernels ask in every call, and np.isdtype takes longer than a short kernel
def _is_kind(native_dtype: Any, kind: str | tuple[str, ...]) -> bool:
    if native_dtype == _BFLOAT16 or is_float8(native_dtype):
        return "real floating" in ((kind,) if isinstance(kind, str) else kind)
    if is_complex32(native_dtype):
        return "complex floating" in ((kind,) if isinstance(kind, str) else kind)
    return np.isdtype(native_dtype, kind)


def _no_array(
    op: str, shape: Sequence[int], native_dtype: np.dtype[Any], error: Exception
) -> errors.SizeLimitError | errors.HostMemoryError:
    """Return the error for an array that NumPy did not make: there is none of the size, or no memory."""
    if isinstance(error, MemoryError):
        return errors.HostMemoryError(op, prod(shape) * np.dtype(native_dtype).itemsize, str(error))
    return errors.SizeLimitError(op, shape, np.dtype(native_dtype).name, reason=str(error))


def order_in(array: Array) -> str | None:
    """Return the name of the memory format with the channels last that an array has, or None."""
    return order_of_strides(array.shape, array.strides)


NATIVE: Final = load("copies")
CREATION: Final = load("creation")
_CAST: Final[Callable[[Array, Any], Array]] = cast if NATIVE is None else NATIVE.to_copy
_CLONE: Final[Callable[[Array], Array]] = duplicate if NATIVE is None else NATIVE.clone
_FORMAT: Final[Callable[[Array], str | None]] = order_in if NATIVE is None else NATIVE.memory_format
new_array: Final[Callable[[Sequence[int], Any], Array]] = np.empty if CREATION is None else CREATION.empty
"""Returns an array of any content, given its shape and dtype; a large one in memory that was used before."""
new_ones: Final[Callable[[Sequence[int], Any], Array]] = np.ones if CREATION is None else CREATION.ones
"""Returns an array of ones, given its shape and dtype."""


class CpuBackend(ArrayApiBackend):
    """NumPy arrays, with bfloat16 and the like of ml_dtypes."""

    module = "tt.cpu"
    library = "NumPy"
    autocast_dtypes = (to_dtype("bfloat16"), to_dtype("float16"))  # float16 has no instructions of its own

    def __init__(self) -> None:
        super().__init__(np, "cpu", mutable=True, has_views=True)
        limit = memory.limit_in(os.environ)
        if limit is not None:
            memory.set_cache_limit(limit)

    # --- dtypes ------------------------------------------------------------------------------------------------

    def native_dtype(self, dtype: dtype) -> Any:
        """Return the NumPy dtype."""
        return dtype.numpy

    def extension(self, family: str) -> Any:
        """Return the compiled extension of a family of kernels, or None where NumPy and SciPy serve."""
        from tt.backends.cpu.native.loading import load

        return load(family)

    def is_kind(self, native_dtype: np.dtype[Any], kind: str | tuple[str, ...]) -> bool:
        """Return whether a dtype is of a kind of the standard; np.isdtype refuses dtypes of ml_dtypes."""
        return _is_kind(native_dtype, kind)

    # --- handles -----------------------------------------------------------------------------------------------

    def normalise(self, result: Any) -> Array:
        """Turn a NumPy scalar into an array without dimensions."""
        return np.asarray(result)

    def cast(self, handle: Array, native_dtype: np.dtype[Any]) -> Array:
        """Return a copy in another dtype."""
        try:
            return _CAST(handle, native_dtype)
        except (ValueError, MemoryError) as error:
            raise _no_array("cast", handle.shape, native_dtype, error) from error

    def empty(self, shape: Sequence[int], native_dtype: np.dtype[Any]) -> Array:
        """Return an array with any content."""
        try:
            return new_array(tuple(shape), native_dtype)
        except (ValueError, MemoryError) as error:
            raise _no_array("empty", shape, native_dtype, error) from error

    def from_numpy(self, array: Array, device: Device | None = None) -> Array:
        """Return the array itself, whose memory is shared; a copy where its elements are not aligned."""
        # Native kernels read whole elements, which need aligned memory; NumPy itself would not.
        if not array.flags.aligned:
            return array.copy()
        return array if type(array) is np.ndarray else np.asarray(array)

    def to_numpy(self, handle: Array) -> Array:
        """Return the array itself: the memory is shared."""
        return handle

    def item(self, handle: Array) -> bool | int | float | complex:
        """Return the only element as a Python number."""
        return python_number(handle)

    def copy_into(self, target: Array, source: Array) -> None:
        """Write the source, cast and broadcast, into the target."""
        if source.dtype == target.dtype:
            target[...] = source
        else:
            target[...] = cast(source, target.dtype)

    def clone(self, handle: Array) -> Array:
        """Return a copy with dimensions in the same order in memory."""
        try:
            return _CLONE(handle)
        except (ValueError, MemoryError) as error:
            raise _no_array("clone", handle.shape, handle.dtype, error) from error

    def ordered_as(self, handle: Array, like: Array) -> Array:
        """Return a result of NumPy's `where`, which gives dimensions of one element strides of its own."""
        if handle.ndim < 2 or like.flags.c_contiguous or handle.strides == like.strides:
            return handle
        return in_order_of(handle, [like])

    # --- memory ------------------------------------------------------------------------------------------------

    def memory_stats(self, device: Device) -> dict[str, int]:
        """Return how much memory the large results of native kernels use, and is kept for others."""
        return memory.memory_stats()

    def reset_peak_memory_stats(self, device: Device) -> None:
        """Reset the peak values."""
        memory.reset_peak()

    def reset_accumulated_memory_stats(self, device: Device) -> None:
        """Reset the counts."""
        memory.reset_counts()

    def empty_cache(self) -> None:
        """Give back the memory that is kept for large results."""
        memory.empty_cache()

    def set_cache_limit(self, nbytes: int) -> None:
        """Keep at most so many bytes for large results."""
        memory.set_cache_limit(nbytes)

    def cache_limit(self) -> int:
        """Return how many bytes are kept at most."""
        return memory.cache_limit()

    def strides(self, handle: Array) -> tuple[int, ...]:
        """Return the strides in elements."""
        return element_strides(handle)

    def is_row_major(self, handle: Array) -> bool:
        """Return whether the elements are in row-major order, with nothing between them."""
        return handle.flags.c_contiguous

    def is_laid_out_as(self, handle: Array, other: Array) -> bool:
        """Return whether a handle is dense, and has the strides of another, which has its shape."""
        if handle.flags.c_contiguous and other.flags.c_contiguous:
            return True
        return super().is_laid_out_as(handle, other)

    # Without a frame of Python: it is asked in every call of an operator whose results follow a memory format.
    memory_format = staticmethod(_FORMAT)  # type: ignore[assignment]

    def offset(self, handle: Array) -> int:
        """Return the position of the first element in the memory of its owner, in elements."""
        owner = self.storage_owner(handle)
        # The owner itself is the usual case, and asking for its address twice takes longer than comparing.
        return 0 if owner is handle else (self.data_ptr(handle) - self.data_ptr(owner)) // handle.itemsize

    def data_ptr(self, handle: Array) -> int:
        """Return the address of the first element."""
        address: int = handle.__array_interface__["data"][0] if NATIVE is None else NATIVE.address(handle)
        return address

    def is_writable(self, handle: Array) -> bool:
        """Return whether NumPy lets the array be written."""
        return handle.flags.writeable

    def storage_owner(self, handle: Array) -> Array:
        """Return the array that allocated the memory, or the first one made over memory of another library."""
        return owner_of(handle)

    def moved(self, handle: Array, origin: Array, owner: Array) -> Array:
        """Return an array at the same place of other memory."""
        offset = self.data_ptr(handle) - self.data_ptr(origin)
        if handle.size:
            new = np.ndarray(handle.shape, handle.dtype, owner, offset, handle.strides)
        else:
            new = empty_view(owner, handle.shape, handle.strides, max(offset, 0), handle.dtype)
        # Read-only memory, as of an array of another program, stays read-only in its new place.
        if not handle.flags.writeable:
            new.flags.writeable = False
        return new

    def storage_nbytes(self, owner: Array) -> int:
        """Return the size of the memory in bytes."""
        return extent(owner)
