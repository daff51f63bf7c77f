"""Formulas of operators that write by index.  g is the gradient of the result."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tt.core.library import Tensor, errors, ops, to_dtype
from tt.plugins.autograd.formulas.helpers import conj
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

# --- along one dim ---------------------------------------------------------------------------------------------


def read(g: Any, src_shape: Sequence[int], dim: int, index: Tensor) -> Tensor:
    """Read g where the source was written."""
    return fitted(ops.gather(g, dim, index), src_shape)


def fitted(grad: Tensor, shape: Sequence[int]) -> Tensor:
    """Return the gradient of a source that is larger than the index: zeros where nothing was read."""
    if tuple(grad.shape) == tuple(shape):
        return grad
    # The index covers a corner of the source, which is no slice of the flat order; so its places are listed.
    positions = ops.reshape(ops.arange.default(prod(shape), device=grad.device), tuple(shape))
    for dim, size in enumerate(grad.shape):
        positions = ops.slice(positions, dim, 0, size)
    return ops.put(ops.new_zeros(grad, tuple(shape)), ops.reshape(positions, tuple(grad.shape)), grad)


def part(src: Tensor, index: Tensor) -> Tensor:
    """Return the part of the source that is written."""
    for dim, size in enumerate(index.shape if src.ndim else ()):
        src = src if src.shape[dim] == size else ops.slice(src, dim, 0, size)
    return ops.reshape(src, tuple(index.shape))


def untouched(g: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return g, and 0 where something was written."""
    return ops.scatter.value(g, dim, index, 0)


d.of("scatter", self=untouched, src=read)
d.of("scatter.value", self=untouched)
d.of("scatter_add", self=lambda g: g, src=read)


# --- scatter_reduce --------------------------------------------------------------------------------------------


def counts_of(self: Tensor, dim: int, index: Tensor, include_self: bool) -> Tensor:
    """Return how many elements were reduced at each place, at least 1."""
    zeros = ops.zeros_like(self)
    written = ops.scatter_add(zeros, dim, index, ops.new_ones(self, tuple(index.shape)))
    # At least 1, as this divides.
    return written + 1 if include_self else ops.where(ops.eq(written, 0), 1, written)


def shares(self: Tensor, dim: int, index: Tensor, src: Tensor, result: Tensor) -> tuple[Any, Any, Any]:
    """Return 1 where self, and where the source, is an extreme, and the number of those that share a place."""
    one = ops.ones_like(self)
    own = ops.where(ops.eq(self, result), one, 0)
    extreme = ops.eq(part(src, index), ops.gather(result, dim, index))
    theirs = ops.where(extreme, ops.new_ones(self, tuple(index.shape)), 0)
    return own, theirs, ops.scatter_add(own, dim, index, theirs)


def product_self(g: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor) -> Any:
    """Multiply g by the product of the values that were multiplied into an element."""
    return g * conj(ops.scatter_reduce(ops.ones_like(self), dim, index, src, "prod"))


def product_src(
    g: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, result: Tensor, include_self: bool
) -> Tensor:
    """Multiply g by the product of the other factors: by division, but for the only zero of a place."""
    values = part(src, index)
    zero = ops.eq(values, 0)
    ones = ops.new_ones(self, tuple(index.shape))
    zeros = ops.gather(
        ops.scatter_add(ops.zeros_like(self), dim, index, ops.where(zero, ones, 0)), dim, index
    )
    # With a single zero at a place, the product of the others is finite and not result / value.
    only = ops.logical_and(zero, ops.eq(zeros, 1))
    others = ops.scatter_reduce(
        self, dim, index, ops.where(only, ones, values), "prod", include_self=include_self
    )
    divided = ops.gather(g * conj(result), dim, index) / conj(ops.where(zero, ones, values))
    return ops.where(only, ops.gather(g * conj(others), dim, index), divided)


def scatter_reduce_self(
    g: Tensor,
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
) -> Any:
    """Give self its part of g."""
    if not include_self:
        return untouched(g, dim, index)
    if reduce == "mean":
        return g / counts_of(self, dim, index, True)
    if reduce == "prod":
        return product_self(g, self, dim, index, src)
    if reduce in ("amax", "amin"):
        own, _, count = shares(self, dim, index, src, result)
        return g * own / count
    return g


