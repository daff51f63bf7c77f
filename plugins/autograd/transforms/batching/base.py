"""Batching rules: how an operator runs on many examples at once.

A rule gets the level, the operator and its arguments, of which some are wrapped at that level, and returns the wrapped
result.  Operators with a composite need none: their parts have them.  A rule raises `NoRuleError` for a call that it
does not serve, which then runs once for each example.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt.core.library import Operator, TensorBase, errors, ops
from tt.plugins.autograd.record.graph import STATE
from tt.plugins.autograd.transforms.inplace import is_recorded_below, with_kept_target
from tt.plugins.autograd.transforms.levels import Level, batched, hidden_dim_first, move_dim, unwrap

__all__ = [
    "BatchingRule",
    "BatchingTable",
    "NoRuleError",
    "align",
    "all_first",
    "along_dim",
    "behind",
    "inplace_of",
    "inplace_pointwise",
    "joined_shape",
    "merged",
    "of_one_matrix",
    "pointwise",
    "reduction",
    "rewrapped",
]

BatchingRule = Callable[[Level, Operator, tuple[Any, ...]], Any]


class NoRuleError(Exception):
    """A rule does not serve the call."""


class BatchingTable:
    """The rules of some operators.

    Attributes
    ----------
    rules : dict
        Operator -> rule.
    """

    def __init__(self) -> None:
        self.rules: dict[str, BatchingRule] = {}

    def rule(self, *names: str) -> Callable[[BatchingRule], BatchingRule]:
        """Make a function the batching rule of operators."""

        def note(function: BatchingRule) -> BatchingRule:
            self.rules.update(dict.fromkeys(names, function))
            return function

        return note


def rewrapped(level: Level, operator: Operator, result: Any, dim: int = 0) -> Any:
    """Return a result, or several, whose hidden dim is `dim`, wrapped."""
    if isinstance(result, TensorBase):
        return batched(result, dim, level)
    return operator.return_type([batched(r, dim, level) for r in result])


def behind(dim: int, ndim: int) -> int:
    """Return the inner dim for one of the `ndim` visible dims."""
    if not -ndim <= dim < ndim:
        raise NoRuleError  # refused, in the words of the operator
    return dim % ndim + 1


def all_first(level: Level, values: Sequence[Any]) -> list[Any]:
    """Return tensors unwrapped with the hidden dim at the front; those that have none are expanded."""
    aligned = []
    for value in values:
        inside, hidden = hidden_dim_first(value, level)
        aligned.append(inside if hidden else ops.expand(inside, (level.size, *inside.shape)))
    return aligned


# --- pointwise -------------------------------------------------------------------------------------------------


def align(level: Level, args: Sequence[Any]) -> list[Any]:
    """Return the arguments unwrapped, so that hidden dims meet at the front and the others from the right."""
    ndim = max(int(a.ndim) for a in args if isinstance(a, TensorBase))
    aligned = []
    for value in args:
        inside, hidden = hidden_dim_first(value, level)
        # Broadcasting lines up from the right: without these ones the hidden dim would meet a visible one.
        if hidden and value.ndim < ndim:
            shape = tuple(inside.shape)
            inside = ops.reshape(inside, (shape[0],) + (1,) * (ndim - value.ndim) + shape[1:])
        aligned.append(inside)
    return aligned


def pointwise(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Align the dims and run the operator once."""
    result = operator.overload().dispatch(tuple(align(level, args)))
    return rewrapped(level, operator, result)


