"""Shaping, indexing and joining tensors of the compressed layouts.

What keeps whole rows (or columns, where those are compressed) is done on the components.  The rest goes by way of
coordinates, and comes back in the layout that it had.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tt.core.library import Tensor, errors, handle_of, ops
from tt.plugins.sparse.layouts import HANDLES
from tt.plugins.sparse.parts import (
    as_tensor_of,
    components,
    compressed_tensor,
    coo_tensor,
    has_data,
    sparse_handle,
)
from tt.plugins.sparse.structure import coo
from tt.plugins.sparse.structure.coo import wrap_dim, wrap_dims

__all__ = [
    "TURNED",
    "cat",
    "index_select",
    "permute",
    "resize_",
    "select",
    "slice_",
    "squeeze",
    "squeeze_dim",
    "t",
    "transpose",
    "unsqueeze",
]

TURNED: Final = {
    "sparse_csr": "sparse_csc",
    "sparse_csc": "sparse_csr",
    "sparse_bsr": "sparse_bsc",
    "sparse_bsc": "sparse_bsr",
}
"""The layout of the transpose of a matrix."""


def _made(self: Tensor, parts: Sequence[Tensor], shape: Sequence[int], layout: str | None = None) -> Tensor:
    compressed, plain, values = parts
    return compressed_tensor(
        layout or handle_of(self).layout, compressed, plain, values, shape, handle_of(self).known
    )


def _back(result: Tensor, like: Tensor) -> Tensor:
    """Return a tensor of coordinates in the layout of another."""
    handle = handle_of(like)
    if handle.batch_ndim:
        raise errors.LayoutError(
            f"a batch of the layout tt.{handle.layout} cannot be cut inside its matrices: they would store different "
            "numbers of elements\n  try: x.to_sparse(), whose layout tt.sparse_coo has no such condition"
        )
    blocks = handle.blocksize if handle.blocked else None
    if blocks and (result.shape[0] % blocks[0] or result.shape[1] % blocks[1]):
        raise errors.LayoutError(
            f"a result of size {list(result.shape)} does not consist of blocks of {list(blocks)}\n  try: x.to_sparse()"
        )
    return ops.sparse.to_layout(result, handle.layout, None, blocks)


def _coordinates(self: Tensor) -> Tensor:
    return ops.sparse.to_layout(self, "sparse_coo")


# --- order of dimensions -------------------------------------------------------------------------------------------


def permute(self: Tensor, dims: Sequence[int]) -> Tensor:
    handle, ndim = handle_of(self), self.ndim
    batch = handle.batch_ndim
    order = [wrap_dim("permute", int(d), ndim) for d in dims]
    if sorted(order) != list(range(ndim)):
        raise errors.ShapeError(
            f"permute(): {list(dims)} are not the {ndim} dimensions of the tensor, each once"
        )
    groups = [[*range(batch)], [batch, batch + 1], [*range(batch + 2, ndim)]]
    at = 0
    for group in groups:
        if sorted(order[at : at + len(group)]) != group:
            raise errors.LayoutError(
                f"permute(): a tensor of the layout tt.{handle.layout} keeps its {batch} batch dimensions first, "
                "then those "
                f"of its matrices, then {handle.dense_dim} dense ones, and {list(dims)} mixes them\n  try: "
                "x.to_dense()"
            )
        at += len(group)
    compressed, plain, values = components(self)
    front = order[:batch]
    compressed, plain = ops.permute(compressed, (*front, batch)), ops.permute(plain, (*front, batch))
    turned = order[batch] != batch
    block = [batch + 1, batch + 2] if handle.blocked else []
    behind = batch + 1 + len(block)
    dense = [behind + d - batch - 2 for d in order[batch + 2 :]]
    # Where rows and columns change places, those of each block do, too.
    values = ops.permute(values, (*front, batch, *(block[::-1] if turned else block), *dense))
    shape = [self.shape[d] for d in order]
    return _made(self, (compressed, plain, values), shape, TURNED[handle.layout] if turned else handle.layout)


def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    handle = handle_of(self)
    first, second = wrap_dim("transpose", dim0, self.ndim), wrap_dim("transpose", dim1, self.ndim)
    # Also the quickest: no operator is called.
    if self.ndim == 2 and first != second and not handle.blocked:  # the transpose has the same components
        kind, shape = HANDLES[TURNED[handle.layout]], handle.shape[::-1]
        return as_tensor_of(
            kind(handle.compressed, handle.plain, handle.values, shape, handle.known), self.device
        )
    order = list(range(self.ndim))
    order[first], order[second] = order[second], order[first]
    return permute(self, order)


def t(self: Tensor) -> Tensor:
    if self.ndim > 2:
        raise errors.ShapeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but self has {self.ndim}\n"
            "  try: x.mT"
        )
    return transpose(self, 0, 1) if self.ndim == 2 else self


# --- more or fewer dimensions --------------------------------------------------------------------------------------


def unsqueeze(self: Tensor, dim: int) -> Tensor:
    handle = handle_of(self)
    batch = handle.batch_ndim
    at = wrap_dim("unsqueeze", dim, self.ndim + 1)
    shape = (*self.shape[:at], 1, *self.shape[at:])
    compressed, plain, values = components(self)
    if at <= batch:
        return _made(self, [ops.unsqueeze(part, at) for part in (compressed, plain, values)], shape)
    if at == batch + 1:
        raise errors.LayoutError(
            f"unsqueeze(): a dimension cannot be put between the rows and columns of a tensor of the layout tt."
            f"{handle.layout}\n  try: x.to_sparse().unsqueeze({dim})"
        )
    values = ops.unsqueeze(values, at - 1 + 2 * handle.blocked)
    return _made(self, (compressed, plain, values), shape)


def squeeze_dim(self: Tensor, dim: Sequence[int]) -> Tensor:
    handle = handle_of(self)
    batch = handle.batch_ndim
    gone = [d for d in wrap_dims("squeeze", dim, self.ndim) if self.shape[d] == 1]
    if not gone:
        return ops.alias(self)
    if any(batch <= d < batch + 2 for d in gone):
        raise errors.LayoutError(
            f"squeeze(): the rows and columns of a tensor of the layout tt.{handle.layout} stay\n"
            "  try: x.to_sparse().squeeze()"
        )
    compressed, plain, values = components(self)
    front = [d for d in gone if d < batch]
    if front:
        compressed, plain = ops.squeeze(compressed, front), ops.squeeze(plain, front)
    values = ops.squeeze(values, [*front, *(d - 1 + 2 * handle.blocked for d in gone if d >= batch)])
    shape = [n for d, n in enumerate(self.shape) if d not in gone]
    return _made(self, (compressed, plain, values), shape)


def squeeze(self: Tensor) -> Tensor:
    return squeeze_dim(self, range(self.ndim))


# --- parts ---------------------------------------------------------------------------------------------------------


def select(self: Tensor, dim: int, index: int) -> Tensor:
    handle = handle_of(self)
    batch, at = handle.batch_ndim, wrap_dim("select", dim, self.ndim)
    size = self.shape[at]
    if not -size <= index < size:
        raise errors.IndexValueError(
            f"select(): index {index} is out of bounds for dimension {at} with size {size}"
        )
    index %= size
    compressed, plain, values = components(self)
    shape = (*self.shape[:at], *self.shape[at + 1 :])
    if at < batch:
        return _made(self, [ops.select(part, at, index) for part in (compressed, plain, values)], shape)
    if at >= batch + 2:
        values = ops.select(values, at - 1 + 2 * handle.blocked, index)
        return _made(self, (compressed, plain, values), shape)
    if batch or handle.blocked or handle.rows != (at == 0) or not has_data(self):
        return coo.select(_coordinates(self), at, index)
    # The number of elements of a row depends on data, so the host must wait here.
    begin, end = compressed[index : index + 2].tolist()
    indices = ops.unsqueeze(plain[begin:end], 0).to(_int64())
    return coo_tensor(indices, values[begin:end], shape, coalesced=True)


def _int64() -> Any:
    from tt.core.library import to_dtype

    return to_dtype("int64")


def slice_(self: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    if step <= 0:
        raise errors.ValueRangeError("slice(): step must be greater than zero")
    handle = handle_of(self)
    batch, at = handle.batch_ndim, wrap_dim("slice", dim, self.ndim)
    first, last, _ = slice(start, end, 1).indices(self.shape[at])
    last = max(first, last)
    if (first, last, step) == (0, self.shape[at], 1):
        return ops.alias(self)
    shape = (*self.shape[:at], -(-(last - first) // step), *self.shape[at + 1 :])
    compressed, plain, values = components(self)
    if at < batch:
        return _made(
            self, [ops.slice(part, at, first, last, step) for part in (compressed, plain, values)], shape
        )
    if at >= batch + 2:
        values = ops.slice(values, at - 1 + 2 * handle.blocked, first, last, step)
        return _made(self, (compressed, plain, values), shape)
    unit = handle.blocksize[at - batch]
    whole = step == 1 and first % unit == 0 and last % unit == 0
    # Only whole compressed rows of one matrix lie together in memory.
    if batch or not whole or handle.rows != (at == 0) or not has_data(self):
        return _back(coo.slice_(_coordinates(self), at, first, last, step), self)
    starts = compressed[first // unit : last // unit + 1]
    begin, stop = (int(starts[0]), int(starts[-1])) if starts.numel() else (0, 0)
    return _made(self, (starts - begin, plain[begin:stop], values[begin:stop]), shape)


def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    handle: Any = sparse_handle(self)
    batch, at = handle.batch_ndim, wrap_dim("index_select", dim, self.ndim)
    shape = (*self.shape[:at], index.numel(), *self.shape[at + 1 :])
    compressed, plain, values = components(self)
    if at < batch:
        return _made(self, [ops.index_select(part, at, index) for part in (compressed, plain, values)], shape)
    if at >= batch + 2:
        values = ops.index_select(values, at - 1 + 2 * handle.blocked, index)
        return _made(self, (compressed, plain, values), shape)
    return _back(coo.index_select(_coordinates(self), at, index), self)


# --- joining -------------------------------------------------------------------------------------------------------


def cat(tensors: Sequence[Tensor], dim: int) -> Tensor:
    if not tensors:
        raise errors.ShapeError("cat(): expected a non-empty list of Tensors")
    first = tensors[0]
    handle, at = handle_of(first), wrap_dim("cat", dim, first.ndim)
    batch = handle.batch_ndim
    alike = all(t.ndim == first.ndim and handle_of(t).batch_ndim == batch for t in tensors)
    if not alike:
        raise errors.ShapeError("cat(): all tensors must have the same number of batch and dense dimensions")
    shape = (*first.shape[:at], sum(t.shape[at] for t in tensors), *first.shape[at + 1 :])
    if at < batch:
        counts = [handle_of(t).nnz for t in tensors]
        if len(set(counts)) > 1:
            raise errors.LayoutError(
                f"cat(): the matrices of a batch store equally many elements, and these store {counts}\n"
                "  try: x.to_sparse()"
            )
        parts = zip(*(components(t) for t in tensors), strict=True)
        return _made(first, [ops.cat(list(part), at) for part in parts], shape)
    return _back(coo.cat([_coordinates(t) for t in tensors], at), first)


# --- other sizes ---------------------------------------------------------------------------------------------------


def resize_(self: Tensor, size: Sequence[int]) -> Tensor:
    """Add rows and columns without elements, or drop compressed rows (columns) at the end."""
    handle, size = handle_of(self), tuple(int(n) for n in size)
    what, batch = "resize_()", handle.batch_ndim
    axis = batch if handle.rows else batch + 1
    other = 2 * batch + 1 - axis
    same = len(size) == self.ndim and all(n == m for d, (n, m) in enumerate(zip(size, self.shape, strict=True))
                                          if d not in (axis, other))  # fmt: skip
    if not same:
        raise errors.ShapeError(
            f"{what}: only the rows and columns of a tensor of the layout tt.{handle.layout} can be resized, not from "
            f"{list(self.shape)} to {list(size)}"
        )
    # Elements beyond the new end could lie anywhere among the others.
    if size[other] < self.shape[other]:
        raise errors.ShapeError(
            f"{what}: dimension {other} of a tensor of the layout tt.{handle.layout} cannot shrink from "
            f"{self.shape[other]} to {size[other]}: its elements may lie there"
        )
    unit = handle.blocksize[axis - batch]
    if size[axis] % unit or size[other] % handle.blocksize[other - batch]:
        raise errors.ShapeError(
            f"{what}: {list(size)} does not consist of blocks of {list(handle.blocksize)}"
        )
    compressed, plain, values = components(self)
    before, after = compressed.shape[-1] - 1, size[axis] // unit
    if after >= before:
        # New rows are empty: they begin where the last one ends.
        ends = ops.expand(compressed[..., -1:], (*compressed.shape[:-1], after - before))
        compressed = ops.cat([compressed, ends], -1)
    elif batch:
        raise errors.ShapeError(
            f"{what}: a batch cannot lose rows, since its matrices would differ\n  try: x[...]"
        )
    else:
        compressed = compressed[: after + 1]
        kept = int(compressed[-1])
        plain, values = plain[:kept], values[:kept]
    handle.assign(handle_of(_made(self, (compressed, plain, values), size)))
    return self
