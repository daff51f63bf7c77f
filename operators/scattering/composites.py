"""Composites that write to places which tensors name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import (
    ArgumentError,
    ChoiceError,
    DtypeError,
    PlaceError,
    ShapeError,
    UnsupportedError,
    ValueRangeError,
)
from tt.core.shapes.geometry import broadcast, wrap_dim
from tt.core.types.dtype import int32, int64
from tt.core.types.scalars import fitted_number
from tt.core.types.user_warnings import warn_user
from tt.operators.helpers import as_type, check_shapes, number, python_value, widened, wrap
from tt.operators.indexing.composites import along, filling

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

# --- along one dimension ---------------------------------------------------------------------------------------

# What scatter calls a reduction, and scatter_reduce calls it.
_REDUCTIONS: Final = {"add": "sum", "multiply": "prod"}


def constant(self: Tensor, index: Tensor, value: Any) -> Tensor:
    """Return one value for each place of an index."""
    return ops.expand(number(fitted_number(value, self.dtype), self), tuple(index.shape))


def combined(self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str) -> Tensor:
    """Return the result of scatter with a reduction."""
    if reduce not in _REDUCTIONS:
        raise ValueRangeError(f"scatter(): reduce argument must be either add or multiply, got {reduce}")
    return ops.scatter_reduce(self, dim, index, src, _REDUCTIONS[reduce])


@composite("scatter.value")
def scatter_value(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    return ops.scatter.default(self, dim, index, constant(self, index, value))


@composite("scatter.reduce")
def scatter_reduced(self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str) -> Tensor:
    result = combined(self, dim, index, src, reduce)
    warn_user(
        f"scatter(): reduce={reduce!r} with a tensor src is deprecated\n"
        f"  try: scatter_reduce(dim, index, src, {_REDUCTIONS[reduce]!r})"
    )
    return result


composite(
    "scatter.value_reduce",
    lambda self, dim, index, value, reduce: combined(self, dim, index, constant(self, index, value), reduce),
)


# --- slices ----------------------------------------------------------------------------------------------------


@composite("index_add")
def index_add(self: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Any) -> Tensor:
    check_shapes("index_add", self, dim, index, source)
    scaled = source if alpha == 1 else as_type(ops.mul(source, fitted_number(alpha, self.dtype)), self.dtype)
    if not self.ndim:
        return ops.scatter_add(self, 0, ops.reshape(index, ()), ops.reshape(scaled, ()))
    axis = wrap("index_add", dim, self)
    return ops.scatter_add(
        self, axis, along(self, axis, index), ops.reshape(scaled, _slots(self, axis, index))
    )


@composite("index_copy")
def index_copy(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    check_shapes("index_copy", self, dim, index, source)
    if not self.ndim:
        return ops.scatter.default(self, 0, ops.reshape(index, ()), ops.reshape(source, ()))
    axis = wrap("index_copy", dim, self)
    return ops.scatter.default(
        self, axis, along(self, axis, index), ops.reshape(source, _slots(self, axis, index))
    )


@composite("index_fill")
def index_fill(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    check_shapes("index_fill", self, dim, index, value)
    flat = self if self.ndim else ops.reshape(self, (1,))
    axis = wrap("index_fill", dim, flat)
    # Advanced indexing counts negative indices from the end and refuses those out of range.
    where = [*([None] * axis), ops.reshape(index, (-1,))]
    return ops.reshape(ops.index_put(flat, where, filling(value, self)), tuple(self.shape))


@composite("index_reduce")
def index_reduce(
    self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool
) -> Tensor:
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise ValueRangeError(f"index_reduce(): reduce is one of prod, mean, amax and amin, not {reduce}")
    check_shapes("index_add", self, dim, index, source)
    if not self.ndim:
        flat, positions, values = (ops.reshape(t, (-1,)) for t in (self, index, source))
        return ops.reshape(
            ops.scatter_reduce(flat, 0, positions, values, reduce, include_self=include_self), ()
        )
    axis = wrap("index_reduce", dim, self)
    if not source.numel():
        ops.index_select(self, axis, index)  # refuses places that `scatter_reduce` would not look at
    values = ops.reshape(source, _slots(self, axis, index))
    return ops.scatter_reduce(self, axis, along(self, axis, index), values, reduce, include_self=include_self)


def _slots(self: Tensor, axis: int, index: Tensor) -> tuple[int, ...]:
    """Return the shape of the slices that an index names."""
    shape = tuple(self.shape)
    return (*shape[:axis], index.numel(), *shape[axis + 1 :])


# --- flat places and masks -------------------------------------------------------------------------------------


@composite("put")
def put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
    check_shapes("put", self, index, source)
    flat, positions, values = (ops.reshape(t, (-1,)) for t in (self, index, source))
    return ops.reshape(ops.index_put(flat, [positions], values, accumulate), tuple(self.shape))


@composite("masked_scatter")
def masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    check_shapes("masked_scatter", self, mask, source)

    shape = broadcast("masked_scatter", tuple(self.shape), tuple(mask.shape))
    mask = ops.expand(mask, shape)
    # The n-th true element takes the n-th value.
    order = ops.cumsum(ops.reshape(as_type(mask, int64), (-1,)), 0)
    count = python_value(ops.select(order, 0, -1)) if order.numel() else 0
    if count is not None and count > source.numel():
        raise ShapeError(
            f"masked_scatter(): the source has {source.numel()} elements, fewer than the {count} true elements of "
            f"the mask"
        )
    if not source.numel() or (not count and count is not None):
        return ops.clone(ops.expand(self, shape))
    # Places before the first true element have none; `where` drops what they take.
    positions = ops.clamp(ops.sub(order, 1), 0, source.numel() - 1)
    values = ops.reshape(ops.index_select(ops.reshape(source, (-1,)), 0, positions), shape)
    return ops.where.default(mask, values, ops.expand(self, shape))


# --- rows ------------------------------------------------------------------------------------------------------


@composite("_embedding")
def embedding_rows(
    weight: Tensor, indices: Tensor, padding_idx: int | None, scale_grad_by_freq: bool, sparse: bool
) -> Tensor:
    check_shapes("_embedding", weight, indices)
    taken = ops.index_select(weight, 0, ops.reshape(indices, (-1,)))
    return ops.reshape(taken, (*indices.shape, weight.shape[1]))


@composite("embedding_dense_backward")
def embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    check_shapes("embedding_dense_backward", grad_output, indices, num_weights)
    flat_index, columns = ops.reshape(indices, (-1,)), grad_output.shape[-1]
    rows = ops.reshape(grad_output, (flat_index.shape[0], columns))
    if scale_grad_by_freq:
        ones = ops.new_ones(rows, tuple(flat_index.shape))
        counts = ops.index_add(ops.new_zeros(rows, (num_weights,)), 0, flat_index, ones)
        rows = ops.div(rows, ops.unsqueeze(ops.index_select(counts, 0, flat_index), 1))
    if padding_idx >= 0:
        rows = ops.where(ops.unsqueeze(ops.eq(flat_index, padding_idx), 1), 0, rows)
    return ops.index_add(ops.new_zeros(grad_output, (num_weights, columns)), 0, flat_index, rows)


@composite("embedding")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None,
    max_norm: float | None,
    norm_type: float,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Tensor:
    if weight.ndim != 2:
        check_shapes("_embedding", weight, input)
    rows = weight.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise ValueRangeError(
                f"embedding(): padding_idx must be within the {rows} rows of weight, got {padding_idx}"
            )
        padding_idx %= rows
    if max_norm is not None:
        renormalise(weight, input, max_norm, norm_type)
    return ops._embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def renormalise(weight: Any, indices: Any, max_norm: float, norm_type: float) -> None:
    """Scale the rows that are named down to a norm, in place and unseen by autograd."""
    # PyTorch does so, too: the scaling is no part of the program's function.
    plain = ops.detach(weight)
    taken = ops._embedding(plain, ops.reshape(indices, (-1,)))
    norms = _norms(ops.abs(widened(taken)), norm_type)
    # As in PyTorch, the norm comes out just below the limit.
    scales = ops.where(ops.gt(norms, max_norm), ops.mul(ops.reciprocal(ops.add(norms, 1e-7)), max_norm), 1.0)
    scaled = as_type(ops.mul(widened(taken), scales), weight.dtype)
    # A row that is named twice is written twice with the same numbers.
    ops.index_copy_(plain, 0, as_type(ops.reshape(indices, (-1,)), int64), scaled)


def _norms(sizes: Any, order: float) -> Any:
    """Return the norm of each row of absolute values."""
    if order == float("inf"):
        return ops.amax(sizes, -1, keepdim=True)
    if order == float("-inf"):
        return ops.amin(sizes, -1, keepdim=True)
    if order == 0:
        return as_type(ops.sum(ops.ne(sizes, 0), -1, keepdim=True), sizes.dtype)
    return ops.pow(ops.sum(ops.pow(sizes, order), -1, keepdim=True), 1 / order)


# --- bags ------------------------------------------------------------------------------------------------------


@composite("embedding_bag")
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None,
    max_norm: float | None,
    norm_type: float,
    scale_grad_by_freq: bool,
    mode: str,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int | None,
) -> Tensor:
    if weight.dtype in (int32, int64) and input.dtype.is_floating_point:
        warn_user("the order of the arguments of embedding_bag is input, weight; weight, input is deprecated")
        input, weight = weight, input
    _expect_bags(input, weight, offsets, mode, per_sample_weights, scale_grad_by_freq, sparse)
    indices, rows = ops.reshape(input, (-1,)), weight.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise ValueRangeError(
                f"embedding_bag(): padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, "
                f"but got {padding_idx}"
            )
        padding_idx %= rows
    if per_sample_weights is not None:
        per_sample_weights = ops.reshape(per_sample_weights, (-1,))
    if offsets is None:
        # One bag more than there are rows: the last offset ends the last bag.
        bags, size = input.shape
        steps = ops.arange.default(bags + 1, device=input.device)
        offsets, include_last_offset = ops.mul(steps, size), True
    if max_norm is not None:
        owned = indices
        last = python_value(ops.select(offsets, 0, -1)) if include_last_offset and offsets.shape[0] else None
        if last is not None and 0 <= last < indices.numel():
            owned = ops.slice(indices, 0, 0, last)
        _expect_rows(owned, rows)
        renormalise(weight, owned, max_norm, norm_type)
    return ops._embedding_bag(
        weight,
        indices,
        offsets,
        per_sample_weights,
        mode,
        include_last_offset,
        padding_idx,
        scale_grad_by_freq,
        sparse,
    )[0]


@composite("_embedding_bag")
def reduced_bags(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    per_sample_weights: Tensor | None,
    mode: str,
    include_last_offset: bool,
    padding_idx: int | None,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> tuple[Any, Any]:
    check_shapes("_embedding_bag", weight, indices, offsets, per_sample_weights, mode, include_last_offset)
    bags, owner, stop = _owners(indices, offsets, include_last_offset)
    columns, nothing = weight.shape[1], ops.zeros((0,), dtype=int64, device=weight.device)
    if not bags:
        positions = ops.zeros((0, columns), dtype=int64, device=weight.device) if mode == "max" else nothing
        return ops.new_zeros(weight, (0, columns)), positions
    if stop is not None and stop < indices.numel():
        # What follows the last offset belongs to no bag.
        indices, owner = ops.slice(indices, 0, 0, stop), ops.slice(owner, 0, 0, stop)
        if per_sample_weights is not None:
            per_sample_weights = ops.slice(per_sample_weights, 0, 0, stop)
    _expect_rows(indices, weight.shape[0])
    taken = ops._embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)
    counted = None if padding_idx is None else ops.ne(indices, padding_idx)
    if mode == "max":
        return _largest(taken, owner, bags, counted)
    summed = widened(taken)
    if per_sample_weights is not None:
        summed = ops.mul(summed, ops.reshape(widened(per_sample_weights), (-1, 1)))
    if counted is not None:
        summed = ops.where(ops.unsqueeze(counted, 1), summed, 0.0)
    result = ops.index_add(ops.new_zeros(summed, (bags, columns)), 0, owner, summed)
    if mode == "mean":
        ones = ops.new_ones(summed, (indices.numel(),)) if counted is None else as_type(counted, summed.dtype)
        counts = ops.index_add(ops.new_zeros(summed, (bags,)), 0, owner, ones)
        # An empty bag is 0, not NaN.
        result = ops.div(result, ops.unsqueeze(ops.clamp(counts, 1), 1))
    return as_type(result, weight.dtype), nothing


def _expect_bags(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None,
    mode: str,
    per_sample_weights: Any,
    scaled: bool,
    sparse: bool,
) -> None:
    """Raise for wrong arguments of embedding_bag."""
    if weight.ndim != 2:
        raise ValueRangeError(
            f"embedding_bag(): weight has to be a 2D Tensor, but got {weight.ndim} dimensions"
        )
    if not weight.dtype.is_floating_point:
        raise DtypeError(f"embedding_bag(): weight must hold floating point numbers, not {weight.dtype}")
    if input.ndim not in (1, 2):
        raise ValueRangeError(
            f"embedding_bag(): input has to be 1D or 2D Tensor, but got {input.ndim} dimensions"
        )
    if input.ndim == 2 and offsets is not None:
        raise ValueRangeError(
            "embedding_bag(): if input is 2D, its rows are the bags and offsets has to be None"
        )
    if input.ndim == 1 and (offsets is None or offsets.ndim != 1):
        actual = "None" if offsets is None else f"{offsets.ndim} dimensions"
        raise ValueRangeError(f"embedding_bag(): offsets has to be a 1D Tensor but got {actual}")
    for name, tensor in (("input", input), ("offsets", offsets)):
        if tensor is not None and tensor.dtype not in (int32, int64):
            raise DtypeError(
                f"embedding_bag(): {name} must have the dtype int32 or int64, not {tensor.dtype}"
            )
    if mode not in ("sum", "mean", "max"):
        raise ValueRangeError(f"embedding_bag(): mode has to be one of sum, mean or max, got {mode}")
    if mode == "max" and (scaled or sparse):
        what = "scale_grad_by_freq" if scaled else "sparse"
        raise ValueRangeError(f"embedding_bag(): {what} is not for mode='max'")
    if per_sample_weights is None:
        return
    if mode != "sum":
        raise UnsupportedError(
            f"embedding_bag(): per_sample_weights is only supported for mode='sum' (got mode='{mode}')"
        )
    if per_sample_weights.shape != input.shape:
        raise ValueRangeError(
            f"embedding_bag(): per_sample_weights must have the shape of input, {list(input.shape)}, but has "
            f"{list(per_sample_weights.shape)}"
        )
    if per_sample_weights.dtype is not weight.dtype:
        raise DtypeError(
            f"embedding_bag(): expected weight and per_sample_weights to have one dtype, but got {weight.dtype} and "
            f"{per_sample_weights.dtype}"
        )


def _owners(indices: Tensor, offsets: Tensor, include_last: bool) -> tuple[int, Any, int | None]:
    """Return the number of bags, for each index in which bag it lies, and where the last bag ends."""
    count, length = indices.numel(), offsets.shape[0]
    positions = ops.arange.default(count, device=indices.device)
    if include_last and not length:
        raise ShapeError("embedding_bag(): include_last_offset: number of offsets should be at least 1")
    bags = length - 1 if include_last else length
    if not bags:
        return 0, positions, None
    first, last = (python_value(ops.select(offsets, 0, at)) for at in (0, -1))
    if first is not None and last is not None:
        if first != 0:
            raise ShapeError(f"embedding_bag(): offsets[0] has to be 0, however, got {first}")
        if last > count:
            raise ShapeError(
                f"embedding_bag(): offsets[-1] can not be greater than input's length {count} but got {last}"
            )
        falls = ops.lt(ops.slice(offsets, 0, 1, None), ops.slice(offsets, 0, 0, -1))
        if ops.any(falls).item():
            raise ShapeError("embedding_bag(): offsets must not decrease")
    starts = ops.slice(offsets, 0, 0, bags)
    # The last bag that starts at or before an index has it; so empty bags, with the same start, have none.
    return bags, ops.sub(ops._searchsorted(starts, positions, True), 1), last if include_last else None


def _expect_rows(indices: Tensor, rows: int) -> None:
    """Raise unless every index names a row."""
    if not indices.numel():
        return
    low, high = python_value(ops.amin(indices)), python_value(ops.amax(indices))
    if low is not None and high is not None and (low < 0 or high >= rows):
        wrong = low if low < 0 else high
        raise PlaceError(f"embedding_bag(): index {wrong} is out of range for {rows} rows")


def _largest(taken: Any, owner: Any, bags: int, counted: Any) -> tuple[Any, Any]:
    """Return the largest element of each bag and column, 0 where a bag is empty, and where it is, else -1."""
    count, columns = taken.shape
    if not count:
        none = ops.full((bags, columns), -1, dtype=int64, device=taken.device)
        # A sum of nothing, so that the result has a history like any other.
        return ops.index_add(ops.new_zeros(taken, (bags, columns)), 0, owner, taken), none
    plain = ops.detach(taken)
    if counted is not None:
        plain = ops.where(ops.unsqueeze(counted, 1), plain, float("-inf"))
    owners = ops.expand(ops.unsqueeze(owner, 1), (count, columns))
    low = ops.new_full(plain, (bags, columns), float("-inf"))
    high = ops.scatter_reduce(low, 0, owners, plain, "amax")
    # The first position of the largest element: only it gets the gradient.
    hit = ops.logical_or(ops.eq(plain, ops.gather(high, 0, owners)), ops.isnan(plain))
    if counted is not None:
        hit = ops.logical_and(hit, ops.unsqueeze(counted, 1))
    own = ops.expand(ops.unsqueeze(ops.arange.default(count, device=taken.device), 1), (count, columns))
    first = ops.scatter_reduce(
        ops.new_full(own, (bags, columns), count), 0, owners, ops.where(hit, own, count), "amin"
    )
    largest = ops.gather(taken, 0, ops.clamp(first, None, count - 1))
    some = ops.lt(first, count)
    return ops.where(some, largest, 0.0), ops.where(some, first, -1)


REDUCTIONS: Final = {
    "sum": ("sum", 0.0), "mean": ("sum", 0.0), "max": ("amax", float("-inf")), "min": ("amin", float("inf")),
    "prod": ("prod", 1.0),
}  # fmt: skip
"""The reduction of `scatter_reduce` for each, and what an empty segment has."""


def _lengths(op: str, lengths: Any, offsets: Any, indices: Any) -> Any:
    if indices is not None:
        raise ArgumentError(op, "indices is not supported: give lengths or offsets")
    if lengths is None and offsets is None:
        raise ChoiceError(op, "either lengths or offsets must be given")
    bounds = lengths if lengths is not None else offsets
    if bounds.dtype not in (int32, int64):
        raise DtypeError(f"{op}(): lengths and offsets are int32 or int64, got {bounds.dtype}")
    if not bounds.ndim:
        raise ShapeError(f"{op}(): lengths and offsets have at least one dimension")
    if lengths is None and not bounds.shape[-1]:
        raise ShapeError(
            f"{op}(): offsets have one element more than there are segments, got shape {list(bounds.shape)}"
        )
    return as_type(bounds, int64) if lengths is not None else ops.diff(as_type(bounds, int64), 1, -1)


@composite("segment_reduce")
def segment_reduce(
    data: Tensor,
    reduce: str,
    lengths: Tensor | None,
    indices: Tensor | None,
    offsets: Tensor | None,
    axis: int,
    unsafe: bool,
    initial: Any,
) -> Tensor:
    op = "segment_reduce"
    if reduce not in REDUCTIONS:
        raise ValueRangeError(f"{op}(): reduce is one of {', '.join(REDUCTIONS)}, not {reduce!r}")
    if not data.dtype.is_floating_point:
        raise DtypeError(f"{op}(): expected floating point data, got {data.dtype}")
    axis = wrap_dim(op, axis, data.ndim)
    if not data.ndim:
        raise ShapeError(f"{op}(): data has at least one dimension")
    counts = _lengths(op, lengths, offsets, indices)
    if counts.ndim - 1 != axis or tuple(counts.shape[:-1]) != tuple(data.shape[:axis]):
        raise ShapeError(
            f"{op}(): lengths and offsets have the shape of data before axis {axis}, and one dimension more, but data "
            f"has {list(data.shape)} and these have {list(counts.shape)}"
        )
    size, segments = data.shape[axis], counts.shape[-1]
    ends = ops.cumsum(counts, -1) if lengths is not None else as_type(offsets, int64)
    if not unsafe and counts.numel():
        if python_value(ops.lt(ops.amin(counts), 0)):
            raise ValueRangeError(f"{op}(): a segment has a negative length")
        last = ops.select(ends, -1, ends.shape[-1] - 1)
        if lengths is None:
            first = ops.select(ends, -1, 0)
            if python_value(ops.any(ops.logical_or(ops.lt(first, 0), ops.gt(last, size)))):
                raise ValueRangeError(f"{op}(): offsets must lie from 0 to {size}, the size of axis {axis}")
        elif python_value(ops.any(ops.ne(last, size))):
            raise ValueRangeError(
                f"{op}(): the lengths of the segments must add up to {size}, the size of axis {axis}"
            )
    name, start = REDUCTIONS[reduce]
    x = widened(data)
    lead, rest = tuple(data.shape[:axis]), tuple(data.shape[axis + 1 :])
    segment = ops.expand(ops.arange(size, device=data.device), (*lead, size))
    segment = (
        ops.searchsorted(ops.contiguous(ends), ops.contiguous(segment), right=True) if segments else segment
    )
    if lengths is None and segments:  # what lies before the first offset belongs to no segment
        segment = ops.where.default(
            ops.eq(segment, 0), number(segments, segment), ops.sub(segment, number(1, segment))
        )
    index = ops.expand(ops.reshape(segment, (*lead, size, *(1,) * len(rest))), tuple(data.shape))
    # One more for the elements outside of all segments.
    empty = ops.full(
        (*lead, segments + 1, *rest), start if initial is None else initial, dtype=x.dtype, device=x.device
    )
    result = ops.scatter_reduce(empty, axis, index, x, name)
    result = ops.slice(result, axis, 0, segments, 1)
    if reduce == "mean":
        wide = ops.expand(ops.reshape(counts, (*lead, segments, *(1,) * len(rest))), tuple(result.shape))
        none = number(float("nan") if initial is None else initial, result)
        result = ops.where.default(
            ops.eq(wide, 0), none, ops.div.default(result, as_type(ops.clamp(wide, 1), result.dtype))
        )
    return as_type(result, data.dtype)
