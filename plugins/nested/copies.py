"""Copies of jagged tensors, jagged tensors like others, comparisons, and padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt.core.library import Tensor, errors, layout, ops
from tt.plugins.nested.parts import (
    batch_of,
    first_nested,
    is_nested,
    like,
    packed,
    packed_values,
    ragged_dim,
    refuse,
    rows_of,
    run,
    values_of,
)
from tt.plugins.nested.pointwise import aligned
from tt.plugins.nested.rows import rows_as_list

__all__ = ["COPIES", "IN_PLACE", "padded"]


def to_copy(self: Tensor, *options: Any) -> Tensor:
    """Return a copy in another dtype, or on another device."""
    values = run("_to_copy", (values_of(self), *options))
    return like(self, values) if values.device.type == self.device.type else _elsewhere(self, values)


def _elsewhere(self: Tensor, values: Tensor) -> Tensor:
    rows = rows_of(self)
    lengths = None if rows.lengths is None else rows.lengths.tolist()
    return ops.nested.jagged(values, rows.offsets.tolist(), lengths, ragged_dim(self))


def clone(self: Tensor, *options: Any) -> Tensor:
    """Return a copy; `memory_format=tt.contiguous_format` leaves gaps between rows out."""
    whole = packed(self) if options and str(options[0]).endswith("contiguous_format") else self
    return like(whole, ops.clone(values_of(whole)))


def contiguous(self: Tensor, *options: Any) -> Tensor:
    """Return the tensor without gaps between its rows, itself if it has none and its values are in order."""
    whole = packed(self)
    values = ops.contiguous(values_of(whole))
    return whole if values is values_of(whole) else like(whole, values)


def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Write the elements of another tensor."""
    if not is_nested(self):
        raise refuse(
            "copy_", "a dense tensor does not take rows of different lengths", "src.to_padded_tensor(0.0)"
        )
    if not is_nested(src):
        _, (_, spread) = aligned("copy_", [self, src])
        ops.copy_(values_of(self), spread)
        return self
    if not rows_of(self).same_rows(rows_of(src)) or ragged_dim(self) != ragged_dim(src):
        raise errors.ShapeError("copy_(): the rows of the two jagged tensors differ in length")
    # Rows in the same places, gaps included: one copy serves all.
    if rows_of(self) == rows_of(src):
        ops.copy_(values_of(self), values_of(src))
        return self
    for row, other in zip(rows_as_list(self), rows_as_list(src), strict=True):
        ops.copy_(row, other)
    return self


def fill_(self: Tensor, value: Any) -> Tensor:
    """Set all elements to a number."""
    ops.fill_(values_of(self), value)
    return self


def _filling(op: str) -> Callable[..., Any]:
    def function(self: Tensor, *options: Any) -> Tensor:
        run_inplace(op, (values_of(self), *options))
        return self

    return function


def run_inplace(op: str, args: Sequence[Any]) -> None:
    """Run the in-place form of an operator."""
    from tt.core.library import REGISTRY

    REGISTRY.overload(op, "inplace").execute(tuple(args))


def _factory(op: str) -> Callable[..., Any]:
    """Return a factory of jagged tensors like another."""

    def function(self: Tensor, *options: Any) -> Tensor:
        kept = [
            None if isinstance(option, layout) and option.name == "jagged" else option for option in options
        ]
        values = run(op, (values_of(self), *kept))
        return like(self, values) if values.device.type == self.device.type else _elsewhere(self, values)

    return function


def _new(op: str) -> Callable[..., Any]:
    """Return a factory of dense tensors with the dtype and device of a jagged one."""

    def function(self: Tensor, size: Sequence[int], *options: Any) -> Tensor:
        result: Tensor = run(op, (values_of(self), size, *options))
        return result

    return function


# --- comparing -------------------------------------------------------------------------------------------------------


