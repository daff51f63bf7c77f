"""Formulas of operators that read and write by index.  g is the gradient of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.table import Formulas, zero

d = Formulas()

# --- parts by number -------------------------------------------------------------------------------------------


def select_self(g: Any, self_shape: Sequence[int], dim: int, index: int) -> Any:
    """Put g back into zeros."""
    return ops.select_scatter(ops.new_zeros(g, tuple(self_shape)), g, dim, index)


def slice_self(g: Any, self_shape: Sequence[int], dim: int, start: Any, end: Any, step: int) -> Any:
    """Put g back into zeros."""
    return ops.slice_scatter(ops.new_zeros(g, tuple(self_shape)), g, dim, start, end, step)


def narrow_self(g: Any, self_shape: Sequence[int], dim: int, start: int, length: int) -> Any:
    """Put g back into zeros."""
    if start < 0:
        start += self_shape[dim]
    return ops.slice_scatter(ops.new_zeros(g, tuple(self_shape)), g, dim, start, start + length)


d.of("select", self=select_self)
d.of("slice", self=slice_self)
d.of("narrow", self=narrow_self)
d.of("select_scatter", self=lambda g, src_shape, dim, index: ops.select_scatter(g, ops.new_zeros(g, src_shape), dim, index),
     src=lambda g, dim, index: ops.select(g, dim, index))  # fmt: skip
d.of("slice_scatter", self=lambda g, src_shape, dim, start, end, step:
     ops.slice_scatter(g, ops.new_zeros(g, src_shape), dim, start, end, step),
     src=lambda g, dim, start, end, step: ops.slice(g, dim, start, end, step))  # fmt: skip
d.of("diagonal", self=lambda g, self_shape, offset, dim1, dim2:
     ops.diagonal_scatter(ops.new_zeros(g, self_shape), g, offset, dim1, dim2))  # fmt: skip
d.of("diagonal_scatter", self=lambda g, src_shape, offset, dim1, dim2:
     ops.diagonal_scatter(g, ops.new_zeros(g, src_shape), offset, dim1, dim2),
     src=lambda g, offset, dim1, dim2: ops.diagonal(g, offset, dim1, dim2))  # fmt: skip

# --- elements by index tensors ---------------------------------------------------------------------------------


def gather_self(g: Any, self_shape: Sequence[int], dim: int, index: Any) -> Any:
    """Add g up where it was read."""
    return ops.scatter_add(ops.new_zeros(g, tuple(self_shape)), dim, index, g)


def index_self(g: Any, self_shape: Sequence[int], indices: Any) -> Any:
    """Add g up where it was read."""
    return ops.index_put(ops.new_zeros(g, tuple(self_shape)), indices, g, True)


def index_put_self(g: Any, indices: Any, values_shape: Sequence[int], accumulate: bool) -> Any:
    """g, and 0 where a value was written over."""
    return g if accumulate else ops.index_put(g, indices, ops.new_zeros(g, ()))


d.of("gather", self=gather_self)
d.of("index", self=index_self)
d.of("index_put", self=index_put_self, values=lambda g, indices: ops.index(g, indices))
d.of("index_select", self=lambda g, self_shape, dim, index: ops.index_add(ops.new_zeros(g, self_shape), dim, index, g))
d.of("index_add", self=lambda g: g, source=lambda g, dim, index, alpha, source_shape:
     ops.expand(ops.index_select(g, dim, index), source_shape) * alpha)  # fmt: skip
d.of("index_copy", self=lambda g, dim, index: ops.index_fill(g, dim, index, 0),
     source=lambda g, dim, index, source_shape: ops.expand(ops.index_select(g, dim, index), source_shape))  # fmt: skip
d.of("index_fill", self=lambda g, dim, index: ops.index_fill(g, dim, index, 0),
     value=lambda g, dim, index: ops.sum(ops.index_select(g, dim, index)))  # fmt: skip
d.of("take", self=lambda g, self_shape, index: take_self(g, self_shape, index))


def take_self(g: Any, self_shape: Sequence[int], index: Any) -> Any:
    """Add g up where it was read."""
    flat = ops.new_zeros(g, (_count(self_shape),))
    return ops.reshape(ops.index_put(flat, [index], g, True), tuple(self_shape))


def _count(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


# --- scatter ---------------------------------------------------------------------------------------------------

d.of("scatter.src", self=lambda g, dim, index: ops.scatter(g, dim, index, 0), src=lambda g, dim, index: ops.gather(g, dim, index))
d.of("scatter.value", self=lambda g, dim, index: ops.scatter(g, dim, index, 0))
d.of("scatter_add", self=lambda g: g, src=lambda g, dim, index: ops.gather(g, dim, index))

# --- masks -----------------------------------------------------------------------------------------------------


def masked_select_self(g: Any, self_shape: Sequence[int], mask: Any) -> Any:
    """Put g back where it was read; the engine sums what was broadcast."""
    from tt.core.shapes.geometry import broadcast_shapes

    shape = broadcast_shapes("masked_select", tuple(self_shape), tuple(mask.shape))
    return ops.masked_scatter(ops.new_zeros(g, shape), mask, g)


d.of("masked_fill", self=lambda g, mask: ops.masked_fill(g, mask, 0),
     value=lambda g, mask: ops.sum(ops.where(mask, g, ops.zeros_like(g))))  # fmt: skip
d.of("masked_select", self=masked_select_self)
d.of("nonzero", self=zero)
