"""Kernels that write to places which arrays name.

Note [Adding at places]
-----------------------
The `at` methods of NumPy's functions have a fast loop for one-dimensional arrays only.  So places in several dimensions
become places in the flat array, which is ten times as fast.

Note [Adding slices]
--------------------
Whole slices are added in rounds: in each round at most one to the same place, which is a sum of arrays.  There are as
many rounds as the most frequent place has slices; where these are too many, every element is added at its flat place.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array, duplicate
from tt.backends.cpu.indexing import (
    expect_dim,
    expect_vector,
    filling,
    held,
    in_range,
    out_of_range,
    places_of,
)
from tt.core.library import KernelTable, Scalar, errors, fitted_number, from_numpy_dtype, is_complex32

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

COMBINE: Final = {
    "sum": np.add.at, "mean": np.add.at, "prod": np.multiply.at, "amax": np.maximum.at, "amin": np.minimum.at,
}  # fmt: skip
# Among bools, a sum or maximum is true where any value is, a product or minimum false where any value is.
BOOLS: Final = {"sum": True, "amax": True, "prod": False, "amin": False}

# --- flat places -----------------------------------------------------------------------------------------------


def flat_places(shape: tuple[int, ...], axis: int, index: Array) -> Array:
    """Return the places in the flat array at which an index along an axis points, as a vector."""
    positions: Any = 0
    step = 1
    for d in range(len(shape) - 1, -1, -1):
        along = index if d == axis else np.arange(index.shape[d]).reshape((-1,) + (1,) * (index.ndim - d - 1))
        positions = positions + (along * step if step > 1 else along)
        step *= shape[d]
    return np.broadcast_to(positions, index.shape).reshape(-1)


def flattened(self: Array) -> Array:
    """Return the elements in row-major order: a view where memory has this order, otherwise a copy."""
    return self.reshape(-1)


def written(self: Array, flat: Array) -> None:
    """Write flat elements back unless they are a view already."""
    if not np.may_share_memory(self, flat):
        self[...] = flat.reshape(self.shape)


def combine(flat: Array, places: Array, values: Array, reduce: str, include_self: bool = True) -> None:
    """Combine values with the elements at places, in place."""
    # A place that is named twice gets the identity twice, which does no harm.
    if not include_self:
        flat[places] = identity(flat.dtype, reduce)
    if flat.dtype == np.bool_:
        # One deciding value fixes the result in any order, so an assignment does what `at` would.
        flat[places[values == BOOLS[reduce]]] = BOOLS[reduce]
        return
    COMBINE[reduce](flat, places, values)
    if reduce == "mean":
        counts = np.bincount(places, minlength=flat.size)
        reached = np.flatnonzero(counts)
        # PyTorch rounds means of integers down.
        divide = np.floor_divide if flat.dtype.kind in "iu" else np.divide
        flat[reached] = divide(flat[reached], (counts[reached] + include_self).astype(flat.dtype))


def add_slices(base: Array, axis: int, index: Array, values: Array) -> None:
    """Add slices at the places of an axis that a vector names, in place; see Note [Adding slices]."""
    slices, added = np.moveaxis(base, axis, 0), np.moveaxis(values, axis, 0)
    counts = np.bincount(index, minlength=1)
    rounds = int(counts.max(initial=0))
    # A round has a fixed cost; it pays where a round adds more than 2,000 elements on average.
    if base.dtype != np.bool_ and rounds * 2000 < values.size:
        if rounds <= 1:
            slices[index] += added
            return
        # Stable, so that values for one place are added in the order of the index, whatever the sort does.
        order = np.argsort(index, kind="stable")
        ordered = index[order]
        # The position of each index among those equal to it.
        nth = np.arange(index.size) - np.searchsorted(ordered, ordered)
        by_round = order[np.argsort(nth, kind="stable")]
        ends = np.cumsum(np.bincount(nth))
        for start, stop in zip((0, *ends[:-1]), ends, strict=True):
            these = by_round[start:stop]
            slices[index[these]] += added[these]
        return
    along = index.reshape((-1,) + (1,) * (base.ndim - axis - 1))
    flat = flattened(base)
    combine(
        flat, flat_places(base.shape, axis, np.broadcast_to(along, values.shape)), values.reshape(-1), "sum"
    )
    written(base, flat)


def identity(dtype: np.dtype[Any], reduce: str) -> Any:
    """Return the number that changes nothing in a reduction."""
    if reduce in ("sum", "mean", "prod"):
        return reduce == "prod"
    lowest = reduce == "amax"
    if dtype == np.bool_:
        return not lowest
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if lowest else np.iinfo(dtype).max
    return -np.inf if lowest else np.inf


# --- along one dimension ---------------------------------------------------------------------------------------


def _values(src: Array, places: Array) -> Array:
    """Return the part of the source that has a place."""
    src = src if src.ndim else src.reshape(1)
    # PyTorch lets the source be larger than the index; the rest of it is not read.
    if src.ndim != places.ndim or any(n > limit for n, limit in zip(places.shape, src.shape, strict=True)):
        raise ValueError("a larger index than source, which the shape rule refuses")
    return src[tuple(slice(size) for size in places.shape)]


@cpu.kernel("scatter", form="inplace", half="native")
def scatter(self: Array, dim: int, index: Array, src: Array) -> None:
    if not index.size:
        expect_dim(self, dim, index)
    else:
        base, axis, positions, part = places_of(self, dim, index)
        values = _values(src, positions)
        np.put_along_axis(base[part], positions, values, axis)


@cpu.kernel("scatter.value", form="inplace", half="native")
def scatter_value(self: Array, dim: int, index: Array, value: Scalar) -> None:
    number = np.asarray(fitted_number(value, from_numpy_dtype(self.dtype))).astype(self.dtype)
    if not index.size:
        expect_dim(self, dim, index)
    else:
        base, axis, positions, part = places_of(self, dim, index)
        np.put_along_axis(base[part], positions, number, axis)


@cpu.kernel("scatter_add", form="inplace")
def scatter_add(self: Array, dim: int, index: Array, src: Array) -> None:
    scatter_reduce(self, dim, index, src, "sum", True)


@cpu.kernel("scatter_add")
def scatter_added(self: Array, dim: int, index: Array, src: Array) -> Array:
    result = duplicate(self)
    scatter_add(result, dim, index, src)
    return result


@cpu.kernel("scatter_reduce", form="inplace")
def scatter_reduce(self: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool) -> None:
    refused = {"c": ("amax", "amin"), "b": ("mean",)}.get(self.dtype.kind, ())
    if reduce not in COMBINE or reduce in refused:
        raise ValueError("a reduction that the shape rule refuses")
    if not index.size:
        expect_dim(self, dim, index)
        return
    base, axis, positions, _ = places_of(self, dim, index)
    values = _values(src, positions)
    flat = flattened(base)
    combine(flat, flat_places(base.shape, axis, positions), values.reshape(-1), reduce, include_self)
    written(base, flat)


# --- slices ----------------------------------------------------------------------------------------------------


def _slices(self: Array, dim: int, index: Array, source: Array) -> tuple[Array, int, Array]:
    """Return self with at least one dimension, the axis, and the source in the shape of the slices."""
    base = self if self.ndim else self.reshape(1)
    axis = dim % base.ndim
    shape = (*base.shape[:axis], index.size, *base.shape[axis + 1 :])
    # A source without dimensions stands for a vector of one element, as in PyTorch.
    values = source if self.ndim or source.ndim else source.reshape(-1)
    if values.shape != shape and not (values.ndim == 0 and np.prod(shape) == 1):
        raise ValueError("a source of another shape, which the shape rule refuses")
    return base, axis, values.reshape(shape)


def scaled(values: Array, alpha: Scalar) -> Array:
    """Return values multiplied by a number of their dtype."""
    number = fitted_number(alpha, from_numpy_dtype(values.dtype))
    return np.asarray(np.multiply(values, np.asarray(number, dtype=values.dtype)))


@cpu.kernel("index_add", form="inplace")
def index_add(self: Array, dim: int, index: Array, source: Array, alpha: Scalar) -> None:
    index = held(index)
    expect_vector(self, dim, index)
    if source.ndim != self.ndim:
        raise ValueError("a source of other dimensions, which the shape rule refuses")
    base, axis, values = _slices(self, dim, index, source)
    if alpha != 1:
        values = scaled(values, alpha)
    add_slices(base, axis, index.reshape(-1), values)


def _moves_nothing(self: Array, dim: int) -> bool:
    """Return whether the parts along a dimension have no elements: their places are not checked then."""
    if not -self.ndim <= dim < self.ndim:
        return False
    return 0 in _with_size(self.shape, dim, 1)


def _with_size(shape: tuple[int, ...], dim: int, size: int) -> tuple[int, ...]:
    """Return a shape with another size of a dimension."""
    axis = dim % len(shape)
    return (*shape[:axis], size, *shape[axis + 1 :])


@cpu.kernel("index_copy", form="inplace", half="native")
def index_copy(self: Array, dim: int, index: Array, source: Array) -> None:
    index = held(index)
    if index.dtype != np.int64 or (self.ndim and source.ndim not in (0, self.ndim)):
        raise ValueError("an index or source of another kind, which the shape rule refuses")
    if _moves_nothing(self, dim):
        if index.ndim > 1 or source.shape != _with_size(self.shape, dim, index.size):
            raise ValueError("a source of another shape, which the shape rule refuses")
        return
    size = self.shape[dim] if self.ndim and -self.ndim <= dim < self.ndim else 1
    # Checked before NumPy would, which takes negative indices; index_copy does not.
    if index.size and (index.min() < 0 or index.max() >= size):
        wrong = index[(index < 0) | (index >= size)].flat[0]
        raise errors.IndexValueError(
            f"index_copy(): index {wrong} is out of bounds for dimension {dim} with size {size}"
        )
    expect_vector(self, dim, index)
    base, axis, values = _slices(self, dim, index, source)
    key: Any = (slice(None),) * axis + (index.reshape(-1),)
    base[key] = values


@cpu.kernel("index_fill", form="inplace", half="native")
def index_fill(self: Array, dim: int, index: Array, value: Array | Scalar) -> None:
    base, index = self if self.ndim else self.reshape(1), held(index)
    if index.ndim > 1 or index.dtype != np.int64 or not -base.ndim <= dim < base.ndim:
        raise ValueError("an index of another kind, which the shape rule refuses")
    if np.iscomplexobj(value) and self.dtype.kind != "c" and not is_complex32(self.dtype):
        raise ValueError("a complex number, which the shape rule refuses")
    key: Any = (slice(None),) * (dim % base.ndim) + (index.reshape(-1),)
    number = filling(self, value)
    if _moves_nothing(base, dim):
        return
    try:
        base[key] = number
    except IndexError as error:
        raise errors.IndexValueError(str(error).replace("axis", "dimension")) from error


# --- flat places and masks -------------------------------------------------------------------------------------


@cpu.kernel("put", form="inplace")
def put(self: Array, index: Array, source: Array, accumulate: bool) -> None:
    if index.dtype != np.int64 or index.size != source.size:
        raise ValueError("an index of another kind, which the shape rule refuses")
    if not index.size:
        return
    positions = held(index).reshape(-1)
    if positions.min() < -self.size or positions.max() >= self.size:
        wrong = positions[(positions < -self.size) | (positions >= self.size)][0]
        raise errors.IndexValueError(
            f"put_(): index {wrong} is out of range: the tensor has {self.size} elements"
        )
    flat = flattened(self)
    if accumulate:
        combine(flat, np.where(positions < 0, positions + self.size, positions), source.reshape(-1), "sum")
    else:
        flat[positions] = source.reshape(-1)
    written(self, flat)


@cpu.kernel("masked_scatter", form="inplace", half="native")
def masked_scatter_inplace(self: Array, mask: Array, source: Array) -> None:
    if mask.dtype != np.bool_:
        raise TypeError("a mask holds bools")
    where = np.broadcast_to(held(mask), self.shape)
    count = np.count_nonzero(where)
    if count > source.size:
        raise errors.ShapeError(
            f"masked_scatter(): the source has {source.size} elements, fewer than the {count} true elements of the mask"
        )
    values = source.reshape(-1)[:count]
    # NumPy copies rows of elements that a mask chooses as if they lay elsewhere.
    self[where] = values.copy() if np.may_share_memory(self, values) else values


@cpu.kernel("masked_scatter", half="native")
def masked_scatter(self: Array, mask: Array, source: Array) -> Array:
    result = np.broadcast_to(self, np.broadcast_shapes(self.shape, mask.shape)).copy()
    masked_scatter_inplace(result, mask, source)
    return result


# --- the gradient of embedding ---------------------------------------------------------------------------------


@cpu.kernel("embedding_dense_backward", dtypes="floating_complex")
def embedding_dense_backward(
    grad_output: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    if grad_output.shape[:-1] != indices.shape or grad_output.ndim != indices.ndim + 1 or num_weights < 0:
        raise ValueError("a gradient of another shape, which the shape rule refuses")
    indices = held(indices)
    if not in_range(indices, num_weights):
        raise out_of_range("embedding_dense_backward", indices, num_weights)
    positions, columns = indices.reshape(-1), grad_output.shape[-1]
    rows = grad_output.reshape(positions.size, columns)
    if scale_grad_by_freq:
        rows = rows / np.bincount(positions, minlength=num_weights)[positions, None].astype(rows.real.dtype)
    if padding_idx >= 0:
        kept = positions != padding_idx
        positions, rows = positions[kept], rows[kept]
    out = np.zeros((num_weights, columns), grad_output.dtype)
    add_slices(out, 0, positions, rows)
    return out


@cpu.kernel("_embedding_bag", dtypes=("float32", "float64"))
def embedding_bag(
    weight: Array,
    indices: Array,
    offsets: Array,
    per_sample_weights: Array | None,
    mode: str,
    include_last_offset: bool,
    padding_idx: int | None,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> tuple[Array, Array]:
    if weight.ndim != 2 or indices.ndim != 1 or offsets.ndim != 1 or mode not in ("sum", "mean", "max"):
        raise ValueError("arguments that the shape rule refuses")
    if any(index.dtype not in (np.int32, np.int64) for index in (indices, offsets)):
        raise TypeError("indices that the shape rule refuses")
    if per_sample_weights is not None and per_sample_weights.dtype.kind == "c":
        raise TypeError("weights that the shape rule refuses")
    starts, stop = _bag_starts(indices, held(offsets), include_last_offset)
    inside, bags = held(indices[:stop]), starts.size
    if not in_range(inside, weight.shape[0]):
        wrong = inside[(inside < 0) | (inside >= weight.shape[0])][0]
        raise errors.PlaceError(f"embedding_bag(): index {wrong} is out of range for {weight.shape[0]} rows")
    # Of bags that begin at one index all but the last are empty: "right" finds the last.
    owner = np.searchsorted(starts, np.arange(inside.size), "right") - 1
    rows, positions = weight[inside], np.arange(inside.size)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:stop, None].astype(rows.dtype)
    if padding_idx is not None:
        kept = inside != padding_idx
        rows, owner, positions = rows[kept], owner[kept], positions[kept]
    out = np.zeros((bags, weight.shape[1]), weight.dtype)
    if mode != "max":
        add_slices(out, 0, owner, rows)
        # The maximum keeps the sums of empty bags at 0 instead of 0 / 0.
        if mode == "mean":
            out /= np.maximum(np.bincount(owner, minlength=bags), 1)[:, None].astype(out.dtype)
        return out, np.empty(0, np.int64)
    winners = np.full(out.shape, -1)
    # owner ascends, so the rows of a bag are one section.
    for bag in np.unique(owner):
        first, last = np.searchsorted(owner, (bag, bag + 1))
        at = rows[first:last].argmax(0)
        out[bag] = np.take_along_axis(rows[first:last], at[None], 0)[0]
        winners[bag] = positions[first:last][at]
    return out, winners


def _bag_starts(indices: Array, offsets: Array, include_last: bool) -> tuple[Array, int]:
    """Return where bags begin, and where the last one ends."""
    if include_last and not offsets.size:
        raise errors.ShapeError(
            "embedding_bag(): include_last_offset: number of offsets should be at least 1"
        )
    bags = offsets.size - include_last
    if not bags:
        return offsets[:0].astype(np.int64), 0
    if offsets[0] != 0:
        raise errors.ShapeError(f"embedding_bag(): offsets[0] has to be 0, however, got {offsets[0]}")
    if offsets[-1] > indices.size:
        raise errors.ShapeError(
            f"embedding_bag(): offsets[-1] can not be greater than input's length {indices.size} but got {offsets[-1]}"
        )
    if (offsets[1:] < offsets[:-1]).any():
        raise errors.ShapeError("embedding_bag(): offsets must not decrease")
    return offsets[:bags].astype(np.int64), int(offsets[-1]) if include_last else indices.size


@cpu.kernel("_embedding", half="native")
def embedding(
    weight: Array, indices: Array, padding_idx: int | None, scale_grad_by_freq: bool, sparse: bool
) -> Array:
    if weight.ndim != 2:
        raise ValueError("a weight of other dimensions, which the shape rule refuses")
    if not in_range(indices, weight.shape[0]):
        raise out_of_range("embedding", indices, weight.shape[0])
    return weight.take(indices, 0)
