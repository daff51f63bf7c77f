"""Composites that read and write at places which tensors name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import (
    DataTypeError,
    DtypeError,
    IndexValueError,
    ShapeError,
    UnsupportedError,
    ValueRangeError,
)
from tt.core.shapes.geometry import broadcast
from tt.core.tensor.base import TensorBase
from tt.core.types.dtype import int32, int64
from tt.core.types.scalars import fitted_number
from tt.operators.helpers import as_type, check_shapes, is_integral, number, python_value, wrap
from tt.operators.indexing.shapes import take_along_dim as rule

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

# --- along one dimension ---------------------------------------------------------------------------------------


def along(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return a vector of places along a dimension, expanded over the others for gather and scatter."""
    shape = [1] * self.ndim
    shape[dim] = -1
    size = list(self.shape)
    size[dim] = index.numel()
    return ops.expand(ops.reshape(index, tuple(shape)), tuple(size))


@composite("index_select")
def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    check_shapes("index_select", self, dim, index)
    if not self.ndim:
        return ops.reshape(ops.gather(self, 0, ops.reshape(index, ())), ())
    axis = wrap("index_select", dim, self)
    return ops.gather(self, axis, along(self, axis, index))


@composite("take")
def take(self: Tensor, index: Tensor) -> Tensor:
    check_shapes("take", self, index)
    if not self.numel() and index.numel():
        raise IndexValueError("take(): the tensor has no elements to take")
    return ops.index(ops.reshape(self, (-1,)), [index])


@composite("take_along_dim")
def take_along_dim(self: Any, indices: Any, dim: int | None) -> Tensor:
    shape = rule(self, indices, dim, op="take_along_dim")
    if dim is None:
        return ops.gather(ops.reshape(self, (-1,)), 0, ops.reshape(indices, (-1,)))
    axis = wrap("take_along_dim", dim, self)
    size = self.shape[axis]
    # As in PyTorch, indices are taken modulo the size, so that negative ones count from the end.
    index = ops.expand(ops.remainder(indices, size) if size else indices, shape)
    return ops.gather(ops.expand(self, (*shape[:axis], size, *shape[axis + 1 :])), axis, index)


# --- repetition ------------------------------------------------------------------------------------------------


@composite("repeat_interleave.Tensor")
def repeat_interleave_counts(repeats: Tensor, output_size: int | None) -> Tensor:
    if repeats.ndim != 1 or repeats.dtype not in (int32, int64):
        check_shapes("repeat_interleave.Tensor", repeats, output_size)
    if not repeats.numel():
        return ops.new_zeros(repeats, (0,))
    smallest = python_value(ops.amin(repeats))
    if smallest is not None and smallest < 0:
        raise ShapeError("repeat_interleave(): repeats can not be negative")
    ends = ops.cumsum(repeats, 0)
    total = python_value(ops.select(ends, 0, -1))
    if total is None:
        check_shapes("repeat_interleave.Tensor", repeats, output_size)
        total = output_size
    elif output_size is not None and total != output_size:
        raise ShapeError(
            f"repeat_interleave(): the repeats add up to {total}, but output_size is {output_size}"
        )
    positions = ops.arange.default(total, device=repeats.device)
    # The number of ends up to a place is the number of the element that it repeats.
    return as_type(ops._searchsorted(ends, positions, True), repeats.dtype)


@composite("repeat_interleave.self_Tensor")
def repeat_interleave_tensor(
    self: Tensor, repeats: Tensor, dim: int | None, output_size: int | None
) -> Tensor:
    flat = ops.reshape(self, (-1,)) if dim is None else self
    if not flat.ndim:
        raise IndexValueError(f"repeat_interleave(): dimension {dim} does not exist: the tensor has none")
    axis = 0 if dim is None else wrap("repeat_interleave", dim, self)
    size = flat.shape[axis]
    if repeats.ndim == 0 or (repeats.ndim == 1 and repeats.shape[0] == 1):
        repeats = ops.expand(ops.reshape(repeats, (1,)), (size,))
    if repeats.ndim == 1 and repeats.shape[0] != size:
        raise ShapeError(
            f"repeat_interleave(): repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats.shape[0]} and input.size({axis}) = {size}"
        )
    return ops.index_select(flat, axis, ops.repeat_interleave.Tensor(repeats, output_size=output_size))


