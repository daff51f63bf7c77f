"""Composites that read and write at places which tensors name."""

from __future__ import annotations

from typing import Any, Final

from tt.core.composites.helpers import as_type, check_shapes, number, python_value, wrap
from tt.core.dispatch.registry import ops
from tt.core.dispatch.tables import CompositeTable
from tt.core.dtype import int64
from tt.core.errors import DtypeError, ShapeError, ValueRangeError
from tt.core.tensor_base import TensorBase

composites: Final = CompositeTable()
composite = composites.composite

# --- along one dimension ---------------------------------------------------------------------------------------


def _along(self: Any, dim: int, index: Any) -> Any:
    """Return a vector of places along a dimension, expanded over the others for gather and scatter."""
    shape = [1] * self.ndim
    shape[dim] = -1
    size = list(self.shape)
    size[dim] = index.numel()
    return ops.expand(ops.reshape(index, tuple(shape)), tuple(size))


@composite("index_select")
def index_select(self: Any, dim: int, index: Any) -> Any:
    check_shapes("index_select", self, dim, index)
    if not self.ndim:
        return ops.reshape(ops.gather(self, 0, ops.reshape(index, ())), ())
    axis = wrap("index_select", dim, self)
    return ops.gather(self, axis, _along(self, axis, index))


@composite("index_add")
def index_add(self: Any, dim: int, index: Any, source: Any, alpha: Any) -> Any:
    check_shapes("index_add", self, dim, index, source)
    scaled = source if alpha == 1 else as_type(ops.mul(source, alpha), self.dtype)
    if not self.ndim:
        return ops.scatter_add(self, 0, ops.reshape(index, ()), ops.reshape(scaled, ()))
    axis = wrap("index_add", dim, self)
    return ops.scatter_add(self, axis, _along(self, axis, index), scaled)


@composite("scatter.value")
def scatter_value(self: Any, dim: int, index: Any, value: Any) -> Any:
    src = ops.full(tuple(index.shape), value, dtype=self.dtype, device=self.device)
    return ops.scatter.default(self, dim, index, src)


# --- masks -----------------------------------------------------------------------------------------------------


@composite("masked_fill")
def masked_fill(self: Any, mask: Any, value: Any) -> Any:
    check_shapes("masked_fill", self, mask, value)
    value = as_type(value, self.dtype) if isinstance(value, TensorBase) else number(value, self)
    return ops.where.default(mask, value, self)


@composite("masked_select")
def masked_select(self: Any, mask: Any) -> Any:
    if mask.dtype.name != "bool":
        raise DtypeError(f"masked_select: expected BoolTensor for mask, got {mask.dtype}")
    from tt.core.shapes.geometry import broadcast

    shape = broadcast("masked_select", tuple(self.shape), tuple(mask.shape))
    return ops.index(ops.expand(self, shape), [ops.expand(mask, shape)])


@composite("nonzero.as_tuple")
def nonzero_as_tuple(self: Any, as_tuple: bool) -> Any:
    if not as_tuple:
        return ops.nonzero.default(self)
    found = ops.nonzero.default(self if self.ndim else ops.unsqueeze(self, 0))
    return tuple(ops.unbind(found, 1))


@composite("one_hot")
def one_hot(self: Any, num_classes: int) -> Any:
    if self.dtype is not int64:
        raise DtypeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not self.numel():
        if num_classes <= 0:
            raise ShapeError("Can not infer total number of classes from empty tensor.")
        return ops.zeros((*self.shape, num_classes), dtype=int64, device=self.device)
    smallest = python_value(ops.amin(self))
    if smallest is not None and smallest < 0:
        raise ValueRangeError("one_hot: Class values must be non-negative.")
    if num_classes == -1:
        num_classes = ops.amax(self).item() + 1
    elif num_classes < 1:
        raise ValueRangeError("one_hot: num_classes should be positive")
    elif smallest is not None and ops.amax(self).item() >= num_classes:
        raise ValueRangeError("one_hot: Class values must be smaller than num_classes.")
    classes = ops.arange.default(num_classes, device=self.device)
    return as_type(ops.eq(ops.unsqueeze(self, -1), classes), int64)
