"""Products, normalisations and attention of jagged tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt.core.library import Tensor, errors, ops
from tt.plugins.nested.parts import (
    batch_of,
    is_nested,
    like,
    packed,
    packed_like,
    packed_values,
    ragged_dim,
    refuse,
    rows_of,
    run,
    values_of,
)
from tt.plugins.nested.rows import join_rows, rows_as_list

__all__ = ["PRODUCTS"]


def _no_ragged(op: str, self: Tensor, dims: int, what: str) -> None:
    """Refuse a ragged dimension among the last ones."""
    if ragged_dim(self) >= self.ndim - dims:
        raise refuse(
            op, f"{what} must be dense, and dimension {ragged_dim(self)} is ragged", "x.transpose(...)"
        )


def _dense_only(op: str, **tensors: Any) -> None:
    for name, tensor in tensors.items():
        if is_nested(tensor):
            raise refuse(op, f"{name} must be dense", f"{name}.to_padded_tensor(0.0)")


# --- products --------------------------------------------------------------------------------------------------------


def linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Multiply the last dimension by the transposed weight, and add the bias."""
    _dense_only("linear", weight=weight, bias=bias)
    _no_ragged("linear", input, 1, "the last dimension")
    return like(input, ops.linear(values_of(input), weight, bias))


def matmul(self: Tensor, other: Tensor) -> Tensor:
    """Multiply the matrices in the last two dimensions of each row."""
    if is_nested(self) and not is_nested(other):
        return _times_dense(self, other)
    if is_nested(other) and not is_nested(self):
        return _dense_times(self, other)
    if not rows_of(self).same_rows(rows_of(other)):
        raise errors.ShapeError("matmul(): the rows of the two jagged tensors differ in length")
    pairs = zip(rows_as_list(self), rows_as_list(other), strict=True)
    left, right = ragged_dim(self) - self.ndim, ragged_dim(other) - other.ndim
    if (left, right) == (-1, -2):  # the rows are summed over
        return ops.stack([ops.matmul(a, b) for a, b in pairs])
    if (left, right) == (-2, -1) or self.ndim != other.ndim:
        raise refuse(
            "matmul",
            "the result would have two ragged dimensions",
            "[a @ b for a, b in zip(x.unbind(), y.unbind())]",
        )
    if left == right and left < -2:
        one, two = packed(self), packed(other)
        return like(one, ops.matmul(values_of(one), values_of(two)))
    raise refuse("matmul", "the ragged dimensions do not meet")


def _times_dense(self: Tensor, other: Tensor) -> Tensor:
    dim = ragged_dim(self)
    if dim == self.ndim - 1:
        raise refuse("matmul", "the ragged dimension would be summed over with a dense one")
    if other.ndim == 1:
        return like(self, ops.matmul(values_of(self), other))
    if self.ndim == 2 + (other.ndim == 2) - 1:  # (batch, rows): no matrices
        raise refuse("matmul", "a row must have two dimensions", "x.unsqueeze(-1)")
    if other.ndim == 2:
        return like(self, ops.matmul(values_of(self), other))
    products = [ops.matmul(row, part) for row, part in _with_rows("matmul", self, other)]
    return join_rows(self, products)


def _dense_times(self: Tensor, other: Tensor) -> Tensor:
    dim = ragged_dim(other)
    if dim != other.ndim - 1:
        if self.ndim <= 2 and dim < other.ndim - 2:
            return like(other, ops.matmul(self, values_of(other)))
        raise refuse("matmul", "the ragged dimension would be summed over with a dense one")
    if self.ndim <= 2:
        result = ops.matmul(self, values_of(other))
        return like(other, result, result.ndim)
    products = [ops.matmul(part, row) for row, part in _with_rows("matmul", other, self)]
    return join_rows(other, products)


def _with_rows(op: str, nested: Tensor, dense: Tensor) -> list[tuple[Tensor, Tensor]]:
    count = batch_of(nested)
    if dense.ndim != nested.ndim or dense.shape[0] not in (1, count):
        raise errors.ShapeError(
            f"{op}(): a dense tensor of shape {list(dense.shape)} has no matrix for each of the {count} rows"
        )
    parts = ops.unbind(dense, 0)
    return [(row, parts[k if len(parts) > 1 else 0]) for k, row in enumerate(rows_as_list(nested))]


