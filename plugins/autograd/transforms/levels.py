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
from weakref import WeakKeyDictionary

from tt.core.library import KEYS, Backend, Tensor, TensorBase, TensorSpec, errors, ops, wrap
from tt.core.library import dtype as Dtype

__all__ = [
    "BIT",
    "Batched",
    "Level",
    "batched",
    "hidden_dim_first",
    "innermost",
    "levels",
    "move_dim",
    "unwrap",
]

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


class BatchedBackend(Backend):
    """Tells the core of wrapped tensors what it asks a backend: the geometry that the function sees.

    Parameters
    ----------
    inside : Backend
        That of the tensors inside.
    """

    handle_type = Batched

    def __init__(self, inside: Backend) -> None:
        super().__init__()
        self.device_type, self.layout, self.inside = inside.device_type, inside.layout, inside

    def native_dtype(self, dtype: Dtype) -> Any:
        """Return that of the backend inside."""
        return self.inside.native_dtype(dtype)

    def strides(self, handle: Batched) -> tuple[int, ...]:
        """Return the strides without that of the hidden dim."""
        found = handle.value.spec.backend.strides(handle.value.handle)
        return tuple(found[: handle.dim]) + tuple(found[handle.dim + 1 :])

    def offset(self, handle: Batched) -> int:
        """Return where the first example starts."""
        return int(handle.value.spec.backend.offset(handle.value.handle))

    def storage_owner(self, handle: Batched) -> Any:
        """Return what owns the memory of all examples."""
        return handle.value.spec.backend.storage_owner(handle.value.handle)

    def storage_nbytes(self, owner: Any) -> int:
        """Return the size of the memory of all examples."""
        return self.inside.storage_nbytes(owner)

    def to_numpy(self, handle: Batched) -> Any:
        """Refuse: there is one array for each example."""
        raise errors.DataDependentError("numpy", "vmapped")


_SPECS: WeakKeyDictionary[TensorSpec, TensorSpec] = WeakKeyDictionary()


def _wrapped_spec(spec: TensorSpec) -> TensorSpec:
    """Return the spec of wrapped tensors for that of the tensors inside."""
    if isinstance(spec.backend, BatchedBackend):
        return spec
    found = _SPECS.get(spec)
    if found is None:
        backend = BatchedBackend(spec.backend)
        found = _SPECS[spec] = TensorSpec(spec.dtype, spec.device, spec.layout, backend, spec.keys | BIT)
    return found


def batched(value: Any, dim: int, level: Level) -> Tensor:
    """Return a tensor whose dim `dim` is hidden at a level."""
    new = wrap(Batched(value, dim % value.ndim, level), _wrapped_spec(value.spec))
    new.record = level
    return new


def unwrap(value: Any, level: Level) -> tuple[Any, int | None]:
    """Return what is inside of a tensor of a level and its hidden dim; other values with None."""
    if isinstance(value, TensorBase) and value.keys & BIT and value.handle.level is level:
        return value.handle.value, value.handle.dim
    return value, None


def move_dim(tensor: Any, source: int, destination: int) -> Any:
    """Return a tensor with one dim in another place."""
    order = [dim for dim in range(tensor.ndim) if dim != source % tensor.ndim]
    order.insert(destination % tensor.ndim, source % tensor.ndim)
    return tensor if order == sorted(order) else ops.permute(tensor, order)


def hidden_dim_first(value: Any, level: Level) -> tuple[Any, bool]:
    """Return what is inside with the hidden dim at the front, and whether there is one."""
    inside, dim = unwrap(value, level)
    if dim is None:
        return inside, False
    return move_dim(inside, dim, 0), True


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
