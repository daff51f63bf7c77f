"""torch._C._functorch: what is seen of a tensor from within `vmap` and `grad`."""

from __future__ import annotations

from typing import Any

import tt
from tt.errors import ValueRangeError
from tt.plugins.autograd.transforms.functional import leave
from tt.plugins.autograd.transforms.levels import Batched, Dual, Level, batched, levels

__all__ = [
    "_add_batch_dim", "_remove_batch_dim", "are_transforms_active", "get_unwrapped", "is_batchedtensor",
    "is_functionaltensor", "is_gradtrackingtensor", "is_legacy_batchedtensor", "maybe_get_bdim", "maybe_get_level",
]  # fmt: skip


def are_transforms_active() -> bool:
    """Return whether the call is made below `vmap`, `grad` or another transform."""
    return bool(levels())


def is_batchedtensor(tensor: object) -> bool:
    """Return whether `vmap` maps over a tensor."""
    return isinstance(getattr(tensor, "_handle", None), Batched)


def is_legacy_batchedtensor(tensor: object) -> bool:
    """Return False: there is one `vmap`."""
    return False


def is_gradtrackingtensor(tensor: object) -> bool:
    """Return whether a tensor carries a tangent of a transform."""
    return isinstance(getattr(tensor, "_handle", None), Dual)


def is_functionaltensor(tensor: object) -> bool:
    """Return False: there are no such tensors."""
    return False


def maybe_get_bdim(tensor: Any) -> int:
    """Return the dim that `vmap` maps over, or -1."""
    return int(tensor._handle.dim) if is_batchedtensor(tensor) else -1


def maybe_get_level(tensor: Any) -> int:
    """Return the level of a wrapped tensor, from 1, or -1."""
    handle = getattr(tensor, "_handle", None)
    return int(handle.level.depth) + 1 if isinstance(handle, Batched | Dual) else -1


def get_unwrapped(tensor: Any) -> tt.Tensor:
    """Return the tensor of all examples, or the one without its tangent; others as they are."""
    handle = getattr(tensor, "_handle", None)
    result: tt.Tensor = handle.value if isinstance(handle, Batched | Dual) else tensor
    return result


def _level(number: int) -> Level:
    stack = levels()
    if not 1 <= number <= len(stack):
        raise ValueRangeError(f"there is no level {number}: {len(stack)} transforms run")
    return stack[number - 1]


def _add_batch_dim(tensor: tt.Tensor, in_dim: int, level: int) -> tt.Tensor:
    """Return a tensor whose dim is hidden at a running level of `vmap`.

    Raises
    ------
    ValueRangeError
        If there is no such level.
    """
    return batched(tensor, in_dim, _level(level))


def _remove_batch_dim(tensor: tt.Tensor, level: int, batch_size: int, out_dim: int) -> tt.Tensor:
    """Return a tensor with its hidden dim in the open; where it has none, the same for all examples."""
    result: tt.Tensor = leave(tensor, out_dim, _level(level))
    return result
