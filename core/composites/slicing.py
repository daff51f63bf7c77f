"""Composites that view parts of a tensor."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

from tt.core.composites.helpers import check_integers, check_shapes, wrap
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DimensionCountError, DtypeError, IndexValueError, ShapeError
from tt.core.shapes.slicing import diagonal_geometry, unfold_geometry

composites: Final = CompositeTable()
composite = composites.composite

# --- parts -----------------------------------------------------------------------------------------------------


@composite("narrow")
def narrow(self: Any, dim: int, start: int, length: int) -> Any:
    if not self.ndim:
        raise ShapeError("narrow(): the tensor has no dimension to take something of")
    if length < 0:
        raise ShapeError(f"narrow(): the length is {length}, and cannot be negative")
    size = self.shape[wrap("narrow", dim, self)]
    if not -size <= start <= size:
        raise IndexValueError(
            f"narrow(): start is {start}, and the dimension has places from {-size} to {size}"
        )
    first = start + size if start < 0 else start
    if first + length > size:
        raise ShapeError(
            f"narrow(): {length} indices from {start} reach beyond the dimension, whose size is {size}"
        )
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
    check_integers("split", self, split_size, dim)
    size = self.shape[wrap("split", dim, self)]
    count = max(-(-size // split_size), 1) if split_size else 1
    return _pieces(self, dim, [split_size] * (count - 1) + [size - split_size * (count - 1)])


@composite("split.sizes")
def split_sizes(self: Any, split_size: Sequence[int], dim: int) -> list[Any]:
    check_shapes("split.sizes", self, split_size, dim)
    return _pieces(self, dim, split_size)


@composite("narrow.tensor")
def narrow_tensor(self: Any, dim: int, start: Any, length: int) -> Any:
    if start.ndim or start.dtype.kind not in ("signed", "unsigned"):
        raise ShapeError(
            f"narrow(): start must be an int or a tensor of one, not {start.dtype} of shape {list(start.shape)}"
        )
    return narrow(self, dim, int(start.item()), length)


composite("split_with_sizes", lambda self, split_sizes, dim: ops.split.sizes(self, split_sizes, dim))


@composite("chunk")
def chunk(self: Any, chunks: int, dim: int) -> Any:
    check_integers("chunk", self, chunks, dim)
    if not self.ndim:
        raise ShapeError("chunk(): the tensor has no dimension to split")
    if chunks <= 0:
        raise ShapeError(f"chunk(): cannot split into {chunks} pieces")
    size = self.shape[wrap("chunk", dim, self)]
    # An empty dimension has as many pieces as requested.
    return (
        ops.split.default(self, -(-size // chunks), dim)
        if size
        else ops.split.sizes(self, (0,) * chunks, dim)
    )


@composite("tensor_split")
def tensor_split(self: Any, sections: int, dim: int) -> list[Any]:
    size = _size_to_split(self, dim)
    if sections <= 0:
        raise ShapeError(f"tensor_split(): cannot split into {sections} pieces")
    if sections >= 2**31:
        raise ShapeError(f"tensor_split(): {sections} pieces are more than there can be tensors")
    least, more = divmod(size, sections)
    return _pieces(self, dim, [least + (i < more) for i in range(sections)])


@composite("tensor_split.indices")
def tensor_split_indices(self: Any, indices: Sequence[int], dim: int) -> list[Any]:
    check_integers("tensor_split.indices", self, indices, dim)
    bounds = [0, *indices, _size_to_split(self, dim)]
    return [ops.slice(self, dim, start, end, 1) for start, end in itertools.pairwise(bounds)]


@composite("tensor_split.tensor_indices_or_sections")
def tensor_split_tensor(self: Any, tensor_indices_or_sections: Any, dim: int) -> Any:
    given = tensor_indices_or_sections
    _size_to_split(self, dim)
    if given.device.type not in ("cpu", "meta"):
        raise ShapeError(f"tensor_split(): the tensor of split points is on {given.device}\n  try: .cpu()")
    if given.dtype.name != "int64":
        raise DtypeError(
            f"tensor_split(): the tensor of split points must have dtype int64, not {given.dtype}"
        )
    if given.ndim > 1:
        raise DimensionCountError(
            f"tensor_split(): it takes a number of pieces or a vector of indices, not a tensor of "
            f"{given.ndim} dimensions"
        )
    if not given.ndim:
        return tensor_split(self, int(given.item()), dim)
    return tensor_split_indices(self, [int(index) for index in given.tolist()], dim)


def _size_to_split(self: Any, dim: int) -> int:
    if not self.ndim:
        raise ShapeError("tensor_split(): the tensor has no dimension to split")
    return int(self.shape[wrap("tensor_split", dim, self)])


def _split_along(op: str, self: Any, how: Any, least: int) -> Any:
    """Split the dimension of an operator into a number of equal pieces, or before indices."""
    if self.ndim < least:
        raise DimensionCountError(
            f"{op}(): the tensor has {self.ndim} dimensions, and needs at least {least}"
        )
    dim = {"hsplit": 0 if self.ndim == 1 else 1, "vsplit": 0, "dsplit": 2}[op]
    if not isinstance(how, int):
        return tensor_split_indices(self, how, dim)
    if how <= 0 or self.shape[dim] % how:
        raise ShapeError(
            f"{op}(): dimension {dim} has size {self.shape[dim]}, which {how} pieces cannot share equally\n"
            f"  try: tensor_split()"
        )
    return tensor_split(self, how, dim)


composite("hsplit", lambda self, sections: _split_along("hsplit", self, sections, 1))
composite("vsplit", lambda self, sections: _split_along("vsplit", self, sections, 2))
composite("dsplit", lambda self, sections: _split_along("dsplit", self, sections, 3))
composite("hsplit.array", lambda self, indices: _split_along("hsplit", self, indices, 1))
composite("vsplit.array", lambda self, indices: _split_along("vsplit", self, indices, 2))
composite("dsplit.array", lambda self, indices: _split_along("dsplit", self, indices, 3))


@composite("unbind")
def unbind(self: Any, dim: int) -> list[Any]:
    check_shapes("unbind", self, dim)
    return [ops.select(self, dim, index) for index in range(self.shape[dim])]


# --- geometries ------------------------------------------------------------------------------------------------


@composite("diagonal")
def diagonal(self: Any, offset: int, dim1: int, dim2: int) -> Any:
    shape, strides, start = diagonal_geometry(
        "diagonal", tuple(self.shape), self.stride(), offset, dim1, dim2
    )
    if start:  # the first element of the diagonal comes first, so that the rest counts from there
        self = ops.slice(self, dim2 if offset > 0 else dim1, abs(offset), None, 1)
    return ops.as_strided(self, shape, strides)


composite("linalg_diagonal", lambda matrix, offset, dim1, dim2: ops.diagonal(matrix, offset, dim1, dim2))


@composite("unfold")
def unfold(self: Any, dimension: int, size: int, step: int) -> Any:
    shape, strides = unfold_geometry("unfold", tuple(self.shape), self.stride(), dimension, size, step)
    return ops.as_strided(self, shape, strides)
