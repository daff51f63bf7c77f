"""Memory that the target of a write shares: with itself, or with the operator's inputs.

The rules are PyTorch's.  A target in which several elements are one in memory is refused, as is an operand that
covers a part of the target's memory, or all of it in another order.  An operand in exactly the same place is fine.
Tensors with gaps are not refused; their operands are read before the write.

Note [Views that a layer does not hold]
---------------------------------------
A layer that takes up a tensor does not know the views that were made of it before: they lack its bit, and calls with
them pass it by.  Reading them does no harm.  A write through such a view changes what the layer holds, so the layer is
asked; only views are looked at, whose writes take the careful path anyway.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from tt.core.errors import InplaceError
from tt.core.tensor.backend import is_non_overlapping_and_dense
from tt.core.tensor.base import TensorBase
from tt.core.tensor.read_only import refuse_read_only
from tt.core.tensor.storage import Storage, geometry_of, memory_of
from tt.core.types.keys import KEYS

if TYPE_CHECKING:
    from tt.core.dispatch.call.cached_call import CachedCall
    from tt.core.dispatch.registry.registry import Registry

__all__ = [
    "is_overwritten",
    "note_overlap",
    "refuse_held",
    "refuse_overlap",
    "refuse_self_overlap",
    "refuse_shared",
    "shared_place",
    "shares_memory",
]

FILLS: Final = frozenset({"fill", "masked_fill", "threshold", "zero"})
"""Operators for which it does not matter how often they write to a place, nor where the one value was."""


def refuse_shared(cached: CachedCall, target: TensorBase, args: Iterable[Any]) -> None:
    """Refuse an in-place call whose target is read-only, or overlaps with itself or with an operand.

    Raises
    ------
    InplaceError
        As for an expanded tensor, or `x.add_(x.t())`.
    """
    definition = cached.operator.definition
    refuse_read_only(definition.inplace_name, target)
    refuse_held(cached.operator.registry, target)
    if definition.signature.namespace == "tt" and definition.signature.name in FILLS:
        return
    refuse_self_overlap(definition.inplace_name, target)
    for value in args:
        if isinstance(value, TensorBase) and value is not target and shares_memory(value, target):
            refuse_overlap(definition.inplace_name, target, value)


def refuse_held(registry: Registry, *targets: TensorBase) -> None:
    """Let layers refuse a write through views; see Note [Views that a layer does not hold]."""
    for target in targets:
        # Only a view that lacks bits of its root can be unknown to a layer.
        root = target._root
        if root is None or not root._keys & ~target._keys:
            continue
        for name in KEYS.names("layer", root._keys & ~target._keys):
            registry.layer(name).refuse_change(target, root)


def shares_memory(first: TensorBase, second: TensorBase) -> bool:
    """Return whether two tensors have one memory; a cheap test, true for disjoint parts of it, too."""
    left, right = first._storage, second._storage
    if left is None or right is None:
        return False
    return memory_of(left) is memory_of(right)


def refuse_self_overlap(name: str, target: TensorBase) -> None:
    """Raise if several elements of a target are one in memory."""
    # Row-major elements cannot coincide; looking at strides costs more.
    if target.layout.name != "strided" or _is_row_major(target):
        return
    if _is_repeated(target):
        raise InplaceError(
            f"{name}(): several elements of the tensor that is written to are one in memory\n"
            "  try: clone() it first"
        )


def note_overlap(tensor: TensorBase) -> None:
    """Have writes look for elements that are one in memory, of a new tensor that is not a view."""
    if tensor.layout.name == "strided" and not _is_row_major(tensor) and _is_repeated(tensor):
        storage = tensor._ensure_storage()
        if isinstance(storage, Storage):
            storage.may_overlap = True


def _is_repeated(tensor: TensorBase) -> bool:
    shape, strides, _ = _geometry(tensor)
    return 0 not in shape and any(
        size > 1 and stride == 0 for size, stride in zip(shape, strides, strict=True)
    )


def refuse_overlap(name: str, target: TensorBase, operand: TensorBase) -> None:
    """Raise if an operand lies in a part of the target's memory, or in all of it in another order."""
    if target.layout.name != "strided" or operand.layout.name != "strided":
        return
    extents = []
    for tensor in (target, operand):
        shape, strides, offset = _geometry(tensor)
        # Tensors with gaps pass, as in PyTorch: their operands are read before the write.
        if 0 in shape or not is_non_overlapping_and_dense(shape, strides):
            return
        begin = offset * tensor.dtype.itemsize
        extents.append((begin, begin + tensor.shape.numel() * tensor.dtype.itemsize, strides))
    (start, end, order), (first, last, other) = extents
    if (start, end, order) != (first, last, other) and start < last and first < end:
        raise InplaceError(
            f"{name}(): an operand covers a part of the memory that is written to, or all of it in another order\n"
            "  try: clone() the operand first"
        )


def is_overwritten(target: TensorBase, operand: TensorBase) -> bool:
    """Return whether a write to a target may change elements of an operand that are still to be read."""
    if (
        not shares_memory(target, operand)
        or target.layout.name != "strided"
        or operand.layout.name != "strided"
    ):
        return False
    geometry, other = _geometry(target), _geometry(operand)
    # In exactly the same place each element is read before it is overwritten.
    if geometry == other and target.dtype is operand.dtype:
        return False
    (start, end), (first, last) = _span(geometry, target), _span(other, operand)
    return start < last and first < end


def _span(geometry: tuple[tuple[int, ...], tuple[int, ...], int], tensor: TensorBase) -> tuple[int, int]:
    """Return the first byte of a tensor in its memory, and the one behind its last."""
    shape, strides, offset = geometry
    if 0 in shape:
        return 0, 0
    # NumPy's strides may be negative, so that memory reaches to both sides of the offset.
    steps = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
    size = tensor.dtype.itemsize
    below, above = sum(n for n in steps if n < 0), sum(n for n in steps if n > 0)
    return (offset + below) * size, (offset + above + 1) * size


def shared_place(name: str, targets: Sequence[TensorBase]) -> bool:
    """Return whether two targets in one memory begin in one place; raise if one covers a part of another."""
    spans = []
    for target in targets:
        if target.layout.name != "strided":
            continue
        size = target.dtype.itemsize
        # A row-major tensor needs no strides: they cost a call of the backend each.
        if _is_row_major(target):
            shape, dense = target._handle.shape, True
            begin = target._spec.backend.offset(target._handle) * size
        else:
            shape, strides, offset = _geometry(target)
            dense = is_non_overlapping_and_dense(shape, strides)
            begin = offset * size
        if 0 not in shape:
            spans.append((begin, begin + math.prod(shape) * size, dense, target))
    spans.sort(key=lambda span: span[0])
    if any(one[0] == other[0] for one, other in pairwise(spans)):
        return True
    # Of spans that overlap, two are neighbours.
    for one, other in pairwise([span for span in spans if span[2]]):
        if other[0] < one[1]:
            refuse_overlap(name, other[3], one[3])
    return False


def _is_row_major(tensor: TensorBase) -> bool:
    """Return whether the elements lie in row-major order, by a cheap test; False if that does not decide it."""
    if geometry_of(tensor._storage) is not None:
        return False
    return bool(tensor._spec.backend.is_row_major(tensor._handle))


def _geometry(tensor: TensorBase) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return shape, strides and offset of a tensor in its memory."""
    known = geometry_of(tensor._storage)
    if known is not None:
        return tuple(known.shape), tuple(known.strides), known.offset
    backend, handle = tensor._spec.backend, tensor._handle
    return tuple(handle.shape), tuple(backend.strides(handle)), backend.offset(handle)
