"""The memory format of results: that of the arguments which the schema names under `format_of`.

Note [Memory formats]
---------------------
A convolution, a pool or a normalization of an image whose channels lie last in memory gives one whose channels lie
last, as in PyTorch, so that a program that chose channels_last once keeps it.  Which arguments decide is said in
ops.yaml, so it is the same for every backend, for composites, for meta tensors and for fakes: one of them with its
channels last suffices (of a list, all tensors must have them), and it concerns the results with as many dimensions.

Kernels need not know of it.  The dispatcher looks at the arguments after a call, and copies a result that is in another
order.  A kernel that writes in the order of its argument saves that copy.  Calls on row-major tensors pay for a look at
the strides of an argument, and other operators nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.dispatch.registry.registry import ops
from tt.core.tensor.base import TensorBase
from tt.core.types.layout import strided
from tt.core.types.memory_format import ORDERS

__all__ = ["format_of", "in_format_of"]


def in_format_of(result: Any, positions: Sequence[int], args: Sequence[Any]) -> Any:
    """Return the results of a call in the memory format of the arguments at some positions."""
    for position in positions:
        value = args[position]
        if value is None:
            continue
        if isinstance(value, TensorBase):  # as in `format_of`, without a call for each tensor
            handle, spec = value._handle, value._spec
            if handle.ndim < 4 or spec.layout is not strided:
                continue
            name = spec.backend.memory_format(handle)
        else:
            name = format_of(value)
        if name is not None:
            return _laid_out(result, name)
    return result


def format_of(value: Any) -> str | None:
    """Return the memory format that a tensor's strides have, or that of all tensors of a list; None if row-major."""
    if isinstance(value, TensorBase):
        handle = value._handle
        if handle.ndim < 4 or value._spec.layout is not strided:
            return None
        name: str | None = value._spec.backend.memory_format(handle)
        return name
    names = {format_of(item) for item in value}
    return names.pop() if len(names) == 1 else None


def _laid_out(result: Any, name: str) -> Any:
    if isinstance(result, TensorBase):
        rank = len(ORDERS[name])
        if result._handle.ndim != rank or result._spec.layout is not strided or format_of(result) == name:
            return result
        return ops.clone(result, memory_format=name)
    if isinstance(result, tuple):
        kept = [_laid_out(item, name) for item in result]
        if all(one is other for one, other in zip(kept, result, strict=True)):
            return result
        return type(result)(kept)
    return result
