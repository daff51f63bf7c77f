"""Changes in place of tensors with tangents, and of tensors that get one by being written to.

Note [Tangents of memory]
-------------------------
A write changes memory, so that its tangent must change for all tensors that look at this memory.  The tangent of a view
is therefore a view of the tangent of its root, and a write goes into both.  A result that has memory of its own has its
tangent there, too: what a formula passes on is the tangent of the argument, and is copied.  Four kinds of targets have
no tangent that could be written to:

- tensors made inside of the function (`zeros(3)`), which get their first tangent by the write;
- tensors whose tangent is the same for all examples of a level, while that of the written values differs by example;
- arguments of `jvp`, whose tangents are the caller's tensors, perhaps one for several arguments;
- results of formulas that expand a number: elements of the tangent are one in memory.

All get a new tangent: zeros, or a copy of the old one, with all levels of the value and of what is written.  The other
views of the memory are searched for, as autograd does for the first history (`share_history`).  A tensor from outside
of a `dual_level` block loses the tangent again when its level ends; transforms refuse to write into what they captured.

`vmap` refuses to write what differs by example into a tensor that does not.  But a function under `jacfwd` does not
know that it is mapped over directions, and a reverse derivative in it gives its variables the dim of the directions
(`unwrap.variable`): there a tensor gets memory for each example in the same way (`spread`).
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from typing import Any

from tt.core.library import Operator, Tensor, TensorBase, alias, errors, ops
from tt.plugins.autograd.record.graph import STATE, ViewMeta
from tt.plugins.autograd.record.modes import recording
from tt.plugins.autograd.record.views import geometry, look, root_of
from tt.plugins.autograd.transforms.captured import refuse_captured_at
from tt.plugins.autograd.transforms.levels import (
    BIT,
    Batched,
    Dual,
    DualLevel,
    Level,
    batched,
    dual,
    primal_and_tangent,
)

__all__ = [
    "align_tangent",
    "interleaved",
    "is_recorded_below",
    "levels_of",
    "memories",
    "note_views",
    "reach",
    "restore",
    "spread",
    "with_kept_target",
    "with_own_memory",
    "write_tangent",
]


def note_views(source: Any, results: Any) -> None:
    """Note that wrapped tensors look at the memory of another."""
    root = source if source._root is None else source._root
    root._ensure_storage()  # marks it as viewed
    for view in (results,) if isinstance(results, TensorBase) else results:
        if view is not source and view._keys & BIT and view._root is None:
            view._root = root


def is_recorded_below(value: Any) -> bool:
    """Return whether a tensor below the wrappers of a value, or of the values in a list, requires a gradient."""
    if isinstance(value, list | tuple):
        return any(map(is_recorded_below, value))
    if not isinstance(value, TensorBase):
        return False
    if not value._keys & BIT:
        return bool(value._keys & STATE.bit)
    handle = value._handle
    if isinstance(handle, Batched):
        return is_recorded_below(handle.value)
    return is_recorded_below(handle.value) or is_recorded_below(handle.tangent)


def with_kept_target(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments with the first one, which is about to be changed, replaced by a copy."""
    if not isinstance(args[0], TensorBase):
        return args
    copy = ops.clone(args[0])
    return tuple(copy if value is args[0] else value for value in args)


def memories(value: Any) -> set[int]:
    """Return what identifies the memory of a tensor, or of those in a list: of its values and of all its tangents."""
    if isinstance(value, list | tuple):
        return {key for item in value for key in memories(item)}
    if not isinstance(value, TensorBase):
        return set()
    if not value._keys & BIT:
        # Without a storage object nothing else looks at the tensor's memory.
        return {id(value) if value._storage is None else id(value._storage)}
    handle = value._handle
    if isinstance(handle, Batched):
        return memories(handle.value)
    return memories(handle.value) | memories(handle.tangent)


