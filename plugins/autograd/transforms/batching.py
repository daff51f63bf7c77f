"""Batching rules: how an operator runs on many examples at once.

A rule gets the level, the operator and its arguments, of which some are wrapped at that level, and returns the wrapped
result.  Operators with a composite need none: their parts have them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tt.core.library import Operator, TensorBase, errors, ops
from tt.plugins.autograd.transforms.levels import Level, batched, hidden_dim_first, unwrap

__all__ = ["RULES", "BatchInfo", "BatchingRule", "in_the_open", "inplace_pointwise", "pointwise", "reduction"]

BatchingRule = Callable[[Level, Operator, tuple[Any, ...]], Any]
RULES: dict[str, BatchingRule] = {}


def rule(*names: str) -> Callable[[BatchingRule], BatchingRule]:
    """Make a function the batching rule of operators."""

    def note(function: BatchingRule) -> BatchingRule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return note


# --- rules of third parties ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BatchInfo:
    """What a rule is told besides the arguments.

    Attributes
    ----------
    batch_size : int
        The number of examples.
    randomness : str
        Always "error": examples share the random numbers of one call, as they come.
    """

    batch_size: int
    randomness: str = "error"


def in_the_open(function: Callable[..., Any]) -> BatchingRule:
    """Return the batching rule that a function in PyTorch's form is: it sees the dim of the examples.

    Parameters
    ----------
    function : callable
        `function(info, in_dims, *args)`; keyword-only arguments come as such.
    """

    def run(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
        opened = [_opened(value, level) for value in args]
        plain, named, dims = [], {}, []
        for argument, (value, dim) in zip(operator.arguments, opened, strict=True):
            if argument.keyword_only:
                named[argument.name] = value
            else:
                plain.append(value)
                dims.append(dim)
        outcome = function(BatchInfo(level.size), tuple(dims), *plain, **named)
        if not isinstance(outcome, tuple) or len(outcome) != 2:
            raise errors.ArgumentError(
                operator.name,
                "vmap: a batching rule returns (result, the dim of the examples in it), and this one returned "
                f"{errors.describe(outcome)}",
            )
        result, out = outcome
        if isinstance(result, tuple | list):
            found = [
                _closed(r, out[i] if isinstance(out, tuple | list) else out, level)
                for i, r in enumerate(result)
            ]
            returns = operator.definition.signature.returns
            return operator.return_type(found) if len(returns) > 1 else tuple(found)
        return _closed(result, out, level)

    return run


def _opened(value: Any, level: Level) -> tuple[Any, Any]:
    """Return an argument with the dim of the examples in the open, and that dim."""
    if isinstance(value, list | tuple) and any(isinstance(item, TensorBase) for item in value):
        pairs = [unwrap(item, level) for item in value]
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return unwrap(value, level)


def _closed(value: Any, dim: Any, level: Level) -> Any:
    return value if dim is None or not isinstance(value, TensorBase) else batched(value, dim, level)


# --- pointwise -------------------------------------------------------------------------------------------------


def align(level: Level, args: Sequence[Any]) -> list[Any]:
    """Return the arguments unwrapped, so that hidden dims meet at the front and the others from the right."""
    ndim = max(int(a.ndim) for a in args if isinstance(a, TensorBase))
    aligned = []
    for value in args:
        inside, hidden = hidden_dim_first(value, level)
        if hidden and value.ndim < ndim:
            shape = tuple(inside.shape)
            inside = ops.reshape(inside, (shape[0],) + (1,) * (ndim - value.ndim) + shape[1:])
        aligned.append(inside)
    return aligned


def pointwise(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Align the dims and run the operator once."""
    result = operator.caller().dispatch(tuple(align(level, args)))
    if isinstance(result, TensorBase):
        return batched(result, 0, level)
    return operator.return_type([batched(r, 0, level) for r in result])