def inplace_pointwise(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Change the examples together; what does not differ by example cannot be changed by what does."""
    inside, hidden = hidden_dim_first(args[0], level)
    if not hidden:
        raise errors.InplaceError(
            f"vmap: {operator.definition.inplace_name}(self, *extra_args) is not possible because there exists a "
            "Tensor in extra_args that differs by example while self does not\n  try: the form that is not in-place"
        )
    operator.overload("inplace").dispatch((inside, *align(level, args)[1:]))
    return args[0]


def inplace_of(functional: BatchingRule) -> BatchingRule:
    """Make the rule of an in-place form from the functional form's: compute and write."""

    def run(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
        inside, dim = unwrap(args[0], level)
        if dim is None:
            raise NoRuleError  # refused by the loop, which gives the reason
        saved = STATE.enabled() and is_recorded_below(args)
        result, _ = hidden_dim_first(
            functional(level, operator, with_kept_target(args) if saved else args), level
        )
        inside.copy_(move_dim(result, 0, dim))
        return args[0]

    return run


# --- reductions ------------------------------------------------------------------------------------------------


def reduction(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Reduce the dims that the function sees."""
    inside, _ = hidden_dim_first(args[0], level)
    position = operator.positions["dim"]
    dim, ndim = args[position], int(args[0].ndim)
    everything = dim is None or (not isinstance(dim, int) and not len(dim))
    if operator.name in ("all.dim", "any.dim") and dim is not None and everything:
        return batched(operator.overload().dispatch((inside, *args[1:])), 0, level)  # no dims are none here
    if ndim == 0:
        for d in () if everything else (dim,) if isinstance(dim, int) else dim:
            behind(d, 1)
        # A dim of size one takes the place of the dims that are not there.
        inside = ops.unsqueeze(inside, -1)
        shifted: Any = (1,) if operator.arguments[position].type.list else 1
    elif (
        everything and not operator.arguments[position].type.list
    ):  # argmax counts the elements of all dims together
        inside, shifted = ops.reshape(inside, (inside.shape[0], -1)), 1
    elif everything:
        shifted = tuple(range(1, ndim + 1))
    else:
        shifted = behind(dim, ndim) if isinstance(dim, int) else tuple(behind(d, ndim) for d in dim)
    rest = list(args[1:])
    rest[position - 1] = shifted
    # The dim that was put in has to go again.
    if ndim == 0 and "keepdim" in operator.positions:
        rest[operator.positions["keepdim"] - 1] = False
    result = operator.overload().dispatch((inside, *rest))
    if isinstance(result, TensorBase):
        # `argmax` with keepdim saw the dims as one, and the function expects a one for each.
        if everything and result.ndim == 2 and ndim > 1:
            result = ops.reshape(result, (inside.shape[0],) + (1,) * ndim)
        return batched(result, 0, level)
    return operator.return_type([batched(r, 0, level) for r in result])


def along_dim(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Run an operator that works along one dim and keeps it: softmax, cumsum, sort."""
    inside, _ = hidden_dim_first(args[0], level)
    position = operator.positions["dim"]
    scalar = args[0].ndim == 0
    if scalar:
        inside = ops.unsqueeze(inside, -1)
    rest = list(args[1:])
    rest[position - 1] = behind(args[position], args[0].ndim or 1)
    result = operator.overload().dispatch((inside, *rest))
    several = not isinstance(result, TensorBase)
    wrapped = [
        batched(ops.squeeze(r, -1) if scalar else r, 0, level) for r in (result if several else (result,))
    ]
    return operator.return_type(wrapped) if several else wrapped[0]


def merged(dims: int) -> BatchingRule:
    """Make the rule of an operator of one tensor with so many dims behind the batch, which may be missing."""

    def run(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
        inside, _ = hidden_dim_first(args[0], level)
        several = args[0].ndim == dims + 1
        if not several and args[0].ndim != dims:
            raise NoRuleError  # refused, in the words of the operator
        if several:
            inside = ops.reshape(inside, joined_shape(inside))
        result = operator.overload().dispatch((inside, *args[1:]))
        results = [result] if isinstance(result, TensorBase) else list(result)
        if several:
            results = [ops.reshape(r, (level.size, args[0].shape[0], *r.shape[1:])) for r in results]
        wrapped = [batched(r, 0, level) for r in results]
        return wrapped[0] if isinstance(result, TensorBase) else operator.return_type(wrapped)

    return run


def joined_shape(inside: Any) -> tuple[int, ...]:
    """Return the shape with the first two dims merged; -1 would fail without elements."""
    return (inside.shape[0] * inside.shape[1], *inside.shape[2:])


def of_one_matrix(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Take the hidden dim for one more dim of the batch."""
    if args[0].ndim < 2:
        raise NoRuleError  # refused, in the words of the operator
    inside, _ = hidden_dim_first(args[0], level)
    result = operator.overload().dispatch((inside, *args[1:]))
    if operator.name == "linalg_qr" and args[1] == "r":
        result = operator.return_type([ops.expand(result[0], (level.size, 0)), result[1]])  # no Q at all
    return rewrapped(level, operator, result)
