"""Jagged tensors as values and rows, and back: what everything else here is written with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt.core.library import REGISTRY, Tensor, errors, handle_of, ops
from tt.plugins.nested.handle import JaggedHandle
from tt.plugins.nested.raggedness import Raggedness

__all__ = [
    "batch_of", "dim_of", "first_nested", "is_nested", "jagged", "like", "packed", "packed_like", "packed_values",
    "ragged_dim", "refuse", "rows_of", "run", "values_of",
]  # fmt: skip


def is_nested(value: Any) -> bool:
    """Return whether a value is a jagged tensor."""
    return isinstance(value, Tensor) and value.layout.name == "jagged"


def first_nested(values: Sequence[Any]) -> Tensor:
    """Return the first jagged tensor of some arguments, those in lists among them."""
    for value in values:
        if isinstance(value, list | tuple):
            if any(is_nested(item) for item in value):
                return first_nested(value)
        elif is_nested(value):
            tensor: Tensor = value
            return tensor
    raise LookupError("no jagged tensor")


def handle(tensor: Tensor) -> JaggedHandle:
    """Return the handle of a jagged tensor."""
    result: JaggedHandle = handle_of(tensor)
    return result


def rows_of(tensor: Tensor) -> Raggedness:
    """Return where the rows of a jagged tensor lie."""
    return handle(tensor).raggedness


def batch_of(tensor: Tensor) -> int:
    """Return the number of rows of a jagged tensor."""
    return handle(tensor).raggedness.batch


def ragged_dim(tensor: Tensor) -> int:
    """Return the dimension in which the rows of a jagged tensor differ."""
    return handle(tensor).ragged_dim


def values_of(tensor: Tensor) -> Tensor:
    """Return the values of a jagged tensor, with what lies between its rows; they share the memory."""
    return ops.nested.values(tensor)


def like(tensor: Tensor, values: Tensor, dim: int | None = None) -> Tensor:
    """Return a jagged tensor with the rows of another and other values."""
    return ops.nested.with_values(tensor, values, dim)


def jagged(values: Tensor, rows: Raggedness, dim: int = 1, *, view: bool = False) -> Tensor:
    """Return the jagged tensor of values and rows; a view if others hold the values, too.

    Raises
    ------
    DeviceError
        When the device has no jagged tensors: where arrays have no views, a view would be a strided copy.
    """
    # For the error alone.
    REGISTRY.backend(values.device.type, "jagged")
    lengths = None if rows.lengths is None else rows.lengths.tolist()
    op = ops.nested.jagged_view if view else ops.nested.jagged
    return op(values, rows.offsets.tolist(), lengths, dim)


def packed_values(tensor: Tensor) -> Tensor:
    """Return the values of a jagged tensor with nothing between its rows."""
    rows, values = rows_of(tensor), values_of(tensor)
    if rows.contiguous:
        return values
    return ops.index_select(values, ragged_dim(tensor) - 1, rows.on(rows.places, tensor.device))


def packed_like(tensor: Tensor, values: Tensor) -> Tensor:
    """Return a jagged tensor with rows of the lengths of another's, without gaps, and other values."""
    rows = rows_of(tensor)
    return like(tensor, values) if rows.contiguous else jagged(values, rows.packed, ragged_dim(tensor))


def packed(tensor: Tensor) -> Tensor:
    """Return a jagged tensor with nothing between its rows: the tensor itself if it is so."""
    rows = rows_of(tensor)
    return tensor if rows.contiguous else packed_like(tensor, packed_values(tensor))


def dim_of(op: str, tensor: Tensor, dim: int, *, more: int = 0) -> int:
    """Return a dimension of a jagged tensor counted from 0.

    Raises
    ------
    DimensionError
        When the tensor does not have it.
    """
    count = tensor.ndim + more
    if not -count <= dim < count:
        raise errors.DimensionError(op, dim, count)
    return dim % count


def refuse(op: str, why: str, instead: str = "x.to_padded_tensor(0.0)") -> errors.LayoutError:
    """Return the error for what an operator does not do to jagged tensors."""
    return errors.LayoutError(f"{op}(): {why}, in the layout tt.jagged\n  try: {instead}")


def run(op: str, args: Sequence[Any]) -> Any:
    """Call an operator, by its qualified name, with all of its arguments."""
    return REGISTRY.overload(op).execute(tuple(args))


Function = Callable[..., Any]