def scatter_reduce_src(
    g: Tensor,
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
) -> Tensor:
    """Give the source its part of g."""
    shape = tuple(src.shape)
    if reduce == "prod":
        return fitted(product_src(g, self, dim, index, src, result, include_self), shape)
    if reduce == "mean":
        g = g / counts_of(self, dim, index, include_self)
    if reduce in ("amax", "amin"):
        _, theirs, count = shares(self, dim, index, src, result)
        return fitted(ops.gather(g / count, dim, index) * theirs, shape)
    return read(g, shape, dim, index)


d.of("scatter_reduce", self=scatter_reduce_self, src=scatter_reduce_src)


# --- slices ----------------------------------------------------------------------------------------------------


def read_slices(g: Tensor, source_shape: Sequence[int], dim: int, index: Tensor) -> Tensor:
    """Read g where the source was written."""
    return ops.reshape(ops.index_select(g, dim, index), tuple(source_shape))


def index_add_source(g: Tensor, source_shape: Sequence[int], dim: int, index: Tensor, alpha: Any) -> Tensor:
    """Read g where the source was added."""
    grad = read_slices(g, source_shape, dim, index)
    return grad if alpha == 1 else grad * conj(alpha)


def index_fill_value(g: Tensor, dim: int, index: Tensor) -> Tensor:
    """Sum g where the value was written, each place once."""
    # Through a mask: an index that occurs twice writes the value once.
    return ops.sum(g * ops.index_fill(ops.zeros_like(g), dim, index, 1))


d.of("index_add", self=lambda g: g, source=index_add_source)
d.of("index_copy", self=lambda g, dim, index: ops.index_fill(g, dim, index, 0), source=read_slices)
d.of("index_fill", self=lambda g, dim, index: ops.index_fill(g, dim, index, 0), value=index_fill_value)


# --- flat places and masks -------------------------------------------------------------------------------------


def put_self(g: Tensor, index: Tensor, accumulate: bool) -> Tensor:
    """Return g, and 0 where a value was written over."""
    return g if accumulate else ops.put(g, index, ops.new_zeros(g, tuple(index.shape)))


def masked_scatter_source(g: Tensor, source_shape: Sequence[int], mask: Tensor) -> Tensor:
    """Read g where the mask is true; the values that were left over get 0."""
    where = ops.reshape(ops.expand(mask, tuple(g.shape)), (-1,))
    count = prod(source_shape)
    if not count or not where.numel():
        return ops.new_zeros(g, tuple(source_shape))
    # The n-th true element came from the n-th value; the others go to a place behind the last.
    order = ops.sub(ops.cumsum(ops._to_copy(where, dtype=to_dtype("int64")), 0), 1)
    positions = ops.where(where, order, count)
    sums = ops.scatter_add(ops.new_zeros(g, (count + 1,)), 0, positions, ops.reshape(g, (-1,)))
    return ops.reshape(ops.slice(sums, 0, 0, count), tuple(source_shape))


d.of("put", self=put_self,
     source=lambda g, source_shape, index: ops.reshape(ops.take(g, index), source_shape))  # fmt: skip
d.of("masked_scatter", self=lambda g, mask: ops.masked_fill(g, mask, 0), source=masked_scatter_source)


