"""Operators along one dimension: of the values where it is dense, row by row where it is ragged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt.core.library import REGISTRY, Tensor, ops, to_dtype
from tt.plugins.nested.parts import (
    dim_of,
    like,
    packed_like,
    packed_values,
    ragged_dim,
    refuse,
    rows_of,
    run,
    values_of,
)

__all__ = ["along", "as_wide", "glu", "implicit", "join_rows", "log_softmax", "rows_as_list", "softmax"]


def rows_as_list(self: Tensor) -> list[Tensor]:
    """Return the rows, which share the memory of the values."""
    rows, values, at = rows_of(self), values_of(self), ragged_dim(self) - 1
    if rows.contiguous:
        return list(ops.split(values, list(rows.sizes), at))
    starts = rows.offsets.tolist()
    # There is one offset more than rows: where the last one ends.
    return [
        ops.slice(values, at, start, start + size) for start, size in zip(starts, rows.sizes, strict=False)
    ]


def join_rows(like_rows: Tensor, rows: Sequence[Tensor]) -> Tensor:
    """Return rows of the lengths of those of a jagged tensor as one."""
    return packed_like(like_rows, ops.cat(list(rows), ragged_dim(like_rows) - 1))


def along(op: str) -> Callable[..., Any]:
    """Return an operator with an argument `dim` whose results have the size of its argument."""
    definition = REGISTRY.operator(op).definition
    names = [argument.name for argument in definition.signature.arguments]
    at, name = names.index("dim"), op.partition(".")[0]

    def function(*args: Any) -> Any:
        self, chosen = args[0], args[at]
        if isinstance(chosen, tuple) and len(chosen) == 1:
            chosen = chosen[0]
        if not isinstance(chosen, int):
            raise refuse(name, "rows take one dimension at a time", "a loop over x.unbind()")
        dim = dim_of(name, self, chosen)
        if dim == 0:
            raise refuse(name, "rows do not have the dimension of the batch", "a loop over x.unbind()")
        inner = (*args[1:at], dim - 1, *args[at + 1 :])
        ragged = ragged_dim(self)
        if dim != ragged:
            return _wrapped(run(op, (values_of(self), *inner)), lambda result: like(self, result))
        results = [run(op, (row, *inner)) for row in rows_as_list(self)]
        if not isinstance(results[0], tuple | list):
            return join_rows(self, results)
        columns = [join_rows(self, [result[k] for result in results]) for k in range(len(results[0]))]
        kind: Any = type(results[0])
        return kind(columns)

    return function


def _wrapped(result: Any, wrap: Callable[[Tensor], Tensor]) -> Any:
    if not isinstance(result, tuple | list):
        return wrap(result)
    kind: Any = type(result)
    items = [wrap(item) for item in result]
    return kind(items)


# --- softmax ---------------------------------------------------------------------------------------------------------


def _shifted(self: Tensor, dtype: Any) -> tuple[Tensor, Tensor, Tensor, Any]:
    """Return the values less the largest of their row, the numbers of rows, sums of exponentials, and the dtype."""
    rows, at = rows_of(self), ragged_dim(self) - 1
    values = packed_values(self)
    values = values if dtype is None else values.to(dtype)
    kind = values.dtype
    if kind.name in ("float16", "bfloat16"):  # computed as a dense softmax is
        values = values.to(to_dtype("float32"))
    of_row = rows.on(rows.rows, self.device)
    size = list(values.shape)
    size[at] = rows.batch
    lowest = ops.new_full(values, size, float("-inf"))
    index = as_wide(of_row, values, at)
    # It keeps exponentials in range only, and its gradient would cancel out.
    largest = ops.scatter_reduce(lowest, at, index, ops.detach(values), "amax", include_self=True)
    # A row without a finite element has the result of softmax: NaN where all are minus infinity.
    shifted = ops.sub(values, ops.index_select(largest, at, of_row))
    sums = ops.index_add(ops.new_zeros(values, size), at, of_row, ops.exp(shifted))
    return shifted, of_row, sums, kind


def as_wide(index: Tensor, values: Tensor, at: int) -> Tensor:
    shape = [1] * values.ndim
    shape[at] = -1
    return ops.expand(ops.reshape(index, shape), tuple(values.shape))


def softmax(self: Tensor, dim: int, dtype: Any) -> Tensor:
    """Normalise the elements of each row, or along a dense dimension."""
    at = dim_of("softmax", self, dim)
    if at == 0:
        raise refuse("softmax", "rows do not have the dimension of the batch", "a loop over x.unbind()")
    if at != ragged_dim(self):
        return like(self, ops.softmax(values_of(self), at - 1, dtype=dtype))
    shifted, of_row, sums, kind = _shifted(self, dtype)
    result = ops.div(ops.exp(shifted), ops.index_select(sums, at - 1, of_row))
    return packed_like(self, result.to(kind))


def log_softmax(self: Tensor, dim: int, dtype: Any) -> Tensor:
    """Return the logarithm of the softmax."""
    at = dim_of("log_softmax", self, dim)
    if at == 0:
        raise refuse("log_softmax", "rows do not have the dimension of the batch", "a loop over x.unbind()")
    if at != ragged_dim(self):
        return like(self, ops.log_softmax(values_of(self), at - 1, dtype=dtype))
    shifted, of_row, sums, kind = _shifted(self, dtype)
    result = ops.sub(shifted, ops.index_select(ops.log(sums), at - 1, of_row))
    return packed_like(self, result.to(kind))


def glu(self: Tensor, dim: int) -> Tensor:
    """Gate one half of a dense dimension by the other."""
    at = dim_of("glu", self, dim)
    if at in (0, ragged_dim(self)):
        raise refuse("glu", f"dimension {at} has no halves", "a dense dimension")
    return like(self, ops.glu(values_of(self), at - 1))


def implicit(op: str) -> Callable[..., Any]:
    """Return a softmax whose dimension may be left out for dense tensors."""

    def function(self: Tensor, dim: int | None, stacklevel: int, dtype: Any) -> Tensor:
        if dim is None:
            raise refuse(op, "a dimension must be named", "dim=-1")
        return (softmax if op == "softmax" else log_softmax)(self, dim, dtype)

    return function
