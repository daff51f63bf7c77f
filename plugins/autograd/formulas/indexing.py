"""Formulas of operators that read and write by index.  g is the gradient of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import Tensor, ops, to_dtype
from tt.plugins.autograd.formulas.helpers import broadcast_shape
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

# --- index tensors ---------------------------------------------------------------------------------------------


def index_self(g: Tensor, self_shape: Sequence[int], indices: Sequence[Tensor | None]) -> Tensor:
    """Add g up where it was read."""
    return ops.index_put(ops.new_zeros(g, self_shape), indices, g, True)


def index_put_self(g: Tensor, indices: Sequence[Tensor | None], accumulate: bool) -> Tensor:
    """g, and 0 where a value was written over."""
    return g if accumulate else ops.index_put(g, indices, ops.new_zeros(g, ()))


d.of("index", self=index_self)
d.of("index_put", self=index_put_self, values=lambda g, indices: ops.index(g, indices))

# --- along one dim ---------------------------------------------------------------------------------------------


def gather_self(g: Tensor, self_shape: Sequence[int], dim: int, index: Tensor, sparse_grad: bool) -> Any:
    """Add g up where it was read."""
    if sparse_grad:
        return sparse_elements(g, self_shape, dim, index)
    return ops.scatter_add(ops.new_zeros(g, self_shape), dim, index, g)


def sparse_elements(g: Tensor, shape: Sequence[int], dim: int, index: Any) -> Any:
    """Return g as a sparse tensor with its elements where they were read, some several times."""
    index = ops._to_copy(index, dtype=to_dtype("int64")) if index.dtype.name != "int64" else index
    # In the other dims each element was read at its own position.
    indices = [
        index
        if d == dim % len(shape)
        else ops.expand(
            ops.reshape(
                ops.arange(size, device=index.device), tuple(-1 if k == d else 1 for k in range(len(shape)))
            ),
            tuple(index.shape),
        )
        for d, size in enumerate(tuple(index.shape) if shape else ())
    ]
    if shape and not index.shape:
        indices = [index]  # of one row, without its dim
    rows = [ops.reshape(axis_index, (-1,)) for axis_index in indices]
    values = ops.reshape(g, (-1,))
    if not rows:
        where = ops.empty((0, values.shape[0]), dtype=to_dtype("int64"), device=index.device)
    else:
        where = ops.stack(rows, 0)
    return ops.sparse.coo(where, values, tuple(shape), False)


def index_select_self(g: Tensor, self_shape: Sequence[int], dim: int, index: Tensor) -> Tensor:
    """Add g up where it was read."""
    if not self_shape:
        return ops.reshape(g, ())
    return ops.index_add(ops.new_zeros(g, self_shape), dim, index, g)


d.of("gather", self=gather_self)
d.of("index_select", self=index_select_self)
d.of("take", self=lambda g, self_shape, index: ops.put(ops.new_zeros(g, self_shape), index, g, True))

# --- masks -----------------------------------------------------------------------------------------------------


def masked_select_self(g: Tensor, self_shape: Sequence[int], mask: Tensor) -> Tensor:
    """Put g back where it was read; the engine sums what was broadcast."""
    shape = broadcast_shape(self_shape, mask.shape)
    return ops.index_put(ops.new_zeros(g, shape), [ops.expand(mask, shape)], g)


d.of("masked_fill", self=lambda g, mask: ops.masked_fill(g, mask, 0),
     value=lambda g, mask: ops.sum(ops.where(mask, g, 0)))  # fmt: skip
d.of("masked_select", self=masked_select_self)
