"""Operators that treat each element alone: they run on the values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tt.core.library import REGISTRY, Tensor, errors, ops
from tt.plugins.nested.parts import (
    batch_of,
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

__all__ = ["aligned", "elementwise", "function_of_others", "on_values", "pointwise_functions"]

MORE: Final = ("alpha_dropout", "bernoulli.p", "dropout", "masked_fill", "native_dropout", "rrelu")
"""Operators besides those of the kind pointwise that treat each element alone."""


def on_values(op: str) -> Callable[..., Any]:
    """Return an operator of one jagged tensor as a function that runs it on the values, gaps between rows included."""

    def function(self: Tensor, *args: Any) -> Any:
        return _again(self, run(op, (values_of(self), *args)))

    return function


def _again(template: Tensor, result: Any) -> Any:
    if isinstance(result, tuple | list):
        kind: Any = type(result)
        items = [like(template, item) for item in result]
        return kind(items)
    return like(template, result)


def elementwise(op: str) -> Callable[..., Any]:
    """Return an operator with broadcasting as a function of jagged tensors, together with dense ones and numbers."""

    def function(*args: Any) -> Any:
        name = op.partition(".")[0]
        template, converted = aligned(name, args)
        return _again(template, run(op, converted))

    return function


def aligned(op: str, args: Sequence[Any]) -> tuple[Tensor, list[Any]]:
    """Return a jagged tensor of the rows that all arguments have, and the arguments as values that broadcast.

    Raises
    ------
    ShapeError
        When jagged tensors have rows of different lengths, or a dense one does not broadcast to them.
    """
    nested = [value for value in args if is_nested(value)]
    # The others broadcast to the one with most dimensions.
    template = max(nested, key=lambda tensor: tensor.ndim)
    for other in nested:
        _check_rows(op, template, other)
    take = values_of
    # With gaps in different places the values do not line up.
    if any(rows_of(other) != rows_of(template) for other in nested):
        template, take = packed(template), packed_values
    converted = []
    for value in args:
        if is_nested(value):
            converted.append(take(value))
        elif isinstance(value, Tensor) and value.ndim:
            converted.append(_spread(op, template, value))
        else:
            converted.append(value)
    return template, converted


def _check_rows(op: str, one: Tensor, other: Tensor) -> None:
    same = rows_of(one).same_rows(rows_of(other))
    if same and one.ndim == other.ndim and ragged_dim(one) == ragged_dim(other):
        return
    why = "their rows differ in length" if not same else "their ragged dimensions are not the same"
    raise errors.ShapeError(
        f"{op}(): jagged tensors of the sizes {_sizes(one)} and {_sizes(other)} do not fit: {why}\n"
        "  try: x.to_padded_tensor(0.0) of both"
    )


def _sizes(tensor: Tensor) -> str:
    return f"({', '.join(str(n) for n in tensor.shape)})"


def _spread(op: str, template: Tensor, dense: Tensor) -> Tensor:
    """Return a dense operand so that it broadcasts to the values of a jagged tensor."""
    if dense.layout.name != "strided":
        raise errors.LayoutError(
            f"{op}(): tensors of the layouts tt.jagged and {dense.layout} do not go together\n  try: to_dense()"
        )
    dim, ndim, rows = ragged_dim(template), template.ndim, rows_of(template)
    if dense.ndim > ndim:
        raise errors.ShapeError(
            f"{op}(): a dense tensor of {dense.ndim} dimensions does not broadcast to a jagged one of {ndim}"
        )
    missing = ndim - dense.ndim
    if missing > dim:
        return dense  # only the dimensions after the ragged one
    at = dim - missing
    length = dense.shape[at]
    if missing == 0 and dense.shape[0] not in (1, batch_of(template)):
        raise errors.ShapeError(
            f"{op}(): a dense tensor of shape {list(dense.shape)} does not broadcast to {_sizes(template)}: it has "
            f"{dense.shape[0]} rows, not {batch_of(template)}"
        )
    if length not in (1, rows.longest):
        raise errors.ShapeError(
            f"{op}(): a dense tensor of shape {list(dense.shape)} does not broadcast to {_sizes(template)}: its size "
            f"in the ragged dimension must be 1, or that of the longest row, {rows.longest}"
        )
    batched = missing == 0 and dense.shape[0] != 1
    whole = ops.select(dense, 0, 0) if missing == 0 and not batched else dense
    if length == 1 and not batched:
        return whole
    if not rows.contiguous:
        raise refuse(
            op,
            "a dense operand with a size for rows needs rows without gaps",
            "x.contiguous() of the jagged tensor",
        )
    inner = dim - 1
    if not batched:
        at_inner = inner - (whole.ndim - (ndim - 1)) if whole.ndim == ndim - 1 else inner - missing + 1
        return ops.index_select(whole, at_inner, rows.on(rows.positions, template.device))
    front = ops.movedim(dense, dim, 1)
    size = tuple(front.shape)
    flat = ops.reshape(front, (size[0] * size[1], *size[2:]))
    positions = rows.rows * length + (rows.positions if length > 1 else 0)
    return ops.movedim(ops.index_select(flat, 0, rows.on(positions, template.device)), 0, inner)


def pointwise_functions() -> dict[str, Callable[..., Any]]:
    """Return the functions of tt's operators that treat each element alone."""
    functions = {}
    for name in REGISTRY.names():
        definition = REGISTRY.definition(name)
        if definition is not None and definition.kind == "pointwise" and "::" not in name:
            functions[name] = elementwise(name)
    return functions | {name: elementwise(name) for name in MORE if REGISTRY.definition(name) is not None}


def function_of_others(op: str) -> Callable[..., Any] | None:
    """Return the function of another package's operator that treats each element alone, or None.

    It is looked for when the operator is called, since packages may define theirs after this one is registered.  A
    kernel that such a package has for jagged tensors of some device takes precedence.
    """
    definition = REGISTRY.definition(op)
    if definition is None or definition.kind != "pointwise" or "::" not in op:
        return None
    own = any("jagged" in kernel.layouts for kernel in REGISTRY.kernels.get(op, ()))
    return None if own else elementwise(op)