def inplace_pointwise(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Change the examples together; what does not differ by example cannot be changed by what does."""
    inside, hidden = hidden_dim_first(args[0], level)
    if not hidden:
        raise errors.InplaceError(
            f"vmap: {operator.definition.inplace_name}(self, *extra_args) is not possible because there exists a "
            "Tensor in extra_args that differs by example while self does not\n  try: the form that is not in-place"
        )
    operator.caller("inplace").dispatch((inside, *align(level, args)[1:]))
    return args[0]


# --- reductions ------------------------------------------------------------------------------------------------


def reduction(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Reduce the dims that the function sees."""
    inside, _ = hidden_dim_first(args[0], level)
    place = operator.positions["dim"]
    dim, ndim = args[place], int(args[0].ndim)
    everything = dim is None or (not isinstance(dim, int) and not len(dim))
    if ndim == 0:
        # A dim of size one takes the place of the dims that are not there.
        inside = ops.unsqueeze(inside, -1)
        shifted: Any = (1,) if operator.arguments[place].type.list else 1
    elif (
        everything and not operator.arguments[place].type.list
    ):  # argmax counts the elements of all dims together
        inside, shifted = ops.reshape(inside, (inside.shape[0], -1)), 1
    elif everything:
        shifted = tuple(range(1, ndim + 1))
    else:
        shifted = dim % ndim + 1 if isinstance(dim, int) else tuple(d % ndim + 1 for d in dim)
    rest = list(args[1:])
    rest[place - 1] = shifted
    if ndim == 0 and "keepdim" in operator.positions:
        rest[operator.positions["keepdim"] - 1] = False
    result = operator.caller().dispatch((inside, *rest))
    if isinstance(result, TensorBase):
        if everything and result.ndim == 2 and ndim > 1:
            result = ops.reshape(result, (inside.shape[0],) + (1,) * ndim)
        return batched(result, 0, level)
    return operator.return_type([batched(r, 0, level) for r in result])


def along_dim(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Run an operator that works along one dim and keeps it: softmax, cumsum, sort."""
    inside, _ = hidden_dim_first(args[0], level)
    place = operator.positions["dim"]
    scalar = args[0].ndim == 0
    if scalar:
        inside = ops.unsqueeze(inside, -1)
    rest = list(args[1:])
    rest[place - 1] = 1 if scalar else args[place] % args[0].ndim + 1
    result = operator.caller().dispatch((inside, *rest))
    several = not isinstance(result, TensorBase)
    wrapped = [
        batched(ops.squeeze(r, -1) if scalar else r, 0, level) for r in (result if several else (result,))
    ]
    return operator.return_type(wrapped) if several else wrapped[0]


for _name in ("softmax", "log_softmax", "cumsum", "cumprod", "sort"):
    RULES[_name] = along_dim

# --- views -----------------------------------------------------------------------------------------------------


def view(arguments: Callable[..., tuple[Any, ...]]) -> BatchingRule:
    """Make a rule of a function from the seen tensor and the arguments to those for the tensor inside."""

    def run(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
        inside, hidden = hidden_dim_first(args[0], level)
        if not hidden:
            return operator.caller().dispatch((inside, *args[1:]))
        result = operator.caller().dispatch((inside, *arguments(args[0], level, *args[1:])))
        if isinstance(result, TensorBase):
            return batched(result, 0, level)
        return [batched(part, 0, level) for part in result]

    return run


def _behind(x: Any, dim: int, extra: int = 0) -> int:
    """Return a dim of what is inside for one that the function sees."""
    return dim % (x.ndim + extra) + 1 if x.ndim + extra else dim


RULES["transpose"] = view(lambda x, level, dim0, dim1: (_behind(x, dim0), _behind(x, dim1)))
RULES["unsqueeze"] = view(lambda x, level, dim: (_behind(x, dim, 1),))
RULES["permute"] = view(lambda x, level, dims: ((0, *(_behind(x, dim) for dim in dims)),))
RULES["view"] = view(lambda x, level, size: ((level.size, *_known(x, size)),))
RULES["select"] = view(lambda x, level, dim, index: (_behind(x, dim), index))
RULES["slice"] = view(lambda x, level, dim, *rest: (_behind(x, dim), *rest))
RULES["split"] = RULES["split.sizes"] = view(lambda x, level, sizes, dim: (sizes, _behind(x, dim)))
RULES["unbind"] = view(lambda x, level, dim: (_behind(x, dim),))
RULES["squeeze.dim"] = view(lambda x, level, dims: (tuple(_behind(x, dim) for dim in dims),))
RULES["flip"] = view(lambda x, level, dims: (tuple(_behind(x, dim) for dim in dims),))
RULES["diagonal"] = view(lambda x, level, offset, dim1, dim2: (offset, _behind(x, dim1), _behind(x, dim2)))
RULES["diag_embed"] = view(
    lambda x, level, offset, dim1, dim2: (offset, _behind(x, dim1, 1), _behind(x, dim2, 1))
)
RULES["constant_pad_nd"] = view(lambda x, level, pad, value: (pad, value))
RULES["clone"] = RULES["_to_copy"] = RULES["alias"] = view(lambda x, level, *rest: rest)


def _known(x: Any, size: Sequence[int]) -> tuple[int, ...]:
    """Return a size without -1, which could not be found where no example has elements."""
    if -1 not in size:
        return tuple(size)
    known = 1
    for n in size:
        known *= n if n != -1 else 1
    return tuple(n if n != -1 else (x.shape.numel() // known if known else 0) for n in size)


@rule("as_strided")
def as_strided(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Take the same places of memory of every example, counted from where the first one begins."""
    x, size, stride, offset = args
    inside, _ = hidden_dim_first(x, level)
    start = int(inside.storage_offset()) if offset is None else offset
    found = ops.as_strided(inside, (level.size, *size), (inside.stride()[0], *stride), start)
    return batched(found, 0, level)


@rule("unfold")
def unfold(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Take windows of a dim that the function sees; a number is a window of one."""
    x, dimension, size, step = args
    if not x.ndim:
        return ops.slice(ops.unsqueeze(x, 0), 0, 0, size, 1)
    inside, _ = hidden_dim_first(x, level)
    return batched(ops.unfold(inside, _behind(x, dimension), size, step), 0, level)


def replaced(shift: Callable[..., tuple[Any, ...]]) -> BatchingRule:
    """Make the rule of an operator that replaces a part of one tensor by another."""

    def run(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
        whole = []
        for value in args[:2]:
            inside, hidden = hidden_dim_first(value, level)
            whole.append(inside if hidden else ops.expand(inside, (level.size, *inside.shape)))
        result = operator.caller().dispatch((*whole, *shift(args[0], *args[2:])))
        return batched(result, 0, level)

    return run


RULES["select_scatter"] = replaced(lambda x, dim, index: (_behind(x, dim), index))
RULES["slice_scatter"] = replaced(lambda x, dim, *rest: (_behind(x, dim), *rest))
RULES["diagonal_scatter"] = replaced(
    lambda x, offset, dim1, dim2: (offset, _behind(x, dim1), _behind(x, dim2))
)


@rule("t")
def t(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Swap the two dims that the function sees."""
    return ops.transpose(args[0], 0, 1) if args[0].ndim == 2 else args[0]


@rule("expand")
def expand(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Expand behind the hidden dim, with new dims between it and the others."""
    inside, _ = hidden_dim_first(args[0], level)
    size = args[1]
    new = len(size) - args[0].ndim
    inside = ops.reshape(inside, (level.size,) + (1,) * new + tuple(args[0].shape))
    return batched(ops.expand(inside, (level.size, *size)), 0, level)


# --- matrices --------------------------------------------------------------------------------------------------


@rule("matmul")
def matmul(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Multiply with the hidden dim as one more dim of the batch."""
    left, right = args
    left_vector, right_vector = left.ndim == 1, right.ndim == 1
    if left_vector:
        left = ops.unsqueeze(left, 0)
    if right_vector:
        right = ops.unsqueeze(right, -1)
    product = ops.matmul(*align(level, (left, right)))
    if left_vector:
        product = ops.squeeze(product, -2)
    if right_vector:
        product = ops.squeeze(product, -1)
    return batched(product, 0, level)


RULES["mm"] = RULES["bmm"] = matmul
