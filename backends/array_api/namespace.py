"""Namespace: the functions of an array library, and what kernels need besides them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from tt.core.library import DTYPES, contiguous_strides, errors

if TYPE_CHECKING:
    from tt.backends.array_api.backend import ArrayApiBackend

__all__ = ["ADDED", "NAMES", "ORDERS", "Namespace"]

Array = Any
"""An array of the namespace."""

ORDERS: Final = {"channels_last": (0, 2, 3, 1), "channels_last_3d": (0, 2, 3, 4, 1)}
"""Memory formats that name an order: the dimensions from the slowest to the fastest."""

ADDED: Final = frozenset(
    {"count_nonzero", "cumulative_prod", "diff", "nextafter", "reciprocal", "take_along_axis"}
)
"""Functions added by version 2024.12 of the standard; older libraries may have the names and refuse calls."""


NAMES: Final = """
abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2 atanh bfloat16 bitwise_and
bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bool broadcast_arrays broadcast_shapes
broadcast_to can_cast ceil clip complex128 complex64 concat conj copysign cos cosh count_nonzero cumulative_prod
cumulative_sum diff divide e empty empty_like equal exp expand_dims expm1 eye fft finfo flip float16 float32 float64
floor floor_divide from_dlpack full full_like greater greater_equal hypot iinfo imag inf int16 int32 int64 int8 isfinite
isin isinf isnan less less_equal linalg linspace log log10 log1p log2 logaddexp logical_and logical_not logical_or
logical_xor matmul matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply nan negative newaxis
nextafter nonzero not_equal ones ones_like permute_dims pi positive pow prod real reciprocal remainder repeat reshape
result_type roll round searchsorted sign signbit sin sinh sort sqrt square squeeze stack std subtract sum take
take_along_axis tan tanh tensordot tile tril triu trunc uint16 uint32 uint64 uint8 unique_all unique_counts
unique_inverse unique_values unstack var vecdot where zeros zeros_like
"""
"""The names of the standard, except that of `isdtype`, and two dtypes of half precision.

