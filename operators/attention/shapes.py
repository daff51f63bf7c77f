"""Shape rules of attention."""

from __future__ import annotations

from typing import Any

from tt.core.errors import DimensionCountError, ShapeError
from tt.core.shapes.geometry import Described, broadcast
from tt.core.shapes.registry import RuleTable
from tt.core.types.dtype import bool_

rule = RuleTable()

Shape = tuple[int, ...]


@rule("attention")
def attention(query: Described, key: Described, value: Described, attn_mask: Any = None, *, op: str) -> Shape:
    """Values weighted by how well their keys fit the queries."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.ndim < 2:
            raise DimensionCountError(f"{op}(): {name} has {tensor.ndim} dimensions and needs 2 or more")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ShapeError(
            f"{op}(): query {list(query.shape)}, key {list(key.shape)} and value {list(value.shape)} do not fit"
        )
    batch = broadcast(op, query.shape[:-2], key.shape[:-2], value.shape[:-2])
    scores = (*batch, query.shape[-2], key.shape[-2])
    # A mask may repeat over the scores, but not add to their shape.
    if attn_mask is not None and broadcast(op, scores, attn_mask.shape) != scores:
        raise ShapeError(f"{op}(): attn_mask {list(attn_mask.shape)} does not fit the scores {list(scores)}")
    return (*batch, query.shape[-2], value.shape[-1])


@rule("plain_attention")
def plain_attention(
    query: Described, key: Described, value: Described, mask: Described | None = None, *, op: str
) -> tuple[Shape, Shape]:
    """As `attention`, for batches of one shape and a mask of the shape of the scores; and a number for each query."""
    batch = tuple(query.shape[:-2])
    for name, tensor in (("key", key), ("value", value), ("mask", mask)):
        if tensor is not None and tuple(tensor.shape[:-2]) != batch:
            raise ShapeError(
                f"{op}(): the batches of query {list(query.shape)} and {name} {list(tensor.shape)} differ"
            )
    shape = attention(query, key, value, mask, op=op)
    scores = (query.shape[-2], key.shape[-2])
    fits = mask is None or mask.dtype is bool_ or mask.dtype is query.dtype
    if mask is not None and (tuple(mask.shape[-2:]) != scores or not fits):
        raise ShapeError(
            f"{op}(): the mask holds bools, or numbers of the query's dtype, of shape {[*batch, *scores]}, and not "
            f"{mask.dtype} of {list(mask.shape)}"
        )
    return shape, shape[:-1]


@rule("plain_attention_backward")
def plain_attention_backward(
    grad: Described, query: Described, key: Described, value: Described, mask: Described | None, output: Described,
    logsumexp: Described, *, op: str,
) -> tuple[Shape, Shape, Shape]:  # fmt: skip
    """The gradients of query, key and value."""
    shape, rows = plain_attention(query, key, value, mask, op=op)
    for name, tensor, expected in (
        ("grad", grad, shape),
        ("output", output, shape),
        ("logsumexp", logsumexp, rows),
    ):
        if tuple(tensor.shape) != expected:
            raise ShapeError(
                f"{op}(): {name} has the shape {list(tensor.shape)}, and should have {list(expected)}"
            )
    return tuple(query.shape), tuple(key.shape), tuple(value.shape)
