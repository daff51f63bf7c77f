"""Batching rules of views, and of what replaces a part of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt.core.library import Operator, Tensor, TensorBase, errors, ops
from tt.plugins.autograd.record.graph import STATE
from tt.plugins.autograd.transforms.batching.base import (
    BatchingRule,
    BatchingTable,
    NoRuleError,
    all_first,
    behind,
)
from tt.plugins.autograd.transforms.inplace import is_recorded_below, reach
from tt.plugins.autograd.transforms.levels import Level, batched, hidden_dim_first

__all__ = ["table"]

table = BatchingTable()
RULES, rule = table.rules, table.rule


def view(arguments: Callable[..., tuple[Any, ...]]) -> BatchingRule:
    """Make a rule of a function from the seen tensor and the arguments to those for the tensor inside."""

    def run(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
        inside, hidden = hidden_dim_first(args[0], level)
        if not hidden:
            return operator.overload().dispatch((inside, *args[1:]))
        result = operator.overload().dispatch((inside, *arguments(args[0], level, *args[1:])))
        if isinstance(result, TensorBase):
            return batched(result, 0, level)
        return [batched(part, 0, level) for part in result]

    return run


def _behind(x: Tensor, dim: int, extra: int = 0) -> int:
    return behind(dim, x.ndim + extra)


def kept_without_dims(of_dims: BatchingRule) -> BatchingRule:
    """Extend a rule to numbers without dims, which the operator returns as views of themselves."""

    def run(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
        if args[0].ndim:
            return of_dims(level, operator, args)
        named = [
            dim for value in args[1:] for dim in (value if isinstance(value, tuple | list) else (value,))
        ]
        if not all(dim in (-1, 0) for dim in named):
            raise NoRuleError  # refused, in the words of the operator
        inside, hidden = hidden_dim_first(args[0], level)
        return batched(ops.alias(inside), 0, level) if hidden else ops.alias(inside)

    return run


RULES["transpose"] = kept_without_dims(
    view(lambda x, level, dim0, dim1: (_behind(x, dim0), _behind(x, dim1)))
)
RULES["unsqueeze"] = view(lambda x, level, dim: (_behind(x, dim, 1),))
RULES["permute"] = view(lambda x, level, dims: ((0, *(_behind(x, dim) for dim in dims)),))
RULES["view"] = view(lambda x, level, size: ((level.size, *_known(x, size)),))
RULES["select"] = view(lambda x, level, dim, index: (_behind(x, dim), index))
RULES["slice"] = view(lambda x, level, dim, *rest: (_behind(x, dim), *rest))
RULES["split"] = RULES["split.sizes"] = view(lambda x, level, sizes, dim: (sizes, _behind(x, dim)))
RULES["unbind"] = view(lambda x, level, dim: (_behind(x, dim),))
RULES["squeeze.dim"] = kept_without_dims(
    view(lambda x, level, dims: (tuple(_behind(x, dim) for dim in dims),))
)
RULES["flip"] = view(lambda x, level, dims: (tuple(_behind(x, dim) for dim in dims),))
RULES["diagonal"] = view(lambda x, level, offset, dim1, dim2: (offset, _behind(x, dim1), _behind(x, dim2)))
RULES["diag_embed"] = view(
    lambda x, level, offset, dim1, dim2: (offset, _behind(x, dim1, 1), _behind(x, dim2, 1))
)
RULES["constant_pad_nd"] = view(lambda x, level, pad, value: (pad, value))
for _name in ("alias", "detach", "real", "imag", "view_as_real"):
    RULES[_name] = view(lambda x, level: ())


@rule("squeeze")
def squeeze(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Remove the dims of size 1 that the function sees."""
    inside, _ = hidden_dim_first(args[0], level)
    dims = tuple(dim + 1 for dim, size in enumerate(args[0].shape) if size == 1)
    return batched(ops.squeeze.dim(inside, dims) if dims else ops.alias(inside), 0, level)


