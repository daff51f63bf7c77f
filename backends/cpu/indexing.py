"""Kernels that read and write at places which arrays name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array, cast
from tt.core.library import KernelTable, errors

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

# --- along one dimension ---------------------------------------------------------------------------------------


def expect_in_range(index: Array, size: int, dim: int) -> None:
    """Raise unless every index is from 0 to before a size; NumPy would count negative ones from the end."""
    if not _in_range(index, size):
        wrong = index[(index < 0) | (index >= size)].flat[0]
        raise errors.IndexValueError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


def _in_range(index: Array, size: int) -> bool:
    """Tell whether every index is from 0 to before a size; as unsigned numbers, negative ones are large."""
    if index.dtype not in (np.int64, np.int32):
        raise TypeError("an index of another dtype, which the shape rule refuses")
    unsigned = index.view(np.uint64 if index.itemsize == 8 else np.uint32)
    return not index.size or bool(np.maximum.reduce(unsigned, axis=None) < size)


def _expect_dim(self: Array, dim: int, index: Array) -> None:
    """Raise what the shape rule explains unless dimension and index, which names no place, are of the right kind."""
    limit = self.ndim or 1
    if not -limit <= dim < limit or index.dtype not in (np.int64, np.int32):
        raise ValueError("a dimension or index of another kind")


def _values(src: Array, places: Array) -> Array:
    """Return the part of the source that has a place."""
    src = src if src.ndim else src.reshape(1)
    if src.ndim != places.ndim or any(n > limit for n, limit in zip(places.shape, src.shape, strict=True)):
        raise ValueError("a larger index than source, which the shape rule refuses")
    return src[tuple(slice(size) for size in places.shape)]


def _places(self: Array, dim: int, index: Array) -> tuple[Array, int, Array, tuple[slice, ...]]:
    """Return self and index with at least one dimension, the axis, and the part of self beside the index.

    A ValueError or TypeError is explained by the shape rule, which runs after it.
    """
    if not self.ndim:
        self = self.reshape(1)
    if not index.ndim:
        index = index.reshape(1)
    if index.ndim != self.ndim or not -self.ndim <= dim < self.ndim:
        raise ValueError("an index of other dimensions, which the shape rule refuses")
    axis = dim % self.ndim
    expect_in_range(index, self.shape[axis], axis)
    part = []
    for d, (size, limit) in enumerate(zip(index.shape, self.shape, strict=True)):
        if d != axis and size > limit:
            raise ValueError("a larger index, which the shape rule refuses")
        part.append(slice(None) if d == axis else slice(size))
    return self, axis, index, tuple(part)


@cpu.kernel("gather", half="native")
def gather(self: Array, dim: int, index: Array) -> Array:
    if not index.size:
        _expect_dim(self, dim, index)
        return np.empty(index.shape, self.dtype)
    base, axis, places, part = _places(self, dim, index)
    return np.take_along_axis(base[part], places, axis).reshape(index.shape)


@cpu.kernel("scatter", form="inplace", half="native")
def scatter(self: Array, dim: int, index: Array, src: Array) -> None:
    if not index.size:
        _expect_dim(self, dim, index)
    else:
        base, axis, places, part = _places(self, dim, index)
        values = _values(src, places)
        np.put_along_axis(base[part], places, values, axis)


@cpu.kernel("scatter.value", form="inplace", half="native")
def scatter_value(self: Array, dim: int, index: Array, value: Any) -> None:
    if not index.size:
        _expect_dim(self, dim, index)
    else:
        base, axis, places, part = _places(self, dim, index)
        np.put_along_axis(base[part], places, np.asarray(value).astype(self.dtype), axis)


@cpu.kernel("scatter_add", form="inplace")
def scatter_add(self: Array, dim: int, index: Array, src: Array) -> None:
    if not index.size:
        _expect_dim(self, dim, index)
    else:
        base, axis, places, part = _places(self, dim, index)
        values = _values(src, places)
        where = [
            np.arange(size).reshape((-1,) + (1,) * (places.ndim - d - 1))
            for d, size in enumerate(places.shape)
        ]
        where[axis] = places
        np.add.at(base[part], tuple(where), values)


@cpu.kernel("index_select", half="native")
def index_select(self: Array, dim: int, index: Array) -> Array:
    _expect_vector(self, dim, index)
    if not self.ndim:
        if index.size != 1:
            raise ValueError("one index for a number")
        return self.copy()
    return self.take(index.reshape(-1), dim)


def _expect_vector(self: Array, dim: int, index: Array) -> None:
    """Raise unless an index is a vector of places along a dimension."""
    limit = self.ndim or 1
    if index.ndim > 1 or not -limit <= dim < limit:
        raise ValueError("an index or dimension that is not there, which the shape rule refuses")
    if not _in_range(index, self.shape[dim] if self.ndim else 1):
        raise errors.IndexValueError("index out of range in self")


@cpu.kernel("index_add", form="inplace")
def index_add(self: Array, dim: int, index: Array, source: Array, alpha: Any) -> None:
    _expect_vector(self, dim, index)
    values = source if alpha == 1 else np.multiply(source, alpha).astype(self.dtype)
    base, values = (self, values) if self.ndim else (self.reshape(1), values.reshape(-1))
    axis = dim % base.ndim
    if values.shape != (*base.shape[:axis], index.size, *base.shape[axis + 1 :]):
        raise ValueError("a source of another shape, which the shape rule refuses")
    place: Any = (slice(None),) * axis + (index.reshape(-1),)
    np.add.at(base, place, values)


# --- in full ---------------------------------------------------------------------------------------------------


def _key(self: Array, indices: Sequence[Array | None]) -> tuple[Any, ...]:
    """Return the index as NumPy takes it."""
    return tuple(
        slice(None) if i is None else i.astype(np.bool_) if i.dtype == np.uint8 else i for i in indices
    )  # fmt: skip


def _explain(self: Array, error: IndexError) -> errors.IndexValueError:
    return errors.IndexValueError(str(error).replace("axis", "dimension"))


@cpu.kernel("index", half="native")
def index(self: Array, indices: Sequence[Array | None]) -> Array:
    key = _key(self, indices)
    try:
        result: Array = self[(*key, ...)] if len(key) < self.ndim else np.asarray(self[key])
    except IndexError as error:
        if "out of bounds" in str(error):
            raise _explain(self, error) from error
        raise  # the shape rule says what is wrong
    # Arrays without dimensions index like numbers, and NumPy returns a view; where an inner dimension is indexed its
    # result is not row-major.
    return result.copy() if np.may_share_memory(result, self) or not result.flags.c_contiguous else result


@cpu.kernel("index_put", form="inplace", half="native")
def index_put(self: Array, indices: Sequence[Array | None], values: Array, accumulate: bool) -> None:
    key = _key(self, indices)
    if values.dtype != self.dtype:
        values = cast(values, self.dtype)
    try:
        if accumulate:
            if self.dtype.kind not in "biufc":  # ml_dtypes has no add.at
                wide = self.astype(np.float32)
                np.add.at(wide, key, values.astype(np.float32))
                self[...] = wide.astype(self.dtype)
            else:
                np.add.at(self, key, values)
        else:
            self[key] = values
    except IndexError as error:
        if "out of bounds" in str(error):
            raise _explain(self, error) from error
        raise  # the shape rule says what is wrong
    except (ValueError, TypeError) as error:  # TypeError: values of several dimensions for a mask
        found = self[key].shape
        raise errors.ShapeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of "
            f"shape {list(found)}"
        ) from error


# --- masks -----------------------------------------------------------------------------------------------------


@cpu.kernel("masked_fill", form="inplace", half="native")
def masked_fill_inplace(self: Array, mask: Array, value: Any) -> None:
    number = _mask_value(self, mask, value)
    np.copyto(self, number, where=mask)


@cpu.kernel("masked_fill", half="native")
def masked_fill(self: Array, mask: Array, value: Any) -> Array:
    return np.where(mask, _mask_value(self, mask, value), self)


def _mask_value(self: Array, mask: Array, value: Any) -> Array:
    """Return the value in the dtype of self."""
    if mask.dtype != np.bool_:
        raise TypeError("a mask holds bools")
    if isinstance(value, np.ndarray):
        if value.ndim:
            raise ValueError("one value")
        return cast(value, self.dtype)
    if isinstance(value, complex) and self.dtype.kind != "c":
        raise errors.DtypeError(f"value cannot be converted to type {self.dtype} without overflow: {value}")
    return np.asarray(value).astype(self.dtype)


@cpu.kernel("masked_select", half="native")
def masked_select(self: Array, mask: Array) -> Array:
    if mask.dtype != np.bool_:
        raise errors.DtypeError(f"masked_select: expected BoolTensor for mask, got {mask.dtype}")
    try:
        shape = np.broadcast_shapes(self.shape, mask.shape)
    except ValueError as error:
        raise errors.ShapeError(
            f"masked_select(): the shapes {list(self.shape)} and {list(mask.shape)} do not broadcast"
        ) from error
    found: Array = np.broadcast_to(self, shape)[np.broadcast_to(mask, shape)]
    return found


@cpu.kernel("nonzero", half="native")
def nonzero(self: Array) -> Array:
    return np.argwhere(self)
