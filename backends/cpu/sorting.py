"""Kernels that sort and count: NumPy puts NaN last, as PyTorch does."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

# --- sorting ---------------------------------------------------------------------------------------------------


def order(self: Array, axis: int, descending: bool) -> Array:
    """Return the stable order of the elements along an axis; the largest (and NaN) first when descending."""
    if self.dtype == np.bool_:  # bytes of bools that came from elsewhere may be others than 0 and 1
        self = np.asarray(self.view(np.uint8) != 0)
    if not descending:
        return np.argsort(self, axis=axis, kind="stable")
    # Of the elements in reverse: equal ones stay in their order, and NaN, the last, comes first.
    reverse: Array = np.flip(np.argsort(np.flip(self, axis), axis=axis, kind="stable"), axis)
    result: Array = np.subtract(self.shape[axis] - 1, reverse)
    return result


def _axis(self: Array, dim: int) -> int:
    if not -(self.ndim or 1) <= dim < (self.ndim or 1):
        raise IndexError("sort along a dimension that is not there")
    return dim % (self.ndim or 1)


@cpu.kernel("sort", dtypes="real")
def sort(self: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    axis = _axis(self, dim)
    if not self.ndim:
        return self.copy(), np.zeros((), np.int64)
    indices = order(self, axis, descending)
    return np.take_along_axis(self, indices, axis), indices


@cpu.kernel("sort", dtypes="real")
def stable_sort(self: Array, dim: int, descending: bool, stable: bool) -> tuple[Array, Array]:
    return sort(self, dim, descending)


@cpu.kernel("argsort", dtypes="real")
def argsort(self: Array, dim: int, descending: bool, stable: bool) -> Array:
    axis = _axis(self, dim)
    return order(self, axis, descending) if self.ndim else np.zeros((), np.int64)


@cpu.kernel("topk", dtypes="real_number")
def topk(self: Array, k: int, dim: int, largest: bool, sorted: bool) -> tuple[Array, Array]:
    axis = _axis(self, dim)
    size = self.shape[axis] if self.ndim else 1
    if not 0 <= k <= size:
        raise ValueError("topk() of more than there are")
    if not self.ndim:
        return self.copy(), np.zeros((), np.int64)
    part = (slice(None),) * axis
    # Partitioning and sorting a part pays only where the part is small.
    if k * 4 > size:
        indices = order(self, axis, largest)[(*part, slice(k))]
        return np.take_along_axis(self, indices, axis), np.ascontiguousarray(indices)
    if not k:
        shape = (*self.shape[:axis], 0, *self.shape[axis + 1 :])
        return np.empty(shape, self.dtype), np.empty(shape, np.int64)
    # Only the k that are wanted are sorted.
    last, taken = (size - k, slice(size - k, None)) if largest else (k, slice(k))
    # The places are sorted, so that equal elements keep their order in the stable sort below.
    chosen: Array = np.sort(np.argpartition(self, last, axis)[(*part, taken)], axis)
    values = np.take_along_axis(self, chosen, axis)
    within = order(values, axis, largest)
    return np.take_along_axis(values, within, axis), np.take_along_axis(chosen, within, axis)


# --- searching -------------------------------------------------------------------------------------------------


@cpu.kernel("_searchsorted", dtypes="real_number")
def searchsorted(sorted_sequence: Array, self: Array, right: bool) -> Array:
    size = sorted_sequence.shape[-1] if sorted_sequence.ndim else 0
    floats = sorted_sequence.dtype.kind == "f"
    if sorted_sequence.ndim == 1 and not (floats and size and np.isnan(sorted_sequence[-1])):
        positions = np.asarray(np.searchsorted(sorted_sequence, self, "right" if right else "left"))
        # NumPy puts NaN behind all others, too.
        return positions
    if sorted_sequence.ndim != 1 and (
        not sorted_sequence.ndim or sorted_sequence.shape[:-1] != self.shape[:-1] or not self.ndim
    ):
        raise ValueError("a sequence of another shape, which the shape rule refuses")
    if not size:
        return np.zeros(self.shape, np.int64)
    rows = sorted_sequence.reshape(-1, size)
    if self.ndim and self.shape[-1] >= 64 and not (floats and np.isnan(rows[:, -1]).any()):
        side: Any = "right" if right else "left"
        values = self.reshape(rows.shape[0], -1)
        return np.stack([np.searchsorted(*row, side) for row in zip(rows, values, strict=True)]).reshape(
            self.shape
        )
    return _bisect(sorted_sequence, self, right)


def _bisect(sequence: Array, values: Array, right: bool) -> Array:
    """Return the places in rows of a sequence: all values halve their own range at once."""
    size = sequence.shape[-1]
    start = np.zeros(values.shape, np.int64)
    stop = np.full(values.shape, size, np.int64)
    # The bit length of the size bounds how often any of the ranges can be halved.
    for _ in range(size.bit_length()):
        middle = (start + stop) // 2
        # Finished ranges may point behind the end; what they read there is not used.
        at = np.minimum(middle, size - 1)
        seen = sequence[at] if sequence.ndim == 1 else np.take_along_axis(sequence, at, -1)
        stays = seen > values if right else seen >= values
        unfinished = start < stop
        start = np.where(unfinished & ~stays, middle + 1, start)
        stop = np.where(unfinished & stays, middle, stop)
    return start


@cpu.kernel("isin", dtypes="real_number")
def isin(elements: Array, test_elements: Array, assume_unique: bool, invert: bool) -> Array:
    # NumPy's assume_unique is a promise whose breach gives wrong results; PyTorch's is a hint.
    return np.isin(elements, test_elements, invert=invert)


# --- unique ----------------------------------------------------------------------------------------------------


@cpu.kernel("_unique2", dtypes="real")
def unique(self: Array, sorted: bool, return_inverse: bool, return_counts: bool) -> tuple[Any, Any, Any]:
    # NaN differs from itself, so each is one of its own.
    asked: Any = {"return_inverse": return_inverse, "return_counts": return_counts, "equal_nan": False}
    results = np.unique(self, **asked)
    output, *more = results if isinstance(results, tuple) else (results,)
    return (
        output,
        more.pop(0).reshape(self.shape) if return_inverse else np.empty(0, np.int64),
        more.pop(0) if return_counts else np.empty(0, np.int64),
    )


@cpu.kernel("unique_dim", dtypes="real")
def unique_dim(
    self: Array, dim: int, sorted: bool, return_inverse: bool, return_counts: bool
) -> tuple[Any, Any, Any]:
    axis = _axis(self, dim)
    output, inverse, counts = np.unique(
        self if self.ndim else self.reshape(1),
        return_inverse=True,
        return_counts=True,
        axis=axis,
        equal_nan=False,
    )
    return (
        output,
        inverse.reshape(-1) if return_inverse else np.empty(0, np.int64),
        counts if return_counts else np.empty(0, np.int64),
    )


@cpu.kernel("_unique_consecutive", dtypes="real", half="native")
def unique_consecutive(self: Array, return_inverse: bool, return_counts: bool) -> tuple[Array, Array, Array]:
    flat = self.reshape(-1)
    begins = np.ones(flat.size, np.bool_)
    np.not_equal(flat[1:], flat[:-1], out=begins[1:])
    starts = np.flatnonzero(begins)
    nothing = np.empty(0, np.int64)
    return (
        flat[starts],
        (np.cumsum(begins) - 1).reshape(self.shape) if return_inverse else nothing,
        np.diff(starts, append=flat.size) if return_counts else nothing,
    )
