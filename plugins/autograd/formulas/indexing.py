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


def gather_self(g: Any, self_shape: Sequence[int], dim: int, index: Any, sparse_grad: bool) -> Any:
    """Add g up where it was read."""
    if sparse_grad:
        return sparse_elements(g, self_shape, dim, index)
    return ops.scatter_add(ops.new_zeros(g, self_shape), dim, index, g)


def sparse_elements(g: Any, shape: Sequence[int], dim: int, index: Any) -> Any:
    """Return g as a sparse tensor with its elements where they were read, some several times."""
    index = ops._to_copy(index, dtype=to_dtype("int64")) if index.dtype.name != "int64" else index
    places = [
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
        places = [index]  # of one row, without its dim
    rows = [ops.reshape(place, (-1,)) for place in places]
    values = ops.reshape(g, (-1,))
    if not rows:
        where = ops.empty((0, values.shape[0]), dtype=to_dtype("int64"), device=index.device)
    else:
        where = ops.stack(rows, 0)
    return ops.sparse.coo(where, values, tuple(shape), False)


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
    """Sum g at the rows that were read, except the padding row; optionally divide by how often a row was read."""
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
    # A copy: the gradient stays as it is where a program writes its next indices into the same tensor.
    places = ops._to_copy(places, dtype=to_dtype("int64"))
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


def bag_of_each(
    indices: Any, offsets: Any, per_sample_weights: Any, include_last_offset: bool
) -> tuple[Any, Any, Any, int]:
    """Return the indices in bags, their weights, the bag of each, and the number of bags."""
    bags = offsets.shape[0] - include_last_offset
    if include_last_offset:
        stop = int(ops.select(offsets, 0, -1).item())
        indices = ops.slice(indices, 0, 0, stop)
        if per_sample_weights is not None:
            per_sample_weights = ops.slice(per_sample_weights, 0, 0, stop)
    places = ops.arange.default(indices.shape[0], device=indices.device)
    starts = ops._to_copy(ops.slice(offsets, 0, 0, bags), dtype=to_dtype("int64"))
    return indices, per_sample_weights, ops.sub(ops._searchsorted(starts, places, True), 1), bags


def bag_weight(
    g: Any,
    weight_shape: Sequence[int],
    indices: Any,
    offsets: Any,
    per_sample_weights: Any,
    mode: str,
    include_last_offset: bool,
    padding_idx: int | None,
    scale_grad_by_freq: bool,
    sparse: bool,
    places: Any,
) -> Any:
    """Give each row of a bag its part of the bag's gradient."""
    if not offsets.shape[0] - include_last_offset or not indices.shape[0]:
        return ops.new_zeros(g, weight_shape)
    if mode == "max":
        some = ops.ge(places, 0)
        rows = ops.index(ops._to_copy(indices, dtype=to_dtype("int64")), [ops.where(some, places, 0)])
        return ops.scatter_add(ops.new_zeros(g, weight_shape), 0, rows, ops.where(some, g, 0))
    indices, weights, owner, bags = bag_of_each(indices, offsets, per_sample_weights, include_last_offset)
    if mode == "mean":
        ones = ops.new_ones(g, (indices.shape[0],))
        if padding_idx is not None:
            ones = ops.where(ops.eq(indices, padding_idx), 0, ones)
        counts = ops.index_add(ops.new_zeros(g, (bags,)), 0, owner, ones)
        g = g / ops.unsqueeze(ops.clamp(counts, 1), 1)
    rows = ops.index_select(g, 0, owner)
    if weights is not None:
        rows = rows * ops.unsqueeze(weights, 1)
    if sparse:
        return sparse_rows(rows, weight_shape, indices, padding_idx, scale_grad_by_freq)
    padding = -1 if padding_idx is None else padding_idx
    return ops.embedding_dense_backward(rows, indices, weight_shape[0], padding, scale_grad_by_freq)


def bag_per_sample_weights(
    g: Any,
    weight: Any,
    indices: Any,
    offsets: Any,
    per_sample_weights_shape: Sequence[int],
    include_last_offset: bool,
    padding_idx: int | None,
) -> Any:
    """Multiply the gradient of a bag with its rows."""
    found = ops.new_zeros(g, per_sample_weights_shape)
    if not offsets.shape[0] - include_last_offset or not indices.shape[0]:
        return found
    inside, _, owner, _ = bag_of_each(indices, offsets, None, include_last_offset)
    products = ops.sum.dim(ops.index_select(g, 0, owner) * ops.index_select(weight, 0, inside), (1,))
    if padding_idx is not None:
        products = ops.where(ops.eq(inside, padding_idx), 0, products)
    rest = per_sample_weights_shape[0] - inside.shape[0]
    return ops.cat([products, ops.new_zeros(products, (rest,))]) if rest else products


d.of("_embedding_bag", weight=bag_weight, per_sample_weights=bag_per_sample_weights)

# --- masks -----------------------------------------------------------------------------------------------------


def masked_select_self(g: Any, self_shape: Sequence[int], mask: Any) -> Any:
    """Put g back where it was read; the engine sums what was broadcast."""
    shape = broadcast_shape(self_shape, mask.shape)
    return ops.index_put(ops.new_zeros(g, shape), [ops.expand(mask, shape)], g)


d.of("masked_fill", self=lambda g, mask: ops.masked_fill(g, mask, 0),
     value=lambda g, mask: ops.sum(ops.where(mask, g, 0)))  # fmt: skip
d.of("masked_select", self=masked_select_self)
