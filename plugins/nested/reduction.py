"""Reductions: along dense dimensions of the values, along the rows, and of everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tt.core.library import REGISTRY, Tensor, errors, ops, to_dtype
from tt.plugins.nested.parts import (
    dim_of,
    like,
    packed_values,
    ragged_dim,
    refuse,
    rows_of,
    run,
    values_of,
)
from tt.plugins.nested.rows import as_wide, rows_as_list

__all__ = ["reduction_functions"]

WHOLE: Final = ("all", "any", "max", "mean", "median", "min", "nanmedian", "prod", "sum")
"""Reductions of all elements, whose order does not matter."""
BY_DIM: Final = (
    "all.dim", "amax", "amin", "aminmax", "any.dim", "argmax", "argmin", "count_nonzero", "kthvalue",
    "linalg_vector_norm", "logsumexp", "max.dim", "mean.dim", "median.dim", "min.dim", "mode", "nanmean",
    "nanmedian.dim", "nansum", "norm", "norm.Scalar", "prod.dim", "std", "std_mean", "sum.dim", "var", "var_mean",
)  # fmt: skip
"""Reductions along dimensions, or of everything where none is named."""
POSITIONS: Final = frozenset({"argmax", "argmin"})
"""Reductions whose result depends on the order of all elements."""


def _whole(op: str) -> Callable[..., Any]:
    def function(self: Tensor, *args: Any) -> Any:
        return run(op, (packed_values(self), *args))

    return function


def _by_dim(op: str) -> Callable[..., Any]:
    definition = REGISTRY.operator(op).definition
    names = [argument.name for argument in definition.signature.arguments]
    at, name = names.index("dim"), op.partition(".")[0]
    keep_at = names.index("keepdim") if "keepdim" in names else None
    one = definition.signature.arguments[at].type
    single = "[" not in str(one)

    def function(*args: Any) -> Any:
        self, dim = args[0], args[at]
        keepdim = bool(args[keep_at]) if keep_at is not None else False
        requested = () if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)

        def call(values: Tensor, chosen: list[int]) -> Any:
            full = list(args)
            full[0], full[at] = values, chosen[0] if single else chosen
            return run(op, full)

        if dim is not None and not requested and name in ("all", "any"):
            return like(self, call(values_of(self), []))
        dims = sorted({dim_of(name, self, d) for d in requested}) or list(range(self.ndim))
        if len(dims) < len(requested):
            raise errors.ValueRangeError(f"{name}(): a dimension appears multiple times in the list of dims")
        ragged = ragged_dim(self)

        if 0 in dims:
            if ragged not in dims:
                raise refuse(
                    name,
                    f"the dimension of the batch is reduced only together with the ragged one, {ragged}",
                )
            if single and (op in POSITIONS or requested):
                raise refuse(name, "positions among all elements would depend on padding")
            values = packed_values(self)
            chosen = [d - 1 for d in dims if d]
            if len(chosen) == values.ndim and not keepdim:
                full = list(args)
                full[0] = values
                return run(op, full) if dim is None or not requested else call(values, chosen)
            result = call(values, chosen)
            return _each(result, lambda r: ops.unsqueeze(r, 0)) if keepdim else result
        inner = [d - 1 for d in dims]
        if ragged not in dims:
            result = call(values_of(self), inner)
            moved = ragged if keepdim else ragged - sum(d < ragged for d in dims)
            return _each(result, lambda r: like(self, r, moved))
        fast = FAST.get(op)
        # Rows without elements have no extreme: the loop below refuses them in the words of the operator.
        if fast is not None and inner == [ragged - 1] and rows_of(self).shortest:
            return fast(self, keepdim, *args[keep_at + 1 :] if keep_at is not None else ())
        rows = [call(row, inner) for row in rows_as_list(self)]
        if isinstance(rows[0], tuple | list):
            kind: Any = type(rows[0])
            columns = [ops.stack([row[k] for row in rows]) for k in range(len(rows[0]))]
            return kind(columns)
        return ops.stack(rows)

    return function


def _each(result: Any, wrap: Callable[[Tensor], Tensor]) -> Any:
    if not isinstance(result, tuple | list):
        return wrap(result)
    kind: Any = type(result)
    items = [wrap(item) for item in result]
    return kind(items)


# --- sums of rows, without a loop ------------------------------------------------------------------------------------


def _row_sums(self: Tensor, keepdim: bool, dtype: Any) -> Tensor:
    rows, at = rows_of(self), ragged_dim(self) - 1
    values = packed_values(self)
    if dtype is not None:
        values = values.to(dtype)
    # As sums of dense integers.
    elif not (values.dtype.is_floating_point or values.dtype.is_complex):
        values = values.to(to_dtype("int64"))
    size = list(values.shape)
    size[at] = rows.batch
    sums = ops.index_add(ops.new_zeros(values, size), at, rows.on(rows.rows, self.device), values)
    front = ops.movedim(sums, at, 0) if at else sums
    return ops.unsqueeze(front, at + 1) if keepdim else front


def _row_means(self: Tensor, keepdim: bool, dtype: Any) -> Tensor:
    kind = self.dtype if dtype is None else dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise errors.DtypeError(
            f"mean(): could not infer output dtype: the input must be floating point or complex, got {kind}\n"
            "  try: dtype=tt.float32"
        )
    sums = _row_sums(self, keepdim, dtype)
    rows = rows_of(self)
    counts = rows.on(_sizes(rows), self.device).to(sums.dtype)
    return ops.div(sums, ops.reshape(counts, (-1, *(1,) * (sums.ndim - 1))))


def _row_extremes(reduce: str) -> Callable[..., Tensor]:
    def function(self: Tensor, keepdim: bool) -> Tensor:
        rows, at = rows_of(self), ragged_dim(self) - 1
        values = packed_values(self)
        size = list(values.shape)
        size[at] = rows.batch
        index = as_wide(rows.on(rows.rows, self.device), values, at)
        extremes = ops.scatter_reduce(
            ops.new_zeros(values, size), at, index, values, reduce, include_self=False
        )
        front = ops.movedim(extremes, at, 0) if at else extremes
        return ops.unsqueeze(front, at + 1) if keepdim else front

    return function


def _sizes(rows: Any) -> Any:
    import numpy as np

    return np.array(rows.sizes, np.int64)


FAST: Final[dict[str, Callable[..., Tensor]]] = {
    "sum.dim": _row_sums, "mean.dim": _row_means, "amax": _row_extremes("amax"), "amin": _row_extremes("amin"),
}  # fmt: skip
"""Reductions of rows that need no loop over them."""


def reduction_functions() -> dict[str, Callable[..., Any]]:
    """Return the functions of all reductions."""
    whole = {op: _whole(op) for op in WHOLE}
    return whole | {op: _by_dim(op) for op in BY_DIM if REGISTRY.definition(op) is not None}
