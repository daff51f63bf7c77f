"""Operators that change the shape: the batch stays in front, and the ragged dimension may move behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import prod
from typing import Any, Final

import numpy as np

from tt.core.library import Tensor, errors, ops
from tt.plugins.nested.parts import (
    batch_of,
    dim_of,
    is_nested,
    jagged,
    like,
    packed_values,
    ragged_dim,
    refuse,
    rows_of,
    values_of,
)
from tt.plugins.nested.pointwise import aligned
from tt.plugins.nested.raggedness import Raggedness, RaggedSize
from tt.plugins.nested.rows import rows_as_list

__all__ = ["SHAPING"]

_BATCH = "the dimension of the batch stays the first one"


# --- rows ------------------------------------------------------------------------------------------------------------


def unbind(self: Tensor, dim: int) -> list[Tensor]:
    """Return the rows, or jagged tensors without a dense dimension."""
    at = dim_of("unbind", self, dim)
    if at == 0:
        return rows_as_list(self)
    _dense("unbind", self, at)
    moved = ragged_dim(self) - (at < ragged_dim(self))
    return [like(self, part, moved) for part in ops.unbind(values_of(self), at - 1)]


def _dense(op: str, self: Tensor, dim: int) -> None:
    """Refuse the dimensions of the batch and of the rows."""
    if dim == 0:
        raise refuse(op, _BATCH, "a loop over x.unbind()")
    if dim == ragged_dim(self):
        raise refuse(
            op, f"dimension {dim} is ragged: each row has a size of its own", "a loop over x.unbind()"
        )


def _some_rows(self: Tensor, numbers: Sequence[int]) -> Tensor:
    """Return rows by their numbers."""
    rows, dim = rows_of(self), ragged_dim(self)
    sizes = [rows.sizes[n] for n in numbers]
    ranges = [np.arange(rows.offsets[n], rows.offsets[n] + rows.sizes[n]) for n in numbers]
    index = rows.on(np.concatenate([*ranges, np.zeros(0, np.int64)]).astype(np.int64), self.device)
    chosen = Raggedness([0, *accumulate(sizes)])
    return jagged(ops.index_select(values_of(self), dim - 1, index), chosen, dim)


def select(self: Tensor, dim: int, index: int) -> Tensor:
    """Return one row, or one place of a dense dimension."""
    at = dim_of("select", self, dim)
    if at == 0:
        count = batch_of(self)
        if not -count <= index < count:
            raise errors.IndexValueError(
                f"select(): index {index} is out of bounds for dimension 0 with size {count}"
            )
        rows, inner = rows_of(self), ragged_dim(self) - 1
        start = int(rows.offsets[index % count])
        return ops.slice(values_of(self), inner, start, start + rows.sizes[index % count])
    _dense("select", self, at)
    result = ops.select(values_of(self), at - 1, index)
    return like(self, result, ragged_dim(self) - (at < ragged_dim(self)))


def slice_(self: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    """Return some rows, or a part of a dense dimension."""
    at = dim_of("slice", self, dim)
    if at == 0:
        numbers = range(batch_of(self))[slice(start, end, step)]
        if len(numbers) == batch_of(self):
            return like(self, values_of(self))
        if not numbers:
            raise refuse("slice", "a batch without rows has no size", "a slice with at least one row")
        return _some_rows(self, numbers)
    if at == ragged_dim(self):
        whole = (start or 0) == 0 and (end is None or end >= rows_of(self).longest) and step == 1
        if whole:
            return like(self, values_of(self))
        raise refuse(
            "slice",
            f"dimension {at} is ragged: each row has a size of its own",
            "[row[start:end] for row in x.unbind()]",
        )
    return like(self, ops.slice(values_of(self), at - 1, start, end, step))


def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return rows, or places of a dense dimension, by their numbers."""
    if is_nested(index):
        raise refuse("index_select", "the index must be dense")
    at = dim_of("index_select", self, dim)
    if at:
        _dense("index_select", self, at)
        return like(self, ops.index_select(values_of(self), at - 1, index))
    count = batch_of(self)
    numbers = ops.reshape(index, (-1,)).tolist()
    if not numbers:
        raise refuse("index_select", "a batch without rows has no size", "an index with at least one number")
    if any(not 0 <= n < count for n in numbers):
        raise errors.IndexValueError(f"index_select(): index out of range: there are {count} rows")
    return _some_rows(self, numbers)


