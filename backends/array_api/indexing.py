"""Kernels that read and write at places which arrays name.

Note [Writing without writing]
------------------------------
The standard has no way to write at places, and arrays of some libraries cannot change.  So a write is computed from
the reader's side: the places are sorted, and each element of the result looks up, by bisection, which of the values
are meant for it.  The last of them wins; when values are combined, a loop takes the first value of every element, then
the second, and so on, so that sums are as exact as in a loop over the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt.backends.array_api.namespace import Namespace
from tt.backends.array_api.table import NamespaceTable
from tt.core.library import errors, fitted_number, warn_user

__all__ = ["table"]

table = NamespaceTable(needs="take searchsorted argsort")


# --- flat places -----------------------------------------------------------------------------------------------


def take_flat(xp: Namespace, self: Any, places: Any) -> Any:
    """Return the elements at places in row-major order, in the shape of the places."""
    flat = xp.take(xp.reshape(self, (-1,)), xp.reshape(places, (-1,)), axis=0)
    return xp.reshape(flat, tuple(places.shape))


def put_flat(
    xp: Namespace, self: Any, positions: Any, values: Any, combine: Callable[[Any, Any], Any] | None = None,
    include_self: bool = True, mean: bool = False,
) -> Any:  # fmt: skip
    """Return a copy with values at (or combined with those at) positions; see Note [Writing without writing]."""
    shape, count = tuple(self.shape), xp.product(self.shape)
    positions, values = xp.reshape(positions, (-1,)), xp.reshape(values, (-1,))
    if not count or not xp.product(positions.shape):
        return xp.copy(self)
    # Stable, so that the last of several values for a place is the last in the order, too.
    order = xp.argsort(positions, stable=True)
    ordered = xp.take(positions, order, axis=0)
    own = xp.positions(count)
    start = xp.searchsorted(ordered, own, side="left")
    stop = xp.searchsorted(ordered, own, side="right")
    flat, last = xp.reshape(self, (-1,)), xp.product(positions.shape) - 1

    def nth(position: Any) -> Any:
        # Elements without an n-th value look up any; the caller's `where` drops it.
        return xp.take(values, xp.take(order, xp.clip(xp.to_int64(position), 0, last), axis=0), axis=0)

    if combine is None:
        return xp.reshape(xp.where(stop > start, nth(stop - 1), flat), shape)
    first = 0
    if not include_self:
        flat, first = xp.where(start < stop, nth(start), flat), 1
    # As many rounds as the most frequent place has values.
    for n in range(first, int(xp.max(stop - start))):
        flat = xp.where(start + n < stop, combine(flat, nth(start + n)), flat)
    if mean:
        counts = xp.astype(xp.where(start < stop, stop - start + int(include_self), 1), flat.dtype)
        flat = flat // counts if xp.is_kind(flat, "integral") else flat / counts
    return xp.reshape(flat, shape)


def adding(xp: Namespace, self: Any) -> Callable[[Any, Any], Any]:
    """Return the addition of two elements: for bools, whether one of them is true."""
    how: Callable[[Any, Any], Any] = xp.logical_or if xp.is_kind(self, "bool") else xp.add
    return how


def strides_of(shape: Sequence[int]) -> list[int]:
    """Return the row-major strides of a shape."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return strides[::-1]


def expect_in_range(
    xp: Namespace,
    index: Any,
    size: int,
    dim: int,
    lowest: int = 0,
    kind: type[Exception] = errors.IndexValueError,
) -> None:
    """Raise unless every index is in range."""
    wrong = (index < lowest) | (index >= size)
    if bool(xp.any(wrong)):
        flat = xp.reshape(index, (-1,))
        # The standard's argmax takes no bools, and returns the first of equal elements.
        first = int(flat[int(xp.argmax(xp.astype(xp.reshape(wrong, (-1,)), xp.uint8)))])
        raise kind(f"index {first} is out of bounds for dimension {dim} with size {size}")


# --- along one dimension ---------------------------------------------------------------------------------------


def places(xp: Namespace, self: Any, dim: int, index: Any) -> Any:
    """Return the flat places that gather reads and scatter writes."""
    index = xp.to_int64(index)
    if not index.ndim or not self.ndim:
        expect_in_range(xp, index, self.shape[0] if self.ndim else 1, 0, kind=errors.PlaceError)
        return index
    axis = xp.axis(dim, self.ndim)
    # Nothing is read, so nothing is checked.
    if 0 in index.shape:
        return xp.zeros(index.shape, dtype=xp.int64)
    expect_in_range(xp, index, self.shape[axis], axis, kind=errors.PlaceError)
    total = xp.zeros_like(index)
    for d, (size, step) in enumerate(zip(index.shape, strides_of(self.shape), strict=True)):
        along = index if d == axis else xp.reshape(
            xp.positions(size), tuple(-1 if k == d else 1 for k in range(index.ndim))
        )  # fmt: skip
        total = total + along * step
    return total


table.kernel("gather", lambda xp, self, dim, index, sparse_grad=False: take_flat(
    xp, self, places(xp, self, dim, index)), half="native", check=True)  # fmt: skip