def bmm(self: Tensor, mat2: Tensor) -> Tensor:
    """Multiply a matrix of each row by one of a batch."""
    if self.ndim != 3 or mat2.ndim != 3:
        raise errors.ShapeError(
            f"bmm(): expected tensors of three dimensions, got {self.ndim} and {mat2.ndim}"
        )
    return matmul(self, mat2)


# --- normalisations --------------------------------------------------------------------------------------------------


def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """Normalise the last dense dimensions."""
    _dense_only("layer_norm", weight=weight, bias=bias)
    _no_ragged("layer_norm", input, len(normalized_shape), "the normalised dimensions")
    return like(input, ops.layer_norm(values_of(input), list(normalized_shape), weight, bias, eps))


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: float | None
) -> Tensor:
    """Divide the last dense dimensions by their root mean square."""
    _dense_only("rms_norm", weight=weight)
    _no_ragged("rms_norm", input, len(normalized_shape), "the normalised dimensions")
    return like(input, ops.rms_norm(values_of(input), list(normalized_shape), weight, eps))


def embedding(input: Tensor, weight: Tensor, *options: Any) -> Tensor:
    """Return the rows of a table by numbers."""
    _dense_only("embedding", weight=weight)
    if not is_nested(input):
        raise refuse("embedding", "the table must be dense", "weight.values()")
    return like(input, run("embedding", (values_of(input), weight, *options)))


# --- attention -------------------------------------------------------------------------------------------------------


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Tensor:
    """Attend in each row on its own: size (batch, heads, ragged, width), or (batch, ragged, width)."""
    op = "scaled_dot_product_attention"
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not is_nested(tensor):
            raise refuse(op, f"{name} must be jagged as the others", "tt.nested.as_nested_tensor(x) of it")
        if ragged_dim(tensor) != tensor.ndim - 2:
            raise refuse(
                op,
                f"the ragged dimension of {name} must be the one before the last, not {ragged_dim(tensor)}",
                "x.transpose(1, 2)",
            )
    if attn_mask is not None:
        raise errors.ValueRangeError(
            f"{op}(): attn_mask is not possible for rows of different lengths, in the layout tt.jagged\n"
            "  try: is_causal=True, or x.to_padded_tensor(0.0) and a mask"
        )
    if not (query.ndim == key.ndim == value.ndim) or batch_of(query) != batch_of(key):
        raise errors.ShapeError(
            f"{op}(): query, key and value must have the same batch and number of dimensions"
        )
    if not rows_of(key).same_rows(rows_of(value)):
        raise errors.ShapeError(f"{op}(): the rows of key and value differ in length")

    def attend(one: Tensor, two: Tensor, three: Tensor) -> Tensor:
        result: Tensor = run(op, (one, two, three, None, dropout_p, is_causal, scale, enable_gqa))
        return result

    sizes = [rows_of(tensor) for tensor in (query, key, value)]
    # Rows of one length are a dense batch, which one call serves.
    if all(rows.shortest == rows.longest for rows in sizes):
        dense = attend(*(_as_batch(tensor) for tensor in (query, key, value)))
        return _of_batch(query, dense)
    # Row by row: a padded batch with a mask would compute pairs of the longest row for every row.
    result = [
        ops.squeeze(attend(*(ops.unsqueeze(part, 0) for part in parts)), [0])
        for parts in zip(*(rows_as_list(tensor) for tensor in (query, key, value)), strict=True)
    ]
    return packed_like(query, ops.cat(result, query.ndim - 3))


def _as_batch(self: Tensor) -> Tensor:
    """Return rows of one length as a dense batch."""
    rows, at = rows_of(self), ragged_dim(self) - 1
    whole = ops.unflatten(packed_values(self), at, [rows.batch, rows.longest])
    return ops.movedim(whole, at, 0)


def _of_batch(rows_like: Tensor, dense: Tensor) -> Tensor:
    dim = ragged_dim(rows_like)
    return packed_like(rows_like, ops.flatten(ops.movedim(dense, 0, dim - 1), dim - 1, dim))


PRODUCTS: dict[str, Callable[..., Any]] = {
    "bmm": bmm, "embedding": embedding, "layer_norm": layer_norm, "linear": linear, "matmul": matmul,
    "rms_norm": rms_norm, "scaled_dot_product_attention": scaled_dot_product_attention,
}  # fmt: skip
"""Operator -> its function."""