@composite("repeat_interleave.self_int")
def repeat_interleave(self: Tensor, repeats: int, dim: int | None, output_size: int | None) -> Tensor:
    flat = ops.reshape(self, (-1,)) if dim is None else self
    if not flat.ndim:
        raise IndexValueError(f"repeat_interleave(): dimension {dim} does not exist: the tensor has none")
    axis = 0 if dim is None else wrap("repeat_interleave", dim, self)
    if repeats < 0:
        raise ShapeError(f"repeat_interleave(): repeats must not be negative, got {repeats}")
    shape = list(flat.shape)
    if output_size is not None and output_size != shape[axis] * repeats:
        raise ShapeError(
            f"repeat_interleave(): invalid output_size, expected {shape[axis] * repeats} but got {output_size}"
        )
    copies = ops.expand(ops.unsqueeze(flat, axis + 1), (*shape[: axis + 1], repeats, *shape[axis + 1 :]))
    # A copy first: the reshaped tensor is a view where nothing is repeated.
    return ops.reshape(
        ops.clone(copies, memory_format="contiguous_format"),
        (*shape[:axis], shape[axis] * repeats, *shape[axis + 1 :]),
    )


# --- masks -----------------------------------------------------------------------------------------------------


@composite("masked_fill")
def masked_fill(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    check_shapes("masked_fill", self, mask, value)
    return ops.where.default(mask, filling(value, self), self)


def filling(value: Any, self: Tensor) -> Tensor:
    """Return one value, that is to fill a tensor, as a tensor of its dtype."""
    if not isinstance(value, TensorBase):
        return number(fitted_number(value, self.dtype), self)
    held = python_value(value) if value.dtype is not self.dtype else None
    if held is not None:
        fitted_number(held, self.dtype)  # raises where the dtype cannot hold it
    return as_type(value, self.dtype)


@composite("masked_select")
def masked_select(self: Tensor, mask: Tensor) -> Tensor:
    if mask.dtype.name != "bool":
        raise DtypeError(f"masked_select: expected BoolTensor for mask, got {mask.dtype}")

    shape = broadcast("masked_select", tuple(self.shape), tuple(mask.shape))
    flat, chosen = (ops.reshape(ops.expand(t, shape), (-1,)) for t in (self, mask))
    return ops.index(flat, [chosen])


@composite("nonzero.as_tuple")
def nonzero_as_tuple(self: Tensor, as_tuple: bool) -> Any:
    if not as_tuple:
        return ops.nonzero.default(self)
    index = ops.nonzero.default(self if self.ndim else ops.unsqueeze(self, 0))
    # Copies: a column of the matrix would keep all others in memory.
    return tuple(ops.clone(column) for column in ops.unbind(index, 1))


@composite("nonzero.as_matrix")
def nonzero_as_matrix(self: Tensor, as_tuple: bool) -> Tensor:
    if as_tuple:
        raise UnsupportedError("nonzero(): out= takes one matrix, so as_tuple must be False")
    return ops.nonzero.default(self)


@composite("argwhere")
def argwhere(self: Tensor) -> Tensor:
    return ops.nonzero.default(self)


@composite("one_hot")
def one_hot(input: Tensor, num_classes: int) -> Tensor:
    self = input
    if self.dtype is not int64:
        raise DtypeError(f"one_hot(): classes have the dtype int64, not {self.dtype}")
    if not self.numel():
        if num_classes <= 0:
            raise ShapeError(
                "one_hot(): the number of classes cannot be inferred from an empty tensor: give num_classes"
            )
        return ops.zeros((*self.shape, num_classes), dtype=int64, device=self.device)
    smallest = python_value(ops.amin(self))
    if smallest is not None and smallest < 0:
        raise ValueRangeError("one_hot(): a class is negative")
    if num_classes == -1:
        num_classes = ops.amax(self).item() + 1
    elif num_classes < 1:
        raise ValueRangeError(
            f"one_hot(): num_classes is positive, or -1 to count the classes, not {num_classes}"
        )
    elif smallest is not None and ops.amax(self).item() >= num_classes:
        raise ValueRangeError(f"one_hot(): a class is not below num_classes, which is {num_classes}")
    # Like its argument, so that it is without data where that is.
    zeros = ops.new_zeros(self, (*self.shape, num_classes))
    return ops.scatter_.value(zeros, -1, ops.unsqueeze(self, -1), 1)


# --- coordinates -----------------------------------------------------------------------------------------------


def coordinates(positions: Tensor, shape: Sequence[int]) -> list[Any]:
    """Return the index along each dimension of places in the flattened tensor."""
    result, step = [], 1
    for size in reversed(shape):
        along_it = ops.floor_divide(positions, step) if step > 1 else positions
        result.append(ops.remainder.default(along_it, size) if size else along_it)
        step *= size
    return result[::-1]


@composite("unravel_index")
def unravel_index(indices: Tensor, shape: Sequence[int]) -> list[Any]:
    if not is_integral(indices.dtype) or indices.dtype.kind == "bool":
        raise DataTypeError(f"unravel_index(): expected indices to be integers, got {indices.dtype}")
    if any(size < 0 for size in shape):
        raise ValueRangeError(f"unravel_index(): the sizes of shape must not be negative, got {tuple(shape)}")
    return coordinates(indices, shape)


@composite("nonzero_static")
def nonzero_static(self: Tensor, size: int, fill_value: int) -> Tensor:
    if size < 0:
        raise ValueRangeError(f"nonzero_static(): size must not be negative, got {size}")
    flat = ops.ne(ops.reshape(self, (-1,)), 0)
    count = flat.shape[0]
    rank = ops.sub(ops.cumsum(as_type(flat, int64), 0), 1)
    # Elements that are zero, and those beyond the size, write to one place behind the others.
    taken = ops.logical_and(flat, ops.lt(rank, size))
    target = ops.where.default(taken, rank, number(size, rank))
    positions = ops.full((size + 1,), -1, dtype=int64, device=self.device)
    positions = ops.scatter(positions, 0, target, ops.arange(count, device=self.device))
    positions = ops.slice(positions, 0, 0, size, 1)
    if not self.ndim:
        return ops.empty((size, 0), dtype=int64, device=self.device)
    result = ops.stack(coordinates(positions, tuple(self.shape)), 1)
    return ops.where.default(ops.unsqueeze(ops.ge(positions, 0), 1), result, number(fill_value, result))


@composite("fill_diagonal")
def fill_diagonal(self: Tensor, fill_value: Any, wrap: bool) -> Tensor:
    shape = tuple(self.shape)
    if len(shape) < 2:
        raise ShapeError(f"fill_diagonal_(): the tensor needs at least 2 dimensions, got {len(shape)}")
    if len(shape) > 2 and len({*shape}) > 1:
        raise ShapeError(f"fill_diagonal_(): more than 2 dimensions must have one size, got {list(shape)}")
    axes = [
        ops.reshape(
            ops.arange(size, device=self.device), tuple(-1 if e == d else 1 for e in range(len(shape)))
        )
        for d, size in enumerate(shape)
    ]
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        # The next diagonal begins after a row that is left out.
        axes[0] = ops.remainder.default(axes[0], shape[1] + 1)
    on = ops.eq(axes[0], axes[1])
    for axis in axes[2:]:
        on = ops.logical_and(on, ops.eq(axes[0], axis))
    # masked_fill is not defined for float8.
    return ops.where.default(on, filling(fill_value, self), self)