@rule("view_as_complex")
def view_as_complex(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Take the pairs along the last dim that the function sees for complex numbers."""
    if not args[0].ndim:
        raise NoRuleError  # refused, in the words of the operator
    inside, _ = hidden_dim_first(args[0], level)
    return batched(ops.view_as_complex(inside), 0, level)


@rule("view.dtype")
def view_as_dtype(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Look at the bits of all examples."""
    inside, _ = hidden_dim_first(args[0], level)
    if args[0].ndim == 0 and args[1].itemsize != args[0].dtype.itemsize:
        raise NoRuleError  # refused, in the words of the operator
    return batched(operator.overload().dispatch((inside, args[1])), 0, level)


@rule("as_strided_scatter")
def as_strided_scatter(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Replace the same places of every example, each of which is treated as separate memory.

    Raises
    ------
    UnsupportedError
        When the elements of an example are not in row-major order, so that its memory layout is undefined.
    """
    x, src, size, stride, offset = args
    inside, hidden = hidden_dim_first(x, level)
    start = 0 if offset is None else offset - int(inside.storage_offset())
    count, last = x.shape.numel(), start
    for length, step in zip(size, stride, strict=False):
        last += (length - 1) * step
    within = start >= 0 and min((*stride, 0)) >= 0 and last < count and all(length > 0 for length in size)
    if len(size) != len(stride) or tuple(src.shape) != tuple(size) or src.dtype is not x.dtype or 0 in size:
        raise NoRuleError  # refused, in the words of the operator, or nothing to replace: one by one
    # An example's places are counted as if it were separate memory, which says nothing if its elements are
    # apart.
    if not within or not (ops.select(inside, 0, 0) if hidden else inside).is_contiguous():
        raise errors.UnsupportedError(
            f"vmap: as_strided_scatter() of shape {list(x.shape)}: sizes {list(size)}, strides {list(stride)} and "
            f"storage offset {offset} do not lie in the memory of an example, or it is not in row-major order\n"
            "  try: contiguous() on the tensor first"
        )
    positions = ops.arange.start(start, start + 1, device=x.device)
    for length, step in zip(size, stride, strict=True):
        steps = ops.arange.start_step(0, length * max(step, 1), max(step, 1), device=x.device)
        positions = ops.add(ops.unsqueeze(positions, -1), steps if step else ops.mul(steps, 0))
    whole, part = (
        ops.reshape(value if mapped else ops.expand(value, (level.size, *value.shape)), (level.size, -1))
        for value, mapped in ((inside, hidden), hidden_dim_first(src, level))
    )
    result = ops.index_copy(whole, 1, ops.reshape(positions, (-1,)), part)
    return batched(ops.reshape(result, (level.size, *x.shape)), 0, level)


def _known(x: Tensor, size: Sequence[int]) -> tuple[int, ...]:
    """Return a size without -1, which could not be found where no example has elements."""
    if -1 not in size:
        return tuple(size)
    known = 1
    for n in size:
        known *= n if n != -1 else 1
    if not known or list(size).count(-1) > 1 or x.shape.numel() % known:
        raise NoRuleError  # refused, in the words of the operator
    return tuple(n if n != -1 else x.shape.numel() // known for n in size)


@rule("as_strided")
def as_strided(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Take the same places of memory of every example, counted from where the first one begins.

    Raises
    ------
    UnsupportedError
        When a place is not in the memory of the example.
    """
    x, size, stride, offset = args
    inside, _ = hidden_dim_first(x, level)
    if len(size) != len(stride) or min((*size, *stride, 0)) < 0 or (offset or 0) < 0:
        raise NoRuleError  # refused, in the words of the operator
    begin, (apart, *own) = int(inside.storage_offset()), inside.stride()
    start = begin if offset is None else offset
    last = begin + reach(x.shape, own)
    if all(size) and (not x.shape.numel() or start < begin or start + reach(size, stride) > last):
        raise errors.UnsupportedError(
            f"vmap: as_strided() of shape {list(x.shape)}: sizes {list(size)}, strides {list(stride)} and storage "
            f"offset {start} do not lie in the memory of an example, from {begin} to {last}\n"
            "  try: contiguous() on the tensor first"
        )
    if level.size > 1 and x.shape.numel():
        if not apart:
            # The gradient of memory is shared by all that look at it, and each example has its own.
            apart = last - begin + 1
            memory = ops.clone(ops.detach(ops.as_strided(inside, (level.size, apart), (0, 1), begin)))
            inside = ops.copy_(ops.as_strided(memory, tuple(inside.shape), (apart, *own), 0), inside)
            start -= begin
        elif apart <= last - begin and STATE.enabled() and is_recorded_below(inside):
            # All places one by one: slow, but only recorded examples that lie between each other come here.
            positions, everywhere = _places(x.shape, own), _places(inside.shape, inside.stride())
            if set(_places(size, stride, start - begin)) - set(positions) or len(set(everywhere)) < len(
                everywhere
            ):
                raise errors.UnsupportedError(
                    "vmap: as_strided() of examples that lie between each other in memory has no derivative: elements "
                    "of one would be elements of others\n  try: contiguous() on the tensor first"
                )
    return batched(ops.as_strided(inside, (level.size, *size), (apart, *stride), start), 0, level)


def _places(shape: Sequence[int], stride: Sequence[int], start: int = 0) -> list[int]:
    """Return where the elements of a tensor are, from the first one."""
    positions = [start]
    for length, step in zip(shape, stride, strict=True):
        positions = [position + step * i for position in positions for i in range(length)]
    return positions


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
        result = operator.overload().dispatch((*whole, *shift(args[0], *args[2:])))
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
    if args[0].ndim > 2:
        raise NoRuleError  # refused, in the words of the operator
    return ops.transpose(args[0], 0, 1) if args[0].ndim == 2 else args[0]


@rule("expand")
def expand(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Expand behind the hidden dim, with new dims between it and the others."""
    inside, _ = hidden_dim_first(args[0], level)
    size = args[1]
    new = len(size) - args[0].ndim
    inside = ops.reshape(inside, (level.size,) + (1,) * new + tuple(args[0].shape))
    return batched(ops.expand(inside, (level.size, *size)), 0, level)


@rule("cat")
def cat(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Join along a dim that the function sees; tensors without a hidden dim are expanded."""
    tensors, dim = args
    # A vector without elements goes with everything.
    kept = [t for t in tensors if tuple(t.shape) != (0,)]
    if not kept:
        kept, dim = tensors, 0
    if not kept[0].ndim:
        raise NoRuleError  # refused, in the words of the operator
    result = ops.cat(all_first(level, kept), behind(dim, kept[0].ndim))
    return batched(result, 0, level)
