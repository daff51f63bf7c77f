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

This is a hot module: plain Python that Cython compiles with the C types of `memory_formats.pxd`.
"""

from __future__ import annotations

from typing import Any

from tt.core.dispatch.registry.registry import ops
from tt.core.tensor.base import TensorBase
from tt.core.types.memory_format import ORDERS

__all__ = ["format_of", "in_format_of"]


def in_format_of(result: Any, positions: tuple[int, ...], args: tuple[Any, ...]) -> Any:
    """Return the results of a call in the memory format of the arguments at some positions."""
    for position in positions:
        value = args[position]
        if value is not None:
            name = format_of(value)
            if name is not None:
                return _laid_out(result, name)
    return result


def format_of(value: Any) -> str | None:
    """Return the memory format that a tensor's strides have, or that of all tensors of a list; None if row-major."""
    if isinstance(value, TensorBase):
        tensor = value
        spec = tensor._spec
        return None if spec.memory_format is None else spec.memory_format(tensor._handle)
    common = None
    for item in value:
        name = format_of(item)
        if name is None or (common is not None and name != common):
            return None
        common = name
    return common


def _laid_out(result: Any, name: str) -> Any:
    if isinstance(result, TensorBase):
        rank = len(ORDERS[name])
        if result._handle.ndim != rank or result._spec.memory_format is None or format_of(result) == name:
            return result
        return ops.clone(result, memory_format=name)
    if isinstance(result, tuple):
        kept = [_laid_out(item, name) for item in result]
        if all(one is other for one, other in zip(kept, result, strict=True)):
            return result
        return type(result)(kept)
    return result