@table.kernel("index_select", half="native", check=True)
def index_select(xp: Namespace, self: Any, dim: int, index: Any) -> Any:
    if not self.ndim:
        expect_in_range(xp, index, 1, 0)
        return xp.copy(self)
    axis, flat = xp.axis(dim, self.ndim), xp.reshape(xp.to_int64(index), (-1,))
    outside = (flat < 0) | (flat >= self.shape[axis])
    if bool(xp.any(outside)):
        wrong = int(flat[int(xp.argmax(xp.astype(outside, xp.uint8)))])
        raise errors.IndexValueError(
            f"index_select(): index {wrong} is out of range for a dimension of size {self.shape[axis]}"
        )
    return xp.take(self, flat, axis=axis)


# --- in full ---------------------------------------------------------------------------------------------------


def integers(xp: Namespace, self: Any, indices: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return one array of integers (or None) for each dimension, masks as the places of their true elements.

    Masks without dimensions select all or nothing: each is one more array, of one element or none.
    """
    items: list[Any] = []
    whole: list[Any] = []
    for item in indices:
        if item is None:
            items.append(None)
            continue
        if item.dtype == xp.uint8:
            warn_user("indexing with dtype uint8 is deprecated, use a dtype bool instead")
        if xp.is_kind(item, "bool") or item.dtype == xp.uint8:
            shape = tuple(self.shape[len(items) : len(items) + item.ndim])
            if tuple(item.shape) != shape:
                raise IndexError("a mask of another shape")
            if not item.ndim:
                whole.append(xp.zeros((int(bool(item)),), dtype=xp.int64))
                continue
            items += xp.nonzero_positions(item if xp.is_kind(item, "bool") else item != 0)
            continue
        if len(items) >= self.ndim or not xp.is_kind(item, "integral"):
            raise IndexError("too many indices, or one that is not an integer")
        size, index = self.shape[len(items)], xp.to_int64(item)
        expect_in_range(xp, index, size, len(items), -size)
        items.append(xp.where(index < 0, index + size, index))
    if len(items) > self.ndim:
        raise IndexError("too many indices")
    return items + [None] * (self.ndim - len(items)), whole


def indexed_places(xp: Namespace, self: Any, indices: Sequence[Any]) -> Any:
    """Return the flat places of an index, in the shape of its result."""
    items, whole = integers(xp, self, indices)
    indexed = [d for d, item in enumerate(items) if item is not None]
    joined = xp.broadcast_arrays(*(items[d] for d in indexed), *whole) if indexed or whole else []
    common = tuple(joined[0].shape) if joined else ()
    # Neighbouring index arrays put their dimensions where they are, others in front.
    together = indexed == list(range(indexed[0], indexed[-1] + 1)) if indexed else True
    before = indexed[0] if indexed and together else 0
    kept = [d for d in range(self.ndim) if items[d] is None]
    ahead = [d for d in kept if d < before]
    shape = (*(self.shape[d] for d in ahead), *common, *(self.shape[d] for d in kept if d not in ahead))
    strides, total = strides_of(self.shape), xp.zeros(shape, dtype=xp.int64)
    for position, d in enumerate(indexed):
        total = total + xp.reshape(
            joined[position] * strides[d], common + (1,) * (len(shape) - len(ahead) - len(common))
        )
    axes = [*range(len(ahead)), *range(len(ahead) + len(common), len(shape))]
    for axis, d in zip(axes, kept, strict=True):
        along = xp.positions(self.shape[d]) * strides[d]
        total = total + xp.reshape(along, tuple(-1 if k == axis else 1 for k in range(len(shape))))
    return total


table.kernel(
    "index", lambda xp, self, indices: take_flat(xp, self, indexed_places(xp, self, indices)), half="native"
)


@table.kernel("index_put")  # halves are widened: sums in half precision stop growing
def index_put(xp: Namespace, self: Any, indices: Sequence[Any], values: Any, accumulate: bool) -> Any:
    where = indexed_places(xp, self, indices)
    # PyTorch drops leading dimensions of size 1 of values that have too many.
    while values.ndim > where.ndim and values.shape[0] == 1:
        values = values[0, ...]
    shape, target = tuple(values.shape), tuple(where.shape)
    fits = all(n in (1, size) for n, size in zip(reversed(shape), reversed(target), strict=False))
    if len(shape) > len(target) or not fits:
        raise errors.ShapeError(
            f"values of shape {list(shape)} do not broadcast to the shape {list(target)} that the indices select"
        )
    values = xp.broadcast_to(values, target)
    return put_flat(xp, self, where, values, adding(xp, self) if accumulate else None)


# --- masks -----------------------------------------------------------------------------------------------------


@table.kernel("masked_fill", half="native")
def masked_fill(xp: Namespace, self: Any, mask: Any, value: Any) -> Any:
    if not xp.is_kind(mask, "bool"):
        raise TypeError("a mask holds bools")
    if xp.is_array(value):
        if value.ndim:
            raise ValueError("one value")
        value = value if value.dtype == self.dtype else xp.backend.item(value)
    if not xp.is_array(value):
        value = fitted_number(value, xp.dtype_of(self))
    return xp.where(mask, xp.operand(value, self), self)


@table.kernel("nonzero", half="native")
def nonzero(xp: Namespace, self: Any) -> Any:
    # A number has no dimensions, so the place of a true one has no coordinates.
    if not self.ndim:
        return xp.zeros((int(bool(self)), 0), dtype=xp.int64)
    truth = self if xp.is_kind(self, "bool") else self != xp.operand(0, self)
    return xp.stack(list(xp.nonzero_positions(truth)), axis=1)
