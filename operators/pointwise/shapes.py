"""Shape rules of operators that work element by element."""

from __future__ import annotations

from typing import Any

from tt.core.errors import DtypeError, ShapeError
from tt.core.shapes.geometry import (
    Described,
    broadcast,
    broadcast_strides,
    contiguous_strides,
    dense_strides,
    is_described,
    like_strides,
)
from tt.core.shapes.registry import Result, RuleTable
from tt.core.types.memory_format import ORDERS, strides_in_order

rule = RuleTable()


@rule("broadcast")
def broadcast_rule(*tensors: Any, op: str) -> Result:
    """All tensors broadcast; the result keeps the order of dimensions that they share."""
    operands = [t for t in tensors if is_described(t)]
    shape = broadcast(op, *(t.shape for t in operands))
    # A number among the arguments counts as an operand, and so keeps equal strides from being taken as they
    # are.
    return Result(shape, dense_strides(shape, operands, scalars=len(operands) < len(tensors)))


@rule("same", "like")
def same(self: Described, /, memory_format: str | None = None, *, op: str) -> Result:
    """The result has the shape of the first argument, and its order of dimensions or another one."""
    return Result(self.shape, format_strides(op, self, memory_format))


def format_strides(op: str, tensor: Described, memory_format: str | None) -> tuple[int, ...]:
    """Return the strides of a fresh tensor that follows another, in a memory format (None preserves the order)."""
    name = str(memory_format).rpartition(".")[2]
    if name == "contiguous_format":
        return contiguous_strides(tensor.shape)
    if name in ORDERS:
        return ordered_strides(op, tensor.shape, name)
    return like_strides(tensor)


def ordered_strides(op: str, shape: tuple[int, ...], name: str) -> tuple[int, ...]:
    """Return the strides of a shape in a memory format that names an order."""
    rank = len(ORDERS[name])
    if len(shape) != rank:
        raise ShapeError(f"{op}(): required rank {rank} tensor to use {name} format, got {len(shape)}")
    return strides_in_order(shape, name)


@rule("broadcast_to_self")
def broadcast_to_self(self: Described, /, *tensors: Any, op: str) -> Result:
    """All tensors broadcast to the shape of the first, which does not grow."""
    for other in tensors:
        if is_described(other):
            expect_broadcastable_to(op, other.shape, self.shape)
    return Result(self.shape, like_strides(self))


def expect_broadcastable_to(op: str, shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    """Raise unless `shape` broadcasts to `target` without changing it."""
    joint = broadcast(op, target, shape)
    if joint != target:
        raise ShapeError(
            f"{op}(): the result has shape {list(joint)}, which the target of shape {list(target)} cannot hold"
        )


@rule("broadcast_tensors")
def broadcast_tensors(*tensors: Described, op: str) -> list[Result]:
    """Each tensor as a view in the common shape."""
    shape = broadcast(op, *(t.shape for t in tensors))
    return [Result(shape, broadcast_strides(t, shape), t.offset) for t in tensors]


@rule("polygamma")
def second(n: int, self: Described, /) -> Result:
    """The result has the shape of the second argument."""
    return Result(self.shape, like_strides(self))


@rule("frexp")
def two_same(self: Described, /) -> tuple[Result, Result]:
    """Two results like the first argument."""
    strides = like_strides(self)
    return Result(self.shape, strides), Result(self.shape, strides)


@rule("lerp")
def lerp(self: Described, end: Described, weight: Any, *, op: str) -> Result:
    """All tensors broadcast; a weight with dimensions has the dtype of the ends."""
    if is_described(weight) and weight.ndim and weight.dtype is not self.dtype:
        raise DtypeError(
            f"{op}(): expected weight to have the dtype {self.dtype} of self, but got {weight.dtype}"
        )
    return broadcast_rule(self, end, weight, op=op)
