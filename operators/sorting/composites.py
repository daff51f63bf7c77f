"""Composites that sort and select."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import (
    DimensionCountError,
    DtypeError,
    IndexValueError,
    PlaceError,
    ShapeError,
    UnsupportedError,
    ValueRangeError,
)
from tt.core.tensor.base import TensorBase
from tt.core.tensor.common_dtype import common_dtype
from tt.core.types.dtype import bool_, finfo, iinfo, int32, int64
from tt.core.types.user_warnings import warn_user
from tt.operators.helpers import as_type, check_shapes, number, wrap

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite


@composite("argsort")
def argsort(self: Tensor, dim: int, descending: bool, stable: bool) -> Tensor:
    return ops.sort(self, dim, descending, stable=stable)[1]


@composite("topk")
def topk(self: Tensor, k: int, dim: int, largest: bool, sorted: bool) -> tuple[Any, Any]:
    check_shapes("topk", self, k, dim)
    values, indices = ops.sort(self, dim, largest)
    if not self.ndim:
        return values, indices
    # Of their own memory, as a kernel's: the rest of what was sorted is not kept.
    return ops.contiguous(ops.slice(values, dim, 0, k, 1)), ops.contiguous(ops.slice(indices, dim, 0, k, 1))


composite("msort", lambda self: ops.sort(self, 0)[0])


# --- searching -------------------------------------------------------------------------------------------------


@composite("_searchsorted")
def bisect(sorted_sequence: Tensor, self: Tensor, right: bool) -> Tensor:
    check_shapes("_searchsorted", sorted_sequence, self)
    dtype = common_dtype(sorted_sequence, self)
    sequence, values = as_type(sorted_sequence, dtype), as_type(self, dtype)
    size, shape = sequence.shape[-1], tuple(values.shape)
    if sequence.ndim == 1:
        values = ops.reshape(values, (-1,))
    # All values halve their own range at once.  A NaN is smaller than nothing, so it belongs behind the others.
    start = ops.zeros(tuple(values.shape), dtype=int64, device=values.device)
    stop = ops.add(start, size)
    for _ in range(size.bit_length()):
        middle = ops.div(ops.add(start, stop), 2, rounding_mode="floor")
        # A range that is closed may point behind the end; what is read there is not used.
        seen = ops.gather(sequence, -1, ops.clamp(middle, None, size - 1))
        stays = ops.gt(seen, values) if right else ops.ge(seen, values)
        open_ = ops.lt(start, stop)
        start, stop = (
            ops.where(ops.logical_and(open_, ops.logical_not(stays)), ops.add(middle, 1), start),
            ops.where(ops.logical_and(open_, stays), middle, stop),
        )
    return ops.reshape(start, shape)


def search(
    op: str,
    sorted_sequence: Tensor,
    values: Any,
    out_int32: bool,
    right: bool,
    side: str | None,
    sorter: Tensor | None,
) -> Tensor:
    """Return where values belong, with the options of searchsorted."""
    if side not in (None, "left", "right"):
        raise ValueRangeError(f"{op}(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise ValueRangeError(f"{op}(): side and right can't be opposites, got side='left' and right=True")
    if not isinstance(values, TensorBase):
        values, right, side = _within(values, sorted_sequence, right, side)
        if sorted_sequence.ndim > 1:
            raise ShapeError(f"{op}(): a number belongs into a vector, not into a tensor of shape "
                             f"{list(sorted_sequence.shape)}")  # fmt: skip
    for tensor in (sorted_sequence, values):
        if tensor.dtype.is_complex or tensor.dtype.kind == "bool":
            raise UnsupportedError(f"{op}(): not implemented for {tensor.dtype}")
    for name, tensor in (("sorted sequence", sorted_sequence), ("values", values)):
        if not tensor.is_contiguous():
            warn_user(f"{op}(): the {name} are not contiguous, which takes longer\n  try: contiguous()")
    if sorter is not None:
        check_shapes("_searchsorted", sorted_sequence, values)
        sorted_sequence = _arranged(op, sorted_sequence, sorter)
    positions = ops._searchsorted(sorted_sequence, values, right or side == "right")
    if out_int32 and sorted_sequence.shape[-1] > iinfo(int32).max:
        raise ValueRangeError(f"{op}(): the sequence is too long for results in int32")
    return as_type(positions, int32) if out_int32 else positions


def _within(value: Any, sequence: Tensor, right: bool, side: str | None) -> tuple[Any, bool, str | None]:
    """Return a number as a tensor, and the side of equal elements to which it belongs.

    One beyond the range of the dtype belongs between its last finite number and infinity.
    """
    dtype = common_dtype(sequence, value)
    if isinstance(value, bool | complex) or dtype.kind not in ("signed", "unsigned", "floating"):
        return number(value, sequence, dtype), right, side
    integral = dtype.kind != "floating"
    limits = iinfo(dtype) if integral else finfo(dtype)
    if value != value or limits.min <= value <= limits.max or value in (math.inf, -math.inf):
        return number(value, sequence, dtype), right, side
    above = value > 0
    return number(limits.max if above else limits.min, sequence, dtype), above, None


def _arranged(op: str, sequence: Tensor, sorter: Tensor) -> Tensor:
    """Return a sequence in the order that a sorter holds."""
    if sorter.shape != sequence.shape:
        raise ShapeError(
            f"{op}(): the sorter has the shape {list(sorter.shape)}, and the sorted sequence has "
            f"{list(sequence.shape)}"
        )
    if sorter.dtype is not int64:
        raise DtypeError(f"{op}(): sorter must have the dtype int64 but got {sorter.dtype}")
    try:
        return ops.gather(sequence, -1, sorter)
    except PlaceError as error:
        raise ValueRangeError(f"{op}(): sorter: {error}") from error


composite("searchsorted", partial(search, "searchsorted"))
composite("searchsorted.Scalar", partial(search, "searchsorted"))


@composite("bucketize")
@composite("bucketize.Scalar")
def bucketize(self: Any, boundaries: Tensor, out_int32: bool, right: bool) -> Tensor:
    if boundaries.ndim != 1:
        raise DimensionCountError(
            f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})"
        )
    return search("bucketize", boundaries, self, out_int32, right, None, None)


def expect_real(*tensors: Any) -> None:
    """Raise for dtypes that isin does not serve."""
    for tensor in tensors:
        if tensor.dtype.is_complex or tensor.dtype.kind == "bool":
            raise DtypeError(f"isin(): elements of {tensor.dtype} are not served, only real numbers")


@composite("isin")
def isin(elements: Tensor, test_elements: Tensor, assume_unique: bool, invert: bool) -> Tensor:
    expect_real(elements, test_elements)
    dtype = common_dtype(elements, test_elements)
    values, others = as_type(elements, dtype), ops.reshape(as_type(test_elements, dtype), (-1,))
    count = others.shape[0]
    if count < 10:  # so few comparisons cost less than a sort
        hit = ops.any(ops.eq(ops.unsqueeze(values, -1), others), -1)
    else:
        ordered = ops.sort(others)[0]
        if dtype.is_floating_point:
            # NaN equals nothing; another element in its place does not disturb the order.
            ordered = ops.sort(ops.where(ops.isnan(ordered), ops.select(ordered, 0, 0), ordered))[0]
        positions = ops.clamp(ops._searchsorted(ordered, values), None, count - 1)
        hit = ops.eq(ops.take(ordered, positions), values)
    return ops.logical_not(hit) if invert else hit


@composite("isin.Tensor_Scalar")
def isin_number(elements: Tensor, test_element: Any, assume_unique: bool, invert: bool) -> Tensor:
    expect_real(elements)
    return ops.ne(elements, test_element) if invert else ops.eq(elements, test_element)


@composite("isin.Scalar_Tensor")
def isin_of_number(element: Any, test_elements: Tensor, assume_unique: bool, invert: bool) -> Tensor:
    expect_real(test_elements)
    hit = ops.any(ops.eq(test_elements, element))
    return ops.logical_not(hit) if invert else hit


# --- distinct elements -----------------------------------------------------------------------------------------


@composite("unique_consecutive")
def unique_consecutive(self: Tensor, return_inverse: bool, return_counts: bool, dim: int | None) -> Any:
    if self.dtype.is_complex:
        raise UnsupportedError(f"unique_consecutive(): not implemented for {self.dtype}")
    if dim is None:
        output, inverse, counts = ops._unique_consecutive(self, return_inverse, return_counts)
        results = [output, *([inverse] if return_inverse else []), *([counts] if return_counts else [])]
        return output if len(results) == 1 else tuple(results)
    axis = expect_unique_dim("unique_consecutive", self, dim)
    results = _runs(ops.transpose(self, 0, axis), return_inverse, return_counts)
    results[0] = ops.transpose(results[0], 0, axis)
    return results[0] if len(results) == 1 else tuple(results)


@composite("_unique_consecutive")
def unique_runs(self: Tensor, return_inverse: bool, return_counts: bool) -> tuple[Any, Any, Any]:
    runs = _runs(ops.reshape(self, (-1,)), return_inverse, return_counts)
    nothing = ops.zeros((0,), dtype=int64, device=self.device)
    inverse = ops.reshape(runs.pop(1), tuple(self.shape)) if return_inverse else nothing
    return runs[0], inverse, runs[1] if return_counts else ops.clone(nothing)


def _runs(items: Tensor, return_inverse: bool, return_counts: bool) -> list[Any]:
    """Return the first of each run of equal slices, and optionally the run of each slice and the runs' lengths."""
    count, device = items.shape[0], items.device
    rows = (
        ops.reshape(items, (count, -1 if items.numel() else 1)) if items.ndim > 1 else ops.unsqueeze(items, 1)
    )
    differs = ops.any(ops.ne(ops.slice(rows, 0, 1, None), ops.slice(rows, 0, 0, max(count - 1, 0))), 1)
    # Where a run begins: at the first element, and wherever an element differs from the one before it.
    begins = ops.cat([ops.ones((min(count, 1),), dtype=bool_, device=device), differs])
    starts = ops.reshape(ops.nonzero.default(begins), (-1,))
    results = [ops.index_select(items, 0, starts)]
    if return_inverse:
        results.append(ops.sub(ops.cumsum(as_type(begins, int64), 0), 1))
    if return_counts:
        end = ops.full((min(count, 1),), count, dtype=int64, device=device)
        results.append(ops.sub(ops.cat([ops.slice(starts, 0, 1, None), end]), starts))
    return results


def expect_unique_dim(op: str, self: Tensor, dim: int) -> int:
    """Return the dimension whose slices are compared, counted from the front."""
    if not self.ndim:
        raise IndexValueError(f"{op}(): dimension {dim} does not exist: the tensor has none")
    axis = wrap(op, dim, self)
    if 0 in (size for d, size in enumerate(self.shape) if d != axis):
        raise ShapeError(f"{op}(): the slices along dimension {dim} have no elements to compare")
    return axis


@composite("unique")
def unique(self: Tensor, sorted: bool, return_inverse: bool, return_counts: bool, dim: int | None) -> Any:
    if self.dtype.is_complex:
        raise UnsupportedError(f"unique(): not implemented for {self.dtype}")
    if dim is not None:
        expect_unique_dim("unique", self, dim)
    if dim is None:
        output, inverse, counts = ops._unique2(self, sorted, return_inverse, return_counts)
    else:
        output, inverse, counts = ops.unique_dim(self, dim, sorted, return_inverse, return_counts)
    asked = [output, *([inverse] if return_inverse else []), *([counts] if return_counts else [])]
    return output if len(asked) == 1 else tuple(asked)
