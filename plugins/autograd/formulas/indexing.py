"""Formulas of operators that read and write by index.  g is the gradient of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import errors, ops, to_dtype
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


d.of("gather", self=gather_self)
d.of("index_select", self=index_select_self)
d.of("take", self=lambda g, self_shape, index: ops.put(ops.new_zeros(g, self_shape), index, g, True))

# --- embeddings ------------------------------------------------------------------------------------------------


def embedding_weight(
    g: Any,
    weight_shape: Sequence[int],
    indices: Any,
    padding_idx: int | None,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Any:
    """Add g up where it was read, but for the row that pads; divided by how often a row was read if asked."""
    if sparse:
        places = ops.reshape(indices, (-1,))
        rows = ops.reshape(g, (places.shape[0], weight_shape[1]))
        return sparse_rows(rows, weight_shape, places, padding_idx, scale_grad_by_freq)
    padding = -1 if padding_idx is None else padding_idx
    return ops.embedding_dense_backward(g, indices, weight_shape[0], padding, scale_grad_by_freq)


def sparse_rows(
    rows: Any, weight_shape: Sequence[int], places: Any, padding_idx: int | None, scale_grad_by_freq: bool
) -> Any:
    """Return the rows that were read as a sparse tensor, those that were read several times as often."""
    if scale_grad_by_freq:
        raise errors.GradientError(
            "embedding(): scale_grad_by_freq is not supported with sparse gradients\n  try: sparse=False"
        )
    places = ops._to_copy(places, dtype=to_dtype("int64")) if places.dtype.name != "int64" else places
    if padding_idx is not None:
        kept = ops.ne(places, padding_idx)
        places, rows = ops.index(places, [kept]), ops.index(rows, [kept])
    return ops.sparse.coo(ops.unsqueeze(places, 0), rows, tuple(weight_shape), False)


def embedding_grad_output(
    g: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    """Read g where rows were added to it."""
    rows = ops._embedding(g, indices)
    if scale_grad_by_freq:
        places = ops.reshape(indices, (-1,))
        ones = ops.new_ones(g, tuple(places.shape))
        counts = ops.index_add(ops.new_zeros(g, (num_weights,)), 0, places, ones)
        rows = rows / ops._embedding(ops.unsqueeze(counts, 1), indices)
    if padding_idx >= 0:
        rows = ops.where(ops.unsqueeze(ops.eq(indices, padding_idx), -1), 0, rows)
    return rows


d.of("_embedding", weight=embedding_weight)
d.of("embedding_dense_backward", grad_output=embedding_grad_output)

# --- masks -----------------------------------------------------------------------------------------------------


def masked_select_self(g: Any, self_shape: Sequence[int], mask: Any) -> Any:
    """Put g back where it was read; the engine sums what was broadcast."""
    shape = broadcast_shape(self_shape, mask.shape)
    return ops.index_put(ops.new_zeros(g, shape), [ops.expand(mask, shape)], g)


d.of("masked_fill", self=lambda g, mask: ops.masked_fill(g, mask, 0),
     value=lambda g, mask: ops.sum(ops.where(mask, g, 0)))  # fmt: skip
d.of("masked_select", self=masked_select_self)
