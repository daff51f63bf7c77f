"""Formulas of operators that read and write by index.  g is the gradient of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.helpers import broadcast_shape
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

# --- index tensors ---------------------------------------------------------------------------------------------


def index_self(g: Any, self_shape: Sequence[int], indices: Any) -> Any:
    """Add g up where it was read."""
    return ops.index_put(ops.new_zeros(g, self_shape), indices, g, True)


def index_put_self(g: Any, indices: Any, accumulate: bool) -> Any:
    """g, and 0 where a value was written over."""
    return g if accumulate else ops.index_put(g, indices, ops.new_zeros(g, ()))


d.of("index", self=index_self)
d.of("index_put", self=index_put_self, values=lambda g, indices: ops.index(g, indices))

# --- along one dim ---------------------------------------------------------------------------------------------


def gather_self(g: Any, self_shape: Sequence[int], dim: int, index: Any) -> Any:
    """Add g up where it was read."""
    return ops.scatter_add(ops.new_zeros(g, self_shape), dim, index, g)


def index_select_self(g: Any, self_shape: Sequence[int], dim: int, index: Any) -> Any:
    """Add g up where it was read."""
    if not self_shape:
        return ops.reshape(g, ())
    return ops.index_add(ops.new_zeros(g, self_shape), dim, index, g)


def index_add_source(g: Any, source_shape: Sequence[int], dim: int, index: Any, alpha: Any) -> Any:
    """Read g where the source was added."""
    found = ops.reshape(ops.index_select(g, dim, index), source_shape)
    return found if alpha == 1 else found * alpha


d.of("gather", self=gather_self)
d.of("scatter", self=lambda g, dim, index: ops.scatter.value(g, dim, index, 0),
     src=lambda g, src_shape, dim, index: fitted(ops.gather(g, dim, index), src_shape))  # fmt: skip
d.of("scatter.value", self=lambda g, dim, index: ops.scatter.value(g, dim, index, 0))
d.of("scatter_add", self=lambda g: g,
     src=lambda g, src_shape, dim, index: fitted(ops.gather(g, dim, index), src_shape))  # fmt: skip
d.of("index_select", self=index_select_self)
d.of("index_add", self=lambda g: g, source=index_add_source)


def fitted(found: Any, shape: Sequence[int]) -> Any:
    """Return the gradient of a source that is larger than the index: zeros where nothing was read."""
    if tuple(found.shape) == tuple(shape):
        return found
    whole = ops.new_zeros(found, shape)
    part = whole
    for dim, size in enumerate(found.shape):
        part = ops.slice(part, dim, 0, size)
    part.copy_(found)
    return whole


# --- masks -----------------------------------------------------------------------------------------------------


def masked_select_self(g: Any, self_shape: Sequence[int], mask: Any) -> Any:
    """Put g back where it was read; the engine sums what was broadcast."""
    shape = broadcast_shape(self_shape, mask.shape)
    return ops.index_put(ops.new_zeros(g, shape), [ops.expand(mask, shape)], g)


d.of("masked_fill", self=lambda g, mask: ops.masked_fill(g, mask, 0),
     value=lambda g, mask: ops.sum(ops.where(mask, g, 0)))  # fmt: skip
d.of("masked_select", self=masked_select_self)