def embedding_weight(
    g: Tensor,
    weight_shape: Sequence[int],
    indices: Tensor,
    padding_idx: int | None,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Any:
    """Sum g at the rows that were read, except the padding row; optionally divide by how often a row was read."""
    if sparse:
        flat_index = ops.reshape(indices, (-1,))
        rows = ops.reshape(g, (flat_index.shape[0], weight_shape[1]))
        return sparse_rows(rows, weight_shape, flat_index, padding_idx, scale_grad_by_freq)
    padding = -1 if padding_idx is None else padding_idx
    return ops.embedding_dense_backward(g, indices, weight_shape[0], padding, scale_grad_by_freq)


def sparse_rows(
    rows: Any, weight_shape: Sequence[int], flat_index: Any, padding_idx: int | None, scale_grad_by_freq: bool
) -> Any:
    """Return the rows that were read as a sparse tensor, those that were read several times as often."""
    if scale_grad_by_freq:
        raise errors.GradientError(
            "embedding(): scale_grad_by_freq is not supported with sparse gradients\n  try: sparse=False"
        )
    # A copy: the gradient stays as it is where a program writes its next indices into the same tensor.
    flat_index = ops._to_copy(flat_index, dtype=to_dtype("int64"))
    if padding_idx is not None:
        kept = ops.ne(flat_index, padding_idx)
        flat_index, rows = ops.index(flat_index, [kept]), ops.index(rows, [kept])
    return ops.sparse.coo(ops.unsqueeze(flat_index, 0), rows, tuple(weight_shape), False)


def embedding_grad_output(
    g: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """Read g where rows were added to it."""
    rows = ops._embedding(g, indices)
    if scale_grad_by_freq:
        flat_index = ops.reshape(indices, (-1,))
        ones = ops.new_ones(g, tuple(flat_index.shape))
        counts = ops.index_add(ops.new_zeros(g, (num_weights,)), 0, flat_index, ones)
        rows = rows / ops._embedding(ops.unsqueeze(counts, 1), indices)
    if padding_idx >= 0:
        rows = ops.where(ops.unsqueeze(ops.eq(indices, padding_idx), -1), 0, rows)
    return rows


d.of("_embedding", weight=embedding_weight)


d.of("embedding_dense_backward", grad_output=embedding_grad_output)


def bag_of_each(
    indices: Tensor, offsets: Tensor, per_sample_weights: Any, include_last_offset: bool
) -> tuple[Any, Any, Any, int]:
    """Return the indices in bags, their weights, the bag of each, and the number of bags."""
    bags = offsets.shape[0] - include_last_offset
    if include_last_offset:
        # The last offset ends the last bag; indices behind it belong to none.
        stop = int(ops.select(offsets, 0, -1).item())
        indices = ops.slice(indices, 0, 0, stop)
        if per_sample_weights is not None:
            per_sample_weights = ops.slice(per_sample_weights, 0, 0, stop)
    positions = ops.arange.default(indices.shape[0], device=indices.device)
    starts = ops._to_copy(ops.slice(offsets, 0, 0, bags), dtype=to_dtype("int64"))
    return indices, per_sample_weights, ops.sub(ops._searchsorted(starts, positions, True), 1), bags


def bag_weight(
    g: Tensor,
    weight_shape: Sequence[int],
    indices: Tensor,
    offsets: Tensor,
    per_sample_weights: Any,
    mode: str,
    include_last_offset: bool,
    padding_idx: int | None,
    scale_grad_by_freq: bool,
    sparse: bool,
    places: Tensor,
) -> Any:
    """Give each row of a bag its part of the bag's gradient."""
    if not offsets.shape[0] - include_last_offset or not indices.shape[0]:
        return ops.new_zeros(g, weight_shape)
    if mode == "max":
        # An empty bag has no largest row; its place is -1.
        some = ops.ge(places, 0)
        rows = ops.index(ops._to_copy(indices, dtype=to_dtype("int64")), [ops.where(some, places, 0)])
        return ops.scatter_add(ops.new_zeros(g, weight_shape), 0, rows, ops.where(some, g, 0))
    indices, weights, owner, bags = bag_of_each(indices, offsets, per_sample_weights, include_last_offset)
    if mode == "mean":
        ones = ops.new_ones(g, (indices.shape[0],))
        # The mean is over the rows that count.
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
    g: Tensor,
    weight: Any,
    indices: Any,
    offsets: Tensor,
    per_sample_weights_shape: Sequence[int],
    include_last_offset: bool,
    padding_idx: int | None,
) -> Any:
    """Multiply the gradient of a bag with its rows."""
    grad = ops.new_zeros(g, per_sample_weights_shape)
    if not offsets.shape[0] - include_last_offset or not indices.shape[0]:
        return grad
    inside, _, owner, _ = bag_of_each(indices, offsets, None, include_last_offset)
    products = ops.sum.dim(ops.index_select(g, 0, owner) * ops.index_select(weight, 0, inside), (1,))
    if padding_idx is not None:
        products = ops.where(ops.eq(inside, padding_idx), 0, products)
    rest = per_sample_weights_shape[0] - inside.shape[0]
    return ops.cat([products, ops.new_zeros(products, (rest,))]) if rest else products


d.of("_embedding_bag", weight=bag_weight, per_sample_weights=bag_per_sample_weights)
