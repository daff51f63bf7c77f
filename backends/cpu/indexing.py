"""Kernels that read and write at places which arrays name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array, cast, in_rows
from tt.core.library import (
    KernelTable,
    Scalar,
    errors,
    fitted_number,
    from_numpy_dtype,
    is_complex32,
    warn_user,
)

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

# --- along one dimension ---------------------------------------------------------------------------------------


def expect_in_range(index: Array, size: int, dim: int) -> None:
    """Raise unless every index is from 0 to before a size; NumPy would count negative ones from the end."""
    if not in_range(index, size):
        wrong = index[(index < 0) | (index >= size)].flat[0]
        raise errors.PlaceError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


def in_range(index: Array, size: int) -> bool:
    """Return whether every index is from 0 to before a size; as unsigned numbers, negative ones are large."""
    if index.dtype not in (np.int64, np.int32):
        raise TypeError("an index of another dtype, which the shape rule refuses")
    # One pass instead of two comparisons and their arrays of bools.
    unsigned = index.view(np.uint64 if index.itemsize == 8 else np.uint32)
    return not index.size or bool(np.maximum.reduce(unsigned, axis=None) < size)


def out_of_range(op: str, index: Array, size: int) -> errors.IndexValueError:
    """Return the error for the first index that is not from 0 to before a size."""
    wrong = index[(index < 0) | (index >= size)].reshape(-1)[0]
    return errors.IndexValueError(f"{op}(): index {wrong} is out of range for a dimension of size {size}")


def held(index: Array) -> Array:
    """Return a copy of an index or mask.

    NumPy checks places and then reads them again, while they may be in the memory that it writes to, or another thread
    may write to them. Of masks it expects bytes that are 0 or 1.
    """
    return np.asarray(index.view(np.uint8) != 0) if index.dtype == np.bool_ else index.copy()


def expect_dim(self: Array, dim: int, index: Array) -> None:
    """Raise, for the shape rule to explain, unless dimension and empty index are of the right kind."""
    limit = self.ndim or 1
    if not -limit <= dim < limit:
        raise ValueError("a dimension that is not there")


def places_of(self: Array, dim: int, index: Array) -> tuple[Array, int, Array, tuple[slice, ...]]:
    """Return self and index with at least one dimension, the axis, and the part of self around the index.

    A ValueError or TypeError is explained by the shape rule, which runs after it.
    """
    if not self.ndim:
        self = self.reshape(1)
    if not index.ndim:
        index = index.reshape(1)
    if index.ndim != self.ndim or not -self.ndim <= dim < self.ndim:
        raise ValueError("an index of other dimensions, which the shape rule refuses")
    axis, index = dim % self.ndim, held(index)
    expect_in_range(index, self.shape[axis], axis)
    part = []
    for d, (size, limit) in enumerate(zip(index.shape, self.shape, strict=True)):
        if d != axis and size > limit:
            raise ValueError("a larger index, which the shape rule refuses")
        part.append(slice(None) if d == axis else slice(size))
    return self, axis, index, tuple(part)


@cpu.kernel("gather", half="native")
def gather(self: Array, dim: int, index: Array, sparse_grad: bool = False) -> Array:
    if not index.size:
        expect_dim(self, dim, index)
        return np.empty(index.shape, self.dtype)
    base, axis, positions, part = places_of(self, dim, index)
    # An index may be smaller than self in other dimensions, where take_along_axis wants equal sizes: self
    # is cut.
    return np.take_along_axis(base[part], positions, axis).reshape(index.shape)


@cpu.kernel("index_select", half="native")
def index_select(self: Array, dim: int, index: Array) -> Array:
    index = held(index)
    expect_vector(self, dim, index)
    if not self.ndim:
        if index.size != 1:
            raise ValueError("one index for a number")
        return self.copy()
    return self.take(index.reshape(-1), dim)


def expect_vector(self: Array, dim: int, index: Array) -> None:
    """Raise unless an index is a vector of places along a dimension."""
    limit = self.ndim or 1
    if index.ndim > 1 or not -limit <= dim < limit:
        raise ValueError("an index or dimension that is not there, which the shape rule refuses")
    size = self.shape[dim] if self.ndim else 1
    if not in_range(index, size):
        raise out_of_range("index_select", index, size)


@cpu.kernel("take", half="native")
def take(self: Array, index: Array) -> Array:
    if index.dtype != np.int64:
        raise TypeError("an index of another dtype, which the shape rule refuses")
    if not self.size and index.size:
        raise errors.IndexValueError("take(): the tensor has no elements to take")
    try:
        return np.asarray(np.take(self, index))
    except IndexError as error:
        raise errors.IndexValueError(f"out of range: a tensor of {self.size} elements: {error}") from error


@cpu.kernel("repeat_interleave.Tensor")
def repeat_interleave(repeats: Array, output_size: int | None) -> Array:
    if repeats.ndim != 1 or repeats.dtype.kind != "i":
        raise ValueError("counts of other dimensions, which the shape rule refuses")
    repeats = held(repeats)
    if repeats.size and repeats.min() < 0:
        raise errors.ShapeError("repeat_interleave(): repeats can not be negative")
    # The exact sum is needed only where 64 bits could overflow, and Python's integers have no end.
    total = sum(repeats.tolist()) if repeats.size and int(repeats.max()) * repeats.size >= 2**31 else 0
    if (
        total * repeats.itemsize >= 2**63
    ):  # NumPy adds the counts up without a check, and writes out of bounds
        raise errors.SizeLimitError("repeat_interleave", (total,), str(from_numpy_dtype(repeats.dtype)))
    result = np.repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats)
    if output_size is not None and result.size != output_size:
        raise errors.ShapeError(
            f"repeat_interleave(): the repeats add up to {result.size}, but output_size is {output_size}"
        )
    return result


# --- in full ---------------------------------------------------------------------------------------------------


def _key(self: Array, indices: Sequence[Array | None]) -> tuple[Any, ...]:
    """Return the index as NumPy takes it."""
    if any(i is not None and i.dtype == np.uint8 for i in indices):
        warn_user("indexing with dtype uint8 is deprecated, use a dtype bool instead")
    key = tuple(
        slice(None) if i is None else i.astype(np.bool_) if i.dtype == np.uint8 else i for i in indices
    )  # fmt: skip
    dim = 0
    for part in key:
        if isinstance(part, slice) or part.dtype != np.bool_:
            dim += 1
            continue
        # NumPy takes a mask without elements for any size.
        if not part.size and part.shape != self.shape[dim : dim + part.ndim]:
            raise ValueError("a mask of another shape, which the shape rule refuses")
        dim += part.ndim
    if self.size:
        return key
    # No element is moved, so that places are not checked; those along a dimension without elements are refused.
    return tuple(
        part if isinstance(part, slice) or part.dtype == np.bool_ else np.zeros_like(part) for part in key
    )


def _explain(self: Array, error: IndexError) -> errors.IndexValueError:
    return errors.IndexValueError(str(error).replace("axis", "dimension"))


@cpu.kernel("index", half="native")
def index(self: Array, indices: Sequence[Array | None]) -> Array:
    key = _key(self, [None if i is None else held(i) for i in indices])
    try:
        result: Array = self[(*key, ...)] if len(key) < self.ndim else np.asarray(self[key])
    except IndexError as error:
        if "out of bounds" in str(error):
            raise _explain(self, error) from error
        raise  # the shape rule explains it
    # Arrays without dimensions index like numbers, and NumPy returns a view; where an inner dimension is indexed its
    # result is not row-major.
    return result.copy() if np.may_share_memory(result, self) or not result.flags.c_contiguous else result


@cpu.kernel("index_put", form="inplace", half="native")
def index_put(self: Array, indices: Sequence[Array | None], values: Array, accumulate: bool) -> None:
    key = _key(self, [None if i is None else held(i) for i in indices])
    if values.dtype != self.dtype:
        values = cast(values, self.dtype)
    try:
        if accumulate:
            if is_complex32(self.dtype) or (self.dtype.kind not in "biuc" and self.itemsize < 4):
                kind = np.complex64 if is_complex32(self.dtype) else np.float32
                wide = self.astype(kind)  # sums in half precision stop growing
                _add_at(wide, key, values.astype(kind))
                self[...] = cast(wide, self.dtype)
            else:
                _add_at(self, key, values)
        else:
            self[key] = values
    except IndexError as error:
        if "out of bounds" in str(error):
            raise _explain(self, error) from error
        raise  # the shape rule explains it
    except (ValueError, TypeError) as error:  # TypeError: values of several dimensions for a mask
        selected = self[key].shape
        raise errors.ShapeError(
            f"values of shape {list(values.shape)} do not broadcast to the shape {list(selected)} that the indices "
            f"select"
        ) from error


def _add_at(self: Array, key: tuple[Any, ...], values: Array) -> None:
    """Add values to the places of an index, in place."""
    first = key[0] if key else None
    # Whole rows at one vector of places, as in the gradient of x[index], go the fast way of Note [Adding
    # slices].
    if (
        self.ndim > 1
        and len(key) == 1
        and isinstance(first, np.ndarray)
        and first.ndim == 1
        and first.dtype.kind == "i"
    ):
        from tt.backends.cpu.scattering import add_slices

        # Unlike scatter, indexing counts negative places from the end; wrong ones are left to NumPy's
        # error.
        positions = np.where(first < 0, first + self.shape[0], first)
        if positions.size and positions.min() >= 0 and positions.max() < self.shape[0]:
            add_slices(self, 0, positions, np.broadcast_to(values, (positions.size, *self.shape[1:])))
            return
    np.add.at(self, key, values)


# --- masks -----------------------------------------------------------------------------------------------------


@cpu.kernel("masked_fill", form="inplace", half="native")
def masked_fill_inplace(self: Array, mask: Array, value: Array | Scalar) -> None:
    number = _mask_value(self, mask, value)
    # np.copyto broadcasts the mask, which self[mask] would not.
    np.copyto(self, number, where=held(mask))


@cpu.kernel("masked_fill", half="native")
def masked_fill(self: Array, mask: Array, value: Array | Scalar) -> Array:
    number = _mask_value(self, mask, value)
    filled: Array = in_rows(np.where(held(mask), number, self), self)
    return filled


def _mask_value(self: Array, mask: Array, value: Array | Scalar) -> Array:
    """Return the value in the dtype of self."""
    if mask.dtype != np.bool_:
        raise TypeError("a mask holds bools")
    return filling(self, value)


def filling(self: Array, value: Array | Scalar) -> Array:
    """Return one value, that is to fill an array, as an array of its dtype."""
    if isinstance(value, np.ndarray):
        if value.ndim:
            raise ValueError("one value, which the shape rule demands")
        if value.dtype == self.dtype:
            return value
        if value.dtype.kind not in "biufc":
            return cast(value, self.dtype)
        value = value.item()
    return np.asarray(fitted_number(value, from_numpy_dtype(self.dtype))).astype(self.dtype)


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
    result: Array = np.broadcast_to(self, shape)[np.broadcast_to(held(mask), shape)]
    return result


@cpu.kernel("nonzero", half="native")
def nonzero(self: Array) -> Array:
    return np.argwhere(self)