def index(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """Return rows by numbers or by a mask of the batch, or the elements of a jagged mask."""
    chosen = indices[0]
    if len(indices) == 1 and chosen is not None:
        if is_nested(chosen) and chosen.dtype.name == "bool":
            _, (values, mask) = aligned("index", [self, chosen])
            return ops.index(values, [mask])
        if not is_nested(chosen) and chosen.ndim == 1 and chosen.dtype.name == "bool":
            if chosen.shape[0] != batch_of(self):
                raise errors.IndexValueError(
                    f"index(): the mask has {chosen.shape[0]} elements, and there are {batch_of(self)} rows"
                )
            return index_select(self, 0, ops.reshape(ops.nonzero(chosen), (-1,)))
        if not is_nested(chosen) and chosen.ndim == 1:
            count = batch_of(self)
            return index_select(self, 0, ops.where(ops.lt(chosen, 0), ops.add(chosen, count), chosen))
    raise refuse("index", "only rows are chosen by one tensor of numbers, or elements by a jagged mask")


# --- pieces ----------------------------------------------------------------------------------------------------------


def split(self: Tensor, split_size: int, dim: int) -> list[Tensor]:
    """Return pieces of a dense dimension, or of the batch."""
    at = dim_of("split", self, dim)
    if at == 0:
        if split_size <= 0:
            raise errors.ValueRangeError(f"split(): split_size must be positive, got {split_size}")
        count = batch_of(self)
        return [_some_rows(self, range(count)[k : k + split_size]) for k in range(0, count, split_size)]
    _dense("split", self, at)
    return [like(self, part) for part in ops.split(values_of(self), split_size, at - 1)]


def split_sizes(self: Tensor, split_size: Sequence[int], dim: int) -> list[Tensor]:
    """Return pieces of given sizes of a dense dimension, or of the batch."""
    at = dim_of("split", self, dim)
    if at == 0:
        count = batch_of(self)
        if sum(split_size) != count or any(n <= 0 for n in split_size):
            raise errors.ValueRangeError(
                f"split(): the sizes of pieces of a jagged batch are positive and sum to the number of rows, {count}, "
                f"got {list(split_size)}"
            )
        ends = list(accumulate(split_size))
        return [_some_rows(self, range(end - n, end)) for n, end in zip(split_size, ends, strict=True)]
    _dense("split", self, at)
    return [like(self, part) for part in ops.split(values_of(self), list(split_size), at - 1)]


def chunk(self: Tensor, chunks: int, dim: int) -> list[Tensor]:
    """Return a number of pieces."""
    at = dim_of("chunk", self, dim)
    if chunks <= 0:
        raise errors.ValueRangeError(f"chunk(): chunks must be greater than 0, got {chunks}")
    if at:
        _dense("chunk", self, at)
    return split(self, max(-(-self.shape[at] // chunks), 1), at)


def cat(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Join jagged tensors with the same rows along a dense dimension, or batches one after another."""
    first = next(t for t in tensors if is_nested(t))
    for tensor in tensors:
        if not is_nested(tensor):
            raise refuse(
                "cat", "all tensors must be jagged", "tt.nested.as_nested_tensor(x) of the dense one"
            )
    at = dim_of("cat", first, dim)
    if at == 0:
        where = ragged_dim(first)
        if any(ragged_dim(t) != where or t.ndim != first.ndim for t in tensors):
            raise errors.ShapeError("cat(): the tensors must have the same ragged dimension")
        sizes = [n for t in tensors for n in rows_of(t).sizes]
        return jagged(
            ops.cat([packed_values(t) for t in tensors], where - 1),
            Raggedness([0, *accumulate(sizes)]),
            where,
        )
    _dense("cat", first, at)
    template, values = aligned("cat", tensors)
    return like(template, ops.cat(values, at - 1))


def stack(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Join jagged tensors with the same rows along a new dimension."""
    for tensor in tensors:
        if not is_nested(tensor):
            raise refuse(
                "stack", "all tensors must be jagged", "tt.nested.as_nested_tensor(x) of the dense one"
            )
    at = dim_of("stack", tensors[0], dim, more=1)
    if at == 0:
        raise refuse("stack", _BATCH, "tt.cat(tensors), or a dimension after the first")
    template, values = aligned("stack", tensors)
    return like(template, ops.stack(values, at - 1), ragged_dim(template) + (at <= ragged_dim(template)))


# --- sizes -----------------------------------------------------------------------------------------------------------


def _is_row_size(rows: Raggedness, size: int) -> bool:
    if isinstance(size, RaggedSize):
        return size.raggedness.same_rows(rows)
    return size in (-1, rows.longest)


def _filled(size: Sequence[int], count: int) -> list[int] | None:
    """Return sizes with -1 replaced so that they have a number of elements; None if they cannot."""
    sizes = [int(n) for n in size]
    if sizes.count(-1) > 1:
        return None
    if -1 in sizes:
        known = prod(n for n in sizes if n != -1)
        if not known or count % known:
            return None
        sizes[sizes.index(-1)] = count // known
    return sizes if prod(sizes) == count else None


def _viewed(op: str, self: Tensor, size: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Return the shape of the values for a size, and its ragged dimension."""
    rows, dim, shape = rows_of(self), ragged_dim(self), tuple(values_of(self).shape)
    before, after = prod(shape[: dim - 1]), prod(shape[dim:])
    if size and int(size[0]) in (-1, rows.batch):
        # A size that names these rows says which dimension is ragged; a number may mean a dense one of the
        # same size.
        exact = [k for k in range(1, len(size)) if isinstance(size[k], RaggedSize)]
        for k in exact or [k for k in range(1, len(size)) if _is_row_size(rows, size[k])]:
            left, right = _filled(size[1:k], before), _filled(size[k + 1 :], after)
            if _is_row_size(rows, size[k]) and left is not None and right is not None:
                return (*left, shape[dim - 1], *right), k
    raise errors.ShapeError(
        f"{op}(): the size [{', '.join(str(n) for n in size)}] does not fit a jagged tensor of size "
        f"({', '.join(str(n) for n in self.shape)}): the batch stays first, and the ragged dimension (x.size({dim}), "
        "or -1) stays whole"
    )


def view(self: Tensor, size: Sequence[int]) -> Tensor:
    """Return the elements with other dense dimensions, over the same memory."""
    shape, dim = _viewed("view", self, size)
    return like(self, ops.view(values_of(self), shape), dim)


def reshape(self: Tensor, shape: Sequence[int]) -> Tensor:
    """Return the elements with other dense dimensions."""
    sizes, dim = _viewed("reshape", self, shape)
    return like(self, ops.reshape(values_of(self), sizes), dim)


def expand(self: Tensor, size: Sequence[int]) -> Tensor:
    """Repeat dense dimensions of size 1."""
    rows, dim = rows_of(self), ragged_dim(self)
    sizes = list(size)
    fits = len(sizes) == self.ndim and int(sizes[0]) in (-1, rows.batch) and _is_row_size(rows, sizes[dim])
    if not fits:
        raise errors.ShapeError(
            f"expand(): the size [{', '.join(str(n) for n in sizes)}] does not fit a jagged tensor of size "
            f"({', '.join(str(n) for n in self.shape)}): only dense dimensions of size 1 are expanded"
        )
    sizes[dim] = -1
    return like(self, ops.expand(values_of(self), [int(n) for n in sizes[1:]]))


def flatten(self: Tensor, start_dim: int, end_dim: int) -> Tensor:
    """Make one dense dimension of several."""
    start, end = dim_of("flatten", self, start_dim), dim_of("flatten", self, end_dim)
    if start == end:
        return self
    dim = ragged_dim(self)
    if start == 0 or start <= dim <= end:
        raise refuse("flatten", "only dense dimensions are made one", "x.values(), the elements of all rows")
    moved = dim - (end - start if end < dim else 0)
    return like(self, ops.flatten(values_of(self), start - 1, end - 1), moved)


def unflatten(self: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Make several dense dimensions of one."""
    at = dim_of("unflatten", self, dim)
    _dense("unflatten", self, at)
    moved = ragged_dim(self) + (len(sizes) - 1 if at < ragged_dim(self) else 0)
    return like(self, ops.unflatten(values_of(self), at - 1, [int(n) for n in sizes]), moved)


def unsqueeze(self: Tensor, dim: int) -> Tensor:
    """Insert a dimension of size 1 behind the batch."""
    at = dim_of("unsqueeze", self, dim, more=1)
    if at == 0:
        raise refuse("unsqueeze", _BATCH, "a dimension after the first")
    return like(self, ops.unsqueeze(values_of(self), at - 1), ragged_dim(self) + (at <= ragged_dim(self)))


def squeeze(self: Tensor) -> Tensor:
    """Refuse: whether rows of length 1 lose their dimension must not depend on data."""
    raise refuse("squeeze", "the dimensions to drop must be named", "x.squeeze(-1)")


def squeeze_dim(self: Tensor, dim: Sequence[int]) -> Tensor:
    """Drop dense dimensions of size 1."""
    dims = [dim_of("squeeze", self, d) for d in ([dim] if isinstance(dim, int) else dim)]
    for at in dims:
        _dense("squeeze", self, at)
    gone = [d for d in dims if self.shape[d] == 1]
    moved = ragged_dim(self) - sum(d < ragged_dim(self) for d in gone)
    return like(self, ops.squeeze(values_of(self), [d - 1 for d in gone]), moved) if gone else self


# --- order -----------------------------------------------------------------------------------------------------------


def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions behind the batch."""
    dims = list(range(self.ndim))
    one, two = dim_of("transpose", self, dim0), dim_of("transpose", self, dim1)
    dims[one], dims[two] = two, one
    return _permuted("transpose", self, dims)


def permute(self: Tensor, dims: Sequence[int]) -> Tensor:
    """Return the dimensions in another order, the batch first."""
    order = [dim_of("permute", self, d) for d in dims]
    if sorted(order) != list(range(self.ndim)):
        raise errors.ShapeError(f"permute(): {list(dims)} are not the {self.ndim} dimensions of the tensor")
    return _permuted("permute", self, order)


def _permuted(op: str, self: Tensor, dims: Sequence[int]) -> Tensor:
    if dims[0] != 0:
        raise refuse(op, _BATCH, "dimensions after the first")
    values = ops.permute(values_of(self), [d - 1 for d in dims[1:]])
    return like(self, values, dims.index(ragged_dim(self)))


SHAPING: Final[dict[str, Callable[..., Any]]] = {
    "cat": cat, "chunk": chunk, "expand": expand, "flatten": flatten, "index": index, "index_select": index_select,
    "permute": permute, "reshape": reshape, "select": select, "slice": slice_, "split": split,
    "split.sizes": split_sizes, "squeeze": squeeze, "squeeze.dim": squeeze_dim, "stack": stack,
    "transpose": transpose, "unbind": unbind, "unflatten": unflatten, "unsqueeze": unsqueeze, "view": view,
}  # fmt: skip
"""Operator -> its function."""
