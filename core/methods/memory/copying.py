"""`copy` and `deepcopy` of tensors."""

from __future__ import annotations

import copy as python_copy
from typing import Any, TypeVar

from tt.core.dispatch.registry.registry import ops
from tt.core.errors import GradientError
from tt.core.methods.as_subclass import as_kind, fresh_wrapper, is_wrapper
from tt.core.methods.memory.host_access import detached, requires_gradient
from tt.core.methods.memory.host_storage import bytes_of, new_storage, place_in, shares_host_memory
from tt.core.methods.memory.pickling import bare_tensor, pack, set_state
from tt.core.tensor.tensor import Tensor, slots_of

__all__ = ["COPYING_MEMBERS"]

Kind = TypeVar("Kind", bound=Tensor)


def shallow_copy(self: Tensor) -> Tensor:
    """Return a new tensor that shares the memory, with the same attributes and without the history."""
    new = fresh_wrapper(self) if is_wrapper(self) else as_kind(detached(self), type(self))
    if requires_gradient(self):
        new.requires_grad = True
    set_state(new, {**slots_of(self), **self.__dict__})
    return new


def deep_copy(self: Tensor, memo: dict[Any, Any]) -> Tensor:
    """Return a copy that shares nothing; tensors that are copied together keep sharing with each other.

    The copy of a parameter has no gradient: an averaged model would take twice the memory, and move at a first step.

    Raises
    ------
    GradientError
        For a tensor that is the result of a differentiated operation.
    """
    # `deepcopy` has looked there already; a direct call of the method has not.
    if id(self) in memo:
        known: Tensor = memo[id(self)]
        return known
    if requires_gradient(self) and not getattr(self, "is_leaf", True):
        raise GradientError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment\n"
            "  try: copy.deepcopy(x.detach()), or x.clone() to keep the history"
        )
    bare = bare_tensor(self)
    new = bare if is_wrapper(self) else _deep_copied_values(bare, type(self), memo)
    if requires_gradient(self):
        new.requires_grad = True
    # Before attributes and gradient are copied, since these may refer to the tensor.
    memo[id(self)] = new
    gradient = (
        None if self._record is None or getattr(self, "_is_param", False) else getattr(self, "grad", None)
    )
    if gradient is not None:
        new.grad = python_copy.deepcopy(gradient, memo)
    set_state(new, python_copy.deepcopy({**slots_of(self), **self.__dict__}, memo))
    return new


def _deep_copied_values(self: Tensor, kind: type[Kind], memo: dict[Any, Any]) -> Kind:
    if not shares_host_memory(self):
        return as_kind(ops.clone(self), kind)
    storage = self._storage
    key = "memory of a tensor", id(storage.owner)  # of `x.data` and x, which have two storages
    copy = memo.get(key)
    if copy is None:
        copy = memo[key] = new_storage(bytes_of(storage.owner))
    _, _, dtype, shape, strides, offset = pack(self)
    return place_in(copy, dtype, shape, strides, offset, kind)


COPYING_MEMBERS: dict[str, Any] = {"__copy__": shallow_copy, "__deepcopy__": deep_copy}