Kernels read them as attributes that are set once: `__getattr__` would make every other look-up slower, too.
"""


class Namespace:
    """The namespace that kernels get as `xp`: the library's functions and dtypes, and methods that many kernels need.

    Parameters
    ----------
    xp : module
        A namespace of the array API standard.
    backend : ArrayApiBackend
        The backend for which the kernels are.

    Examples
    --------
    >>> import numpy as np
    >>> from tt.backends.array_api import ArrayApiBackend
    >>> xp = ArrayApiBackend(np, "mine").kernel_namespace
    >>> xp.exp is np.exp, xp.axis(-1, 3), xp.is_kind(np.ones(2), "real floating")
    (True, 2, True)
    """

    def __init__(self, xp: Any, backend: ArrayApiBackend) -> None:
        self._xp, self.backend = xp, backend
        self.library: str = backend.library or getattr(xp, "__name__", "")
        """The name of the library."""
        self._capabilities: Mapping[str, Any] | None = None
        for name in NAMES.split():
            with suppress(AttributeError):
                setattr(self, name, getattr(xp, name))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    # --- what the library has ----------------------------------------------------------------------------------

    def has(self, names: str) -> bool:
        """Return whether the library has all functions named in a string ("take linalg.svd")."""
        version = getattr(self._xp, "__array_api_version__", "")
        new = ADDED if version and version < "2024.12" else frozenset()
        return all(name not in new and self.find(name) is not None for name in names.split())

    def find(self, name: str) -> Any:
        """Return a function of the library by its dotted name, or None."""
        return reduce(lambda space, part: getattr(space, part, None), name.split("."), self._xp)

    def can(self, capability: str) -> bool:
        """Return whether the library has a capability ("data-dependent shapes"); if nothing is known, True."""
        if self._capabilities is None:
            inspect = getattr(self._xp, "__array_namespace_info__", None)
            listed = {} if inspect is None else inspect().capabilities()
            self._capabilities = {**listed, **self.backend.capabilities}
        return bool(self._capabilities.get(capability, True))

    # --- what kernels need -------------------------------------------------------------------------------------

    def is_array(self, value: Any) -> bool:
        """Return whether an argument is an array rather than a Python number."""
        return hasattr(value, "shape")

    def operand(self, value: Any, like: Array) -> Array:
        """Return an argument as an array or scalar: a number takes the dtype of the other operand."""
        return value if hasattr(value, "shape") else self.backend.number(value, like.dtype)

    def number(self, value: Any, dtype: Any) -> Any:
        """Return a number in a dtype, as an operand with arrays of that dtype."""
        return self.backend.number(value, dtype)

    def is_kind(self, value: Array, kind: str | tuple[str, ...]) -> bool:
        """Return whether an array's dtype is of a kind of the standard ("bool", "integral", "complex floating")."""
        return self.backend.is_kind(value.dtype, kind)

    def isdtype(self, dtype: Any, kind: str | tuple[str, ...]) -> bool:
        """Return whether a dtype is of a kind of the standard."""
        return self.backend.is_kind(dtype, kind)

    def dtype_of(self, value: Array) -> Any:
        """Return tt's dtype of an array."""
        # NumPy's float64 equals None: a dtype that the library lacks must not be compared.
        return next(d for d in DTYPES if hasattr(self, d.name) and getattr(self, d.name) == value.dtype)

    def axis(self, dim: int, ndim: int) -> int:
        """Return a dimension counted from the front; the shape rule explains the IndexError to the user."""
        limit = ndim or 1
        if not -limit <= dim < limit:
            raise IndexError(f"dimension {dim} of {ndim}")
        return dim % limit

    def axes(self, dims: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
        """Return the dimensions to reduce, counted from the front; None and an empty list mean all."""
        if dims is None or (not isinstance(dims, int) and len(dims) == 0):
            return tuple(range(ndim))
        wrapped = [self.axis(d, ndim) for d in ([dims] if isinstance(dims, int) else dims)]
        if len(set(wrapped)) < len(wrapped):
            raise IndexError(f"a dimension is repeated in {dims}")
        return tuple(wrapped) if ndim else ()

    def copy(self, value: Array) -> Array:
        """Return an array that shares no memory with another."""
        return self.asarray(value, copy=True)

    def laid_out(self, shape: Sequence[int], dtype: Any, memory_format: Any) -> Array:
        """Return a new array whose dimensions have the order of a memory format, where arrays have strides at all."""
        order = ORDERS.get(str(memory_format).rpartition(".")[2])
        if order is None or not self.backend.has_views:
            return self.empty(tuple(shape), dtype=dtype)
        new = self.empty(tuple(shape[d] for d in order), dtype=dtype)
        return self.permute_dims(new, tuple(order.index(d) for d in range(len(order))))

    def copy_in(self, value: Array, memory_format: Any) -> Array:
        """Return a copy in a memory format; the shape rule has refused one that the shape cannot have."""
        preserved = str(memory_format).rpartition(".")[2] in ("preserve_format", "None")
        if preserved or not (self.backend.has_views and self.backend.mutable):
            return self.copy(value)
        new = self.laid_out(value.shape, value.dtype, memory_format)
        new[...] = value
        return new

    def reduced(self, result: Any, value: Array) -> Any:
        """Return a reduction of an array in row-major order: libraries keep another order of its dimensions."""
        if result.ndim < 2 or not self.backend.has_views or self.backend.is_row_major(value):
            return result
        return self.in_rows(result)

    def in_rows(self, value: Array) -> Array:
        """Return an array in row-major order, which shape rules promise: itself if it is so, or has no strides."""
        if self.backend.strides(value) == contiguous_strides(value.shape) or 0 in value.shape:
            return value
        return self.copy_in(value, "contiguous_format")

    def to_int64(self, value: Array) -> Array:
        """Return an array of integers as int64."""
        return self.astype(value, self.int64, copy=False)

    def positions(self, stop: int) -> Array:
        """Return the integers before `stop` as int64."""
        return self.arange(stop, dtype=self.int64)

    def as_number(self, value: Array) -> Array:
        """Return bools as uint8, which have an order and a sum, and other arrays as they are."""
        return self.astype(value, self.uint8) if self.is_kind(value, "bool") else value

    def take_along(self, values: Array, places: Array, axis: int) -> Array:
        """Return the elements at places along an axis, one place for each element of the result."""
        if self.has("take_along_axis"):
            return self.take_along_axis(values, places, axis=axis)
        xp = self
        last, index = xp.moveaxis(values, axis, -1), xp.moveaxis(places, axis, -1)
        # As places in the flat array: the row's number times the length, and the place in the row.
        rows = xp.reshape(self.positions(self.product(last.shape[:-1])), (*last.shape[:-1], 1))
        flat = xp.reshape(self.to_int64(index) + rows * last.shape[-1], (-1,))
        taken = xp.reshape(xp.take(xp.reshape(last, (-1,)), flat, axis=0), index.shape)
        return xp.moveaxis(taken, -1, axis)

    def nonzero_positions(self, mask: Array) -> tuple[Array, ...]:
        """Return the places of the true elements, one array of int64 for each dimension.

        Where the library has no shapes that depend on data, the elements are sorted, true ones first, and the first
        of them are taken: only their number comes to the host, as it must for a shape.
        """
        if self.can("data-dependent shapes"):
            return tuple(self.to_int64(position) for position in self.nonzero(mask))
        xp, flat = self, self.reshape(mask, (-1,))
        count = int(xp.sum(xp.astype(flat, xp.int64)))
        # False sorts before True, so the negated mask brings the true elements to the front, in their
        # order.
        position = self.to_int64(xp.argsort(xp.astype(xp.logical_not(flat), xp.uint8), stable=True))[:count]
        rows = []
        for size in reversed(tuple(mask.shape)):
            rows.append(position % max(size, 1))
            position = position // max(size, 1)
        return tuple(reversed(rows))

    def product(self, sizes: Iterable[int]) -> int:
        """Return the product of sizes."""
        return reduce(lambda a, b: a * b, sizes, 1)

    def refuse_zero(self, dividend: Any, other: Any) -> None:
        """Raise for an integer divisor that is or contains zero, unless there is nothing to divide."""
        if 0 in getattr(dividend, "shape", ()):
            return
        zero = bool(self.any(other == 0)) if self.is_array(other) else other == 0
        if zero:
            raise errors.DivisionByZeroError("ZeroDivisionError: an integer is divided by zero")
