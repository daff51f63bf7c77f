"""Levels: which transforms are running in this thread, and the tensors that they wrap.

Note [Levels]
-------------
Each running `vmap` is a level on the thread's stack.  A tensor that is mapped over is wrapped: its handle is a
`Batched`, which holds the tensor inside, the dim that is hidden, and the level.  What is inside may be wrapped itself,
by a level further out.  One key bit, that of the layer "transform", says that a tensor is wrapped; an operator is then
handled by the innermost level among its arguments, which unwraps and calls it again on what is inside.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from tt.core.library import KEYS, Tensor, TensorBase, ops, wrap

__all__ = ["BIT", "Batched", "Level", "batched", "hidden_dim_first", "innermost", "levels", "unwrap"]

BIT = KEYS.bit("layer", "transform")
"""The key bit of wrapped tensors."""


class Level:
    """One running `vmap`.

    Attributes
    ----------
    depth : int
        Its place on the stack; the innermost has the highest.
    size : int
        How many calls it stands for.
    """

    __slots__ = ("depth", "size")

    def __init__(self, depth: int, size: int) -> None:
        self.depth, self.size = depth, size


class _Stack(threading.local):
    def __init__(self) -> None:
        self.levels: list[Level] = []


_STACK = _Stack()


def levels() -> tuple[Level, ...]:
    """Return the running levels of this thread, the outermost first."""
    return tuple(_STACK.levels)


class running:  # noqa: N801 - reads as a statement: with running(size) as level
    """Puts a level on the stack for a `with` block."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __enter__(self) -> Level:
        level = Level(len(_STACK.levels), self._size)
        _STACK.levels.append(level)
        return level

    def __exit__(self, *exception: object) -> None:
        _STACK.levels.pop()


class Batched:
    """The handle of a wrapped tensor.

    Attributes
    ----------
    value : Tensor
        The tensor inside.
    dim : int
        Its dim that the function does not see.
    level : Level
        Whose it is.
    """

    __slots__ = ("__weakref__", "dim", "level", "value")

    def __init__(self, value: Tensor, dim: int, level: Level) -> None:
        self.value, self.dim, self.level = value, dim, level

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that the function sees."""
        shape = tuple(self.value.shape)
        return shape[: self.dim] + shape[self.dim + 1 :]

    @property
    def ndim(self) -> int:
        """The number of dims that the function sees."""
        return int(self.value.ndim) - 1


def batched(value: Tensor, dim: int, level: Level) -> Tensor:
    """Return a tensor whose dim `dim` is hidden at a level."""
    new = wrap(Batched(value, dim % value.ndim, level), value.spec)
    new.keys |= BIT
    new.record = level
    return new


def unwrap(value: Any, level: Level) -> tuple[Any, int | None]:
    """Return what is inside of a tensor of a level and its hidden dim; other values with None."""
    if isinstance(value, TensorBase) and value.keys & BIT and value.handle.level is level:
        return value.handle.value, value.handle.dim
    return value, None


def hidden_dim_first(value: Any, level: Level) -> tuple[Any, bool]:
    """Return what is inside with the hidden dim at the front, and whether there is one."""
    inside, dim = unwrap(value, level)
    if dim is None:
        return inside, False
    return (inside if dim == 0 else ops.movedim(inside, dim, 0)), True


def innermost(args: Sequence[Any]) -> Level:
    """Return the innermost level among wrapped arguments, of which there must be one."""
    found: Level | None = None
    for value in args:
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, TensorBase) and item.keys & BIT:
                level = item.handle.level
                if found is None or level.depth > found.depth:
                    found = level
    assert found is not None  # the layer is asked only for calls with its bit
    return found