def equal(self: Tensor, other: Tensor) -> bool:
    """Return whether two jagged tensors have the same rows."""
    if not (is_nested(self) and is_nested(other)):
        raise refuse("equal", "both tensors must be jagged", "tt.equal of the padded one, or of unbind()")
    if tuple(self.shape) != tuple(other.shape):
        return False
    return bool(ops.equal(packed_values(self), packed_values(other)))


def allclose(self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> bool:
    """Return whether the elements of two tensors are close."""
    _, (one, two) = aligned("allclose", [self, other])
    return bool(ops.allclose(one, two, rtol, atol, equal_nan))


def item(self: Tensor) -> Any:
    """Return the only element."""
    return ops.item(ops.reshape(packed_values(self), ()))


# --- padding ---------------------------------------------------------------------------------------------------------


def padded(self: Tensor, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
    """Return a dense tensor with a number behind the rows that are shorter than the longest."""
    if not is_nested(self):
        raise errors.LayoutError(
            f"to_padded_tensor() expected a jagged tensor, but got the layout {self.layout}, which needs no padding"
        )
    rows, dim = rows_of(self), ragged_dim(self)
    front = ops.movedim(packed_values(self), dim - 1, 0)
    smallest = [int(n) for n in self.shape]
    size = smallest if output_size is None else [int(n) for n in output_size]
    if len(size) != self.ndim or any(n < least for n, least in zip(size, smallest, strict=False)):
        raise errors.ShapeError(
            f"to_padded_tensor(): output_size {size} must have {self.ndim} sizes, none smaller than {smallest}"
        )
    length = smallest[dim] = size[dim]
    count = batch_of(self) * length
    # Where each place of a row lies in the padded batch, whose rows are all of one length.
    positions = rows.on(rows.rows * length + rows.positions, self.device)
    whole = ops.new_full(front, (count, *front.shape[1:]), padding)
    flat = ops.index_copy(whole, 0, positions, front)
    dense = ops.movedim(ops.reshape(flat, (batch_of(self), length, *front.shape[1:])), 1, dim)
    if size == smallest:
        return dense
    ends = [
        n for least, all_ in zip(reversed(smallest), reversed(size), strict=True) for n in (0, all_ - least)
    ]
    return ops.constant_pad_nd(dense, ends, padding)


def masked_select_rows(self: Tensor, mask: Tensor) -> Tensor:
    """Return the elements where a mask is True, of all rows together."""
    _, (values, chosen) = aligned("masked_select", [self, mask])
    return ops.masked_select(values, chosen)


def loss(op: str) -> Callable[..., Any]:
    """Return a loss as a function of jagged tensors: a mean or sum of the elements, or one of the same rows."""

    def function(*args: Any) -> Any:
        template, converted = aligned(op, args)
        result = run(op, converted)
        values = next(new for new, old in zip(converted, args, strict=True) if old is first_nested(args))
        return like(template, result) if tuple(result.shape) == tuple(values.shape) else result

    return function


LOSSES = (
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "huber_loss", "l1_loss", "mse_loss", "smooth_l1_loss",
)  # fmt: skip
"""Losses of elements."""
COPIES: dict[str, Callable[..., Any]] = {
    "_to_copy": to_copy, "allclose": allclose, "clone": clone, "contiguous": contiguous, "equal": equal, "item": item,
    "masked_select": masked_select_rows,
    **{op: _factory(op) for op in ("empty_like", "full_like", "ones_like", "rand_like", "randint_like",
                                   "randint_like.low_dtype", "randn_like", "zeros_like")},
    **{op: _new(op) for op in ("new_empty", "new_full", "new_ones", "new_zeros")},
    **{op: loss(op) for op in LOSSES},
}  # fmt: skip
"""Operator -> its function."""
IN_PLACE: dict[str, Callable[..., Any]] = {
    "copy": copy_, "fill": fill_,
    **{op: _filling(op) for op in ("exponential", "normal", "random", "random.from_to", "random.to", "uniform")},
}  # fmt: skip
"""Operator -> its in-place form."""