def with_own_memory(
    found: Sequence[Any], results: Sequence[Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> list[Any]:
    """Return the tangents of results, copied where a formula has passed on memory that the result does not share."""
    of_arguments = memories(primals)
    taken = of_arguments | memories(tangents)
    own = []
    for tangent, value in zip(found, results, strict=True):
        memory = memories(tangent)
        if not memory.isdisjoint(taken) and memories(value).isdisjoint(of_arguments):
            tangent = ops.clone(tangent)
        own.append(tangent)
        taken |= memory
    return own


# --- tangents that can be written to ---------------------------------------------------------------------------


def levels_of(value: Any) -> set[Level]:
    """Return the levels that have wrapped a tensor or a part of it, or one of those in a list."""
    levels: set[Level] = set()
    if isinstance(value, list | tuple):
        return levels.union(*map(levels_of, value))
    if isinstance(value, TensorBase) and value._keys & BIT:
        handle = value._handle
        levels = levels_of(handle.value) | {handle.level}
        if isinstance(handle, Dual):
            levels |= levels_of(handle.tangent)
    return levels


def write_tangent(level: DualLevel, target: Tensor, tangent: Tensor, operator: Operator) -> None:
    """Write the tangent of new values into that of a tensor, which gets one if it has none.

    Raises
    ------
    InplaceError
        When a tensor without a tangent that shares the memory is a leaf that requires a gradient.
    """
    value, current = primal_and_tangent(target, level)
    if (
        current is None
        or not levels_of(tangent) <= levels_of(current)
        or _is_given(level, current)
        or _coincides(current)
    ):
        _widen(level, target, levels_of(value) | levels_of(tangent) | levels_of(current), operator)
        current = target._handle.tangent
    elif target._root is None and target._storage is None:
        # Nothing looks at this memory, and a reverse derivative may need the old tangent although no operator needs the
        # old value.
        target._handle.tangent = ops.copy(current, tangent)
        return
    current.copy_(tangent)


def _is_given(level: DualLevel, tangent: Tensor) -> bool:
    """Return whether a tangent is in memory of the caller's, which may be that of several arguments."""
    return bool(level.given) and not memories(tangent).isdisjoint(memories(level.given))


def _coincides(tangent: Tensor) -> bool:
    """Return whether elements of a tangent, or examples of it, are one in memory."""
    while tangent._keys & BIT:
        tangent = tangent._handle.value
    if tangent.layout.name != "strided":
        return False
    return any(not step and size > 1 for size, step in zip(tangent.shape, tangent.stride(), strict=True))


def align_tangent(level: DualLevel, tensor: Any, operator: Operator, places: tuple[Any, ...] = ()) -> None:
    """Let the tangent of a tensor, and of all that look at its memory, lie in memory as the tensor does.

    Parameters
    ----------
    level : DualLevel
        Whose tangent it is.
    tensor : Tensor
        What an operator looks at.
    operator : Operator
        For messages.
    places : tuple
        Sizes, strides and an offset, if the operator looks at these places of memory, whatever the shape is.
    """
    value, tangent = primal_and_tangent(tensor, level)
    if tangent is None or value.layout.name != "strided":
        return
    # The stride of a dim of size 1 is never used, and may be anything.
    steps = [s for s in zip(value.shape, value.stride(), tangent.stride(), strict=True) if s[0] > 1]
    # Elements that coincide in memory have no tangents of their own there.
    unlike = all(step for _, step, _ in steps) and any(step != other for _, step, other in steps)
    if operator.name == "view_as_complex":  # pairs of numbers begin at even places
        unlike = unlike or tangent.storage_offset() % 2 != value.storage_offset() % 2
    around = (0, 0)
    if places:
        size, stride, offset = places
        root = tensor if tensor._root is None else tensor._root
        first, end = root.storage_offset(), root.storage_offset() + reach(root.shape, root.stride())
        start = value.storage_offset() if offset is None else offset
        last = start + reach(size, stride)
        elsewhere = offset is not None and value.storage_offset() != tangent.storage_offset()
        unlike = unlike or elsewhere or start < first or last > end or interleaved(tangent)
        around = (first, max(last - end, 0))
    if unlike:
        _widen(level, tensor, levels_of(value) | levels_of(tangent), operator, around)


def reach(shape: Sequence[int], stride: Sequence[int]) -> int:
    """Return how far the last element of a tensor is from the first."""
    return sum((length - 1) * step for length, step in zip(shape, stride, strict=True))


def interleaved(value: Any) -> bool:
    """Return whether examples of a mapped tensor lie between each other in memory."""
    while value._keys & BIT:
        handle = value._handle
        if isinstance(handle, Batched):
            shape, stride = list(handle.value.shape), list(handle.value.stride())
            count, apart = shape.pop(handle.dim), stride.pop(handle.dim)
            if count > 1 and value.shape.numel() and apart <= reach(shape, stride):
                return True
        value = handle.value
    return False


def _widen(
    level: DualLevel,
    target: Tensor,
    wrappers: set[Level],
    operator: Operator,
    around: tuple[int, int] = (0, 0),
) -> None:
    """Give all tensors that look at the memory of a tensor a new tangent, wrapped at the given levels.

    It has room for elements before and after those of the tensor.
    """
    root = target if target._root is None else target._root
    views, shapes = _views(root, operator)
    whole = _memory(root, wrappers, around)
    current = [primal_and_tangent(tensor, level)[1] for tensor in (root, *views)]
    parts = [whole, *(look(whole, *shape) for shape in shapes)]
    # Where there is room around the root, its views may hold elements that the root does not cover.
    for part, old in zip(parts, current, strict=True) if any(around) else [(whole, current[0])]:
        if old is not None:
            part.copy_(old)
    bare = _with_tangent(root, whole, level)
    for view, part, shape in zip(views, parts[1:], shapes, strict=True):
        _with_tangent(view, part, level, bare, shape)


def spread(level: Level, target: Tensor, operator: Operator) -> None:
    """Give a tensor that is the same for all examples of a level, and all its views, memory for each example.

    Raises
    ------
    InplaceError
        When one of the tensors is a leaf that requires a gradient.
    """
    root = target if target._root is None else target._root
    refuse_captured_at(level, root)
    views, shapes = _views(root, operator)
    whole = _memory(root, levels_of(root) | {level})
    whole.copy_(root)
    # What was saved of the memory for a backward pass is another tensor from now on: the pass must refuse it.
    root._ensure_storage().version += 1
    parts = [whole, *(look(whole, *shape) for shape in shapes)]
    for tensor, part in zip([root, *views], parts, strict=True):
        _become(tensor, part, level, _as_it_is(tensor))


def _memory(root: Tensor, wrappers: set[Level], around: tuple[int, int] = (0, 0)) -> Any:
    """Return zeros in the geometry of a tensor, with memory of their own, wrapped at levels."""
    before, after = around
    extent = 1 + reach(root.shape, root.stride())
    ordered = sorted(wrappers, key=lambda wrapper: wrapper.depth)
    memory = _zeros((before + extent + after if root.shape.numel() else 0,), ordered, root)
    return ops.as_strided(memory, tuple(root.shape), tuple(root.stride()), before)


def _zeros(size: tuple[int, ...], wrappers: Sequence[Level], like: Tensor) -> Any:
    """Return zeros that are wrapped at levels, of which the last one is the innermost."""
    if not wrappers:
        return ops.zeros(size, dtype=like.dtype, device=like.device)
    *outer, inner = wrappers
    if isinstance(inner, DualLevel):
        return dual(_zeros(size, outer, like), _zeros(size, outer, like), inner)
    return batched(_zeros((inner.size, *size), outer, like), 0, inner)


def _views(root: Tensor, operator: Operator) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """Return the live views of a tensor, whose numbers are also its own, and how they look at its memory."""
    views: list[Any] = []
    if root._storage is not None:  # otherwise it was never viewed
        views = [
            other
            # Views are listed nowhere: the list would cost each view, and this is seldom needed.
            for other in gc.get_referrers(root)
            if isinstance(other, Tensor) and other._root is root and root_of(other) is root
        ]
    for tensor in (root, *views):
        if not tensor._keys & BIT and tensor._keys & STATE.bit and tensor._record.leaf:
            raise errors.InplaceError(
                f"{operator.definition.inplace_name}() writes what only a transform knows into a leaf that requires a "
                "gradient: use the operation that returns a new tensor"
            )
    return views, [geometry(view, root) for view in views]


def _with_tangent(
    tensor: Tensor, tangent: Tensor, level: DualLevel, root: Any = None, shape: tuple[Any, ...] | None = None
) -> Any:
    """Let a tensor have a tangent, and return its value."""
    if tensor._keys & BIT and tensor._handle.level is level:
        tensor._handle.tangent = tangent
        return tensor._handle.value
    value = _as_it_is(tensor, root)
    view = _view(tensor)
    if view is not None and shape is not None:
        tensor._record.view = ViewMeta(root, None, shape, view.index, view.version)
    _become(tensor, dual(value, tangent, level), level, value)
    return value


def _view(tensor: Tensor) -> ViewMeta | None:
    """Return how autograd knows a tensor as a view, if it does."""
    return None if tensor._keys & BIT or tensor._record is None else tensor._record.view


# --- what a tensor is while a level runs -----------------------------------------------------------------------


def _as_it_is(tensor: Any, root: Any = None) -> Any:
    """Return another tensor that is what a tensor is now, with the same history."""
    now = alias(tensor)
    now._record, now._root = tensor._record, root
    return now


def _become(tensor: Tensor, wrapped: Any, level: Level, before: Any) -> None:
    """Let a tensor be wrapped at a level until that ends."""
    # Weak: the level must not keep alive what the function has dropped.
    level.written.append((weakref.ref(tensor), before, tensor._keys))
    tensor._keys, tensor._spec, tensor._handle = wrapped._keys, wrapped._spec, wrapped._handle
    tensor._record = level


def restore(level: Level) -> None:
    """Let tensors that a write has wrapped be again what they were; one of all examples counts: they do not differ."""
    roots: dict[int, Any] = {}
    while level.written:
        reference, before, keys = level.written[0]  # until it is done: an interrupt may begin again
        tensor = reference()
        if tensor is None or not tensor._keys & BIT or tensor._handle.level is not level:
            del level.written[0]
            continue
        inside = tensor._handle
        roots[id(before)] = tensor
        tensor._keys, tensor._spec, tensor._handle = before._keys | keys, before._spec, before._handle
        tensor._record = before._record
        view = _view(tensor)
        # While the level ran, views pointed to what stood in for their roots.
        if view is not None:
            view.root = roots.get(id(view.root), view.root)
        if isinstance(inside, Batched) and level.size:
            # Undoing the wrapping is no operation of the program.
            with recording(False):
                tensor.copy_(ops.detach(ops.select(inside.value, inside.dim, 0)))
        del level.written[0]
