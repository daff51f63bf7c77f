"""Composites that rearrange: views in terms of other views."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

from tt.core.composites.helpers import check_shapes, number, wrap
from tt.core.dispatch.registry import ops
from tt.core.dispatch.tables import CompositeTable
from tt.core.errors import IndexValueError, ShapeError
from tt.core.shapes.geometry import infer_size, view_strides, wrap_dims

composites: Final = CompositeTable()
composite = composites.composite

# --- the same elements in another shape ------------------------------------------------------------------------


@composite("reshape")
def reshape(self: Any, shape: Sequence[int]) -> Any:
    size = infer_size("reshape", shape, self.numel())
    if view_strides(tuple(self.shape), self.stride(), size) is None:
        self = ops.clone(self, memory_format="contiguous_format")
    return ops.view.default(self, size)


@composite("flatten")
def flatten(self: Any, start_dim: int, end_dim: int) -> Any:
    start, end = wrap("flatten", start_dim, self), wrap("flatten", end_dim, self)
    if start > end:
        raise ShapeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not self.ndim:
        return ops.reshape(self, (1,))
    if start == end:
        return self
    shape = tuple(self.shape)
    return ops.reshape(self, (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))


composite("broadcast_to", lambda self, size: ops.expand(self, size))
composite("detach", lambda self: ops.alias(self))


@composite("transpose")
def transpose(self: Any, dim0: int, dim1: int) -> Any:
    first, second = wrap("transpose", dim0, self), wrap("transpose", dim1, self)
    order = list(range(self.ndim))
    if order:
        order[first], order[second] = second, first
    return ops.permute(self, tuple(order))


@composite("t")
def t(self: Any) -> Any:
    check_shapes("t", self)
    return ops.permute(self, tuple(reversed(range(self.ndim))))


def _without(self: Any, dims: Sequence[int]) -> Any:
    """Return the view without dimensions of size 1."""
    for dim in sorted(dims, reverse=True):
        if self.shape[dim] == 1:
            self = ops.select(self, dim, 0)
    return self


@composite("squeeze")
def squeeze(self: Any) -> Any:
    return _without(ops.alias(self), range(self.ndim))


@composite("squeeze.dim")
def squeeze_dim(self: Any, dim: Sequence[int]) -> Any:
    dims = wrap_dims("squeeze", [dim] if isinstance(dim, int) else dim, self.ndim)
    return _without(ops.alias(self), dims if self.ndim else ())


# --- parts -----------------------------------------------------------------------------------------------------


@composite("narrow")
def narrow(self: Any, dim: int, start: int, length: int) -> Any:
    if not self.ndim:
        raise ShapeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise ShapeError("narrow(): length must be non-negative.")
    size = self.shape[wrap("narrow", dim, self)]
    if not -size <= start <= size:
        raise IndexValueError(
            f"narrow(): start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    first = start + size if start < 0 else start
    if first + length > size:
        raise ShapeError(f"narrow(): start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return ops.slice(self, dim, first, first + length, 1)


def _pieces(self: Any, dim: int, sizes: Sequence[int]) -> list[Any]:
    found, start = [], 0
    for size in sizes:
        found.append(ops.slice(self, dim, start, start + size, 1))
        start += size
    return found


@composite("split")
def split(self: Any, split_size: int, dim: int) -> list[Any]:
    check_shapes("split", self, split_size, dim)
    size = self.shape[wrap("split", dim, self)]
    count = max(-(-size // split_size), 1) if split_size else 1
    return _pieces(self, dim, [split_size] * (count - 1) + [size - split_size * (count - 1)])


@composite("split.sizes")
def split_sizes(self: Any, split_size: Sequence[int], dim: int) -> list[Any]:
    check_shapes("split.sizes", self, split_size, dim)
    return _pieces(self, dim, split_size)


@composite("unbind")
def unbind(self: Any, dim: int) -> list[Any]:
    check_shapes("unbind", self, dim)
    return [ops.select(self, dim, index) for index in range(self.shape[dim])]


# --- joining and triangles -------------------------------------------------------------------------------------


@composite("stack")
def stack(tensors: Sequence[Any], dim: int) -> Any:
    if not len(tensors):
        raise ShapeError("stack expects a non-empty TensorList")
    first = tuple(tensors[0].shape)
    for index, tensor in enumerate(tensors):
        if tuple(tensor.shape) != first:
            raise ShapeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(tensor.shape)} at entry {index}"
            )
    ndim = len(first) + 1
    if not -ndim <= dim < ndim:
        from tt.core.errors import DimensionError

        raise DimensionError("stack", dim, ndim)
    return ops.cat([ops.unsqueeze(tensor, dim) for tensor in tensors], dim)


def _triangle(op: str, self: Any, diagonal: int) -> Any:
    """Return the tensor with zeros outside of one of its triangles."""
    check_shapes(op, self, diagonal)
    rows, columns = (ops.arange.default(n, device=self.device) for n in tuple(self.shape)[-2:])
    offset = ops.sub(columns, ops.unsqueeze(rows, 1))
    inside = ops.le(offset, diagonal) if op == "tril" else ops.ge(offset, diagonal)
    return ops.where.default(inside, self, number(0, self)).contiguous()


composite("tril", lambda self, diagonal: _triangle("tril", self, diagonal))
composite("triu", lambda self, diagonal: _triangle("triu", self, diagonal))
