"""Views of the same memory: the history that they share, and how it is rebuilt after an in-place change.

Note [Views without history]
----------------------------
A view made under `no_grad` of a tensor with a gradient requires a gradient like its base, and is a leaf.  Whether a
later change of it should be recorded is undefined, so the change is refused, and so is any use of such a view once its
memory has changed.  Under `no_grad` both work as if there were no history.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

from tt.core.library import REGISTRY, Tensor, TensorBase, errors, ops
from tt.plugins.autograd.record.graph import STATE, AccumulateGrad, AutogradMeta, Node, ViewMeta
from tt.plugins.autograd.record.modes import recording
from tt.plugins.autograd.record.refcount import ALONE, references
from tt.plugins.autograd.record.saved import version_of

__all__ = [
    "NO_GRAD",
    "Unrecorded",
    "edge",
    "ensure_view",
    "explain",
    "geometry",
    "hold_geometry",
    "hold_own_geometry",
    "hold_unrecorded",
    "is_unknown_view",
    "look",
    "maker",
    "refresh",
    "renew",
    "replay",
    "root_of",
    "share_history",
    "steps_to",
    "unrecorded",
]


class Unrecorded:
    """Represents the operator of a view made while recording is off.

    Attributes
    ----------
    mode : str
        What switched recording off.
    """

    __slots__ = ("mode",)

    def __init__(self, mode: str) -> None:
        self.mode = mode


NO_GRAD, INFERENCE = Unrecorded("no_grad"), Unrecorded("inference_mode")
OTHER_LAYOUT = Unrecorded("")
"""A view of a tensor of another layout that had no history then: no geometry says how it looks at the memory."""


def unrecorded(entry: Any, args: tuple[Any, ...]) -> Any:
    """Make a view while recording is off; see Note [Views without history]."""
    result = entry.call_below(args)
    source = args[0]
    # Tensors of inference mode never get a history, so a view of one has none to lose.
    if source._keys & STATE.bit and not source._keys & STATE.inference_bit:
        from tt.plugins.autograd.record.inference import is_inference_mode_enabled

        operator = INFERENCE if is_inference_mode_enabled() else NO_GRAD
        root = source if source._root is None else source._root
        for view in (result,) if isinstance(result, TensorBase) else result:
            hold_unrecorded(view, root, operator, (source,))
    return result


def hold_unrecorded(view: Any, root: Tensor, operator: Unrecorded, args: tuple[Any, ...] = ()) -> None:
    """Note that a tensor views one with a history, and that this was not recorded."""
    view._root = root
    view._record = AutogradMeta(None, 0, False)
    view._record.view = ViewMeta(root, operator, args or (root,), -1, version_of(view))
    view._keys |= STATE.bit


def explain(step: ViewMeta, name: str, changed: str) -> str | None:
    """Return the reason why the memory of a view must not change, or None if it may.

    Parameters
    ----------
    step : ViewMeta
        How the view was made.
    name : str
        Of the operation that made it.
    changed : str
        A description of the change.
    """
    if isinstance(step.operator, Node):
        return (
            f"{changed}: it is a result of {step.operator.name()}, which is a view made inside a Function, and how "
            "the function made the view is not known; let it return a clone()"
        )
    if step.operator is OTHER_LAYOUT:
        return (
            f"{changed}: it views a tensor of another layout, and was made before that had a history\n"
            "  try: make the view anew, or clone() it"
        )
    if isinstance(step.operator, Unrecorded):
        return (
            f"{changed}: it was made under {step.operator.mode}, so it is undefined whether the change is "
            f"recorded\n  try: make the view and change it both under {step.operator.mode}, or both outside; detach() "
            "gives a view without a history"
        )
    if step.index >= 0:
        return (
            f"{changed}: output {step.index} of {name} is one of several views that came from one call, so its effect "
            "on the others is undefined: use the operation that returns a new tensor"
        )
    return None


def refresh(tensor: TensorBase, record: AutogradMeta) -> None:
    """Rebuild the history of a view if the memory was changed in place since."""
    view = record.view
    if view is None:
        return
    # Made when needed: few views that were made under `no_grad` are differentiated.
    if record.node is None and isinstance(view.operator, Unrecorded):
        record.node, record.leaf = AccumulateGrad(tensor), True
    version = version_of(tensor)
    if view.version == version:
        return
    root = view.root
    if view.operator is not None and STATE.enabled():
        for step in steps_to(view):
            why = explain(step, maker(step), "the memory of a view was changed in place")
            if why is not None:
                raise errors.InplaceError(why)
    view.version = version
    # No history to take part in: the change was not recorded, or the view is a leaf.
    if not root._keys & STATE.bit or record.leaf:
        return
    # The history belongs to the tensor, not to the block that happens to look at it first.
    with recording(True):
        again = replay(root, steps_to(view))
    _replace_node(record, again._record.node, again._record.number)


def _replace_node(record: AutogradMeta, node: Node, number: int) -> None:
    """Give a view another node; the gradient that `retain_grad` keeps is that of the values as they are now."""
    old, before = record.node, record.number
    record.node, record.number = node, number
    if record.retained is not None and node is not old:
        if old is not None and old.extras is not None:
            old.extras.retained.pop(before, None)
        node.ensure_extras().retained[number] = record.retained


def maker(step: ViewMeta) -> str:
    """Return the name of the node that a view has, for messages."""
    from tt.plugins.autograd.record.rules import node_name

    return (
        ""
        if step.operator is None or isinstance(step.operator, Node)
        else node_name(getattr(step.operator, "name", ""))
    )


def renew(tensor: TensorBase, record: AutogradMeta) -> None:
    """Give a leaf whose data was replaced by data of another shape, dtype or device a new end of its paths."""
    new = AccumulateGrad(tensor)
    # `.grad` and hooks belong to the leaf, not to the data that it had.
    new.gradient, new.extras = record.node.gradient, record.node.extras
    record.node = new


def edge(tensor: TensorBase) -> tuple[Node, int]:
    """Return the place in the graph of a tensor that requires a gradient."""
    record = tensor._record
    refresh(tensor, record)
    if record.leaf and (
        record.node.spec is not tensor._spec or record.node.shape != tuple(tensor._handle.shape)
    ):
        renew(tensor, record)
    return record.node, record.number


def steps_to(view: ViewMeta) -> list[ViewMeta]:
    """Return the views that lead from the root to a view, in the order in which they were made."""
    steps = [view]
    while steps[-1].operator is not None and not isinstance(steps[-1].operator, Node):
        source = steps[-1].args[0]
        if source is view.root or source._record is None or source._record.view is None:
            break
        steps.append(source._record.view)
    return steps[::-1]


def replay(root: Tensor, steps: Sequence[ViewMeta]) -> Any:
    for step in steps:
        if step.operator is None:
            root = look(root, *step.args)
        else:
            # args[0] may have a history by now that is no longer that of the memory: the root takes its
            # place.
            result = step.operator.overload().execute((root, *step.args[1:]))
            root = result if step.index < 0 else result[step.index]
    return root


def look(
    root: Tensor, size: tuple[int, ...], stride: tuple[int, ...], offset: int, form: str = "same"
) -> Any:
    """View a tensor with a geometry of `geometry()`, whose offset counts from the tensor's own."""
    if form == "real":
        root = ops.view_as_real(root)
    if form != "complex":
        return ops.as_strided(root, size, stride, root.storage_offset() + offset)
    pairs = ops.as_strided(
        root, (*size, 2), (*(2 * step for step in stride), 1), root.storage_offset() + offset
    )
    return ops.view_as_complex(pairs)


def root_of(target: Tensor) -> Tensor:
    """Return the tensor whose history a change of a tensor belongs to; the tensor itself if it views only bits."""
    root = target._root
    return target if root is None or (root._spec is not target._spec and not _form(target, root)) else root


def _form(target: Tensor, root: Tensor) -> str:
    """Return how numbers of a tensor are those of its root: as its real parts, as pairs, or "" if only bits are."""
    mine, its = target._spec.dtype, root._spec.dtype
    if mine is its:
        return "same"
    if its.is_complex and mine is its.to_real():
        return "real"
    return "complex" if mine.is_complex and its is mine.to_real() else ""


def ensure_view(target: Tensor, root: Tensor) -> None:
    """Note how a tensor views its root, if it was made before the root had a history."""
    if is_unknown_view(target, root):
        hold_unrecorded(target, root, OTHER_LAYOUT)
        # No version is -1: the next use of the view looks at it anew.
        target._record.view.version = -1
        return
    record = target._record
    if record is None or (record.leaf and not target._keys & STATE.bit):
        record = AutogradMeta(None, 0, False)
        target._record = record
    if record.view is None:
        version = -1 if record.node is None else version_of(target)
        step = _step_between(target, root)
        record.view = (
            ViewMeta(root, None, geometry(target, root), -1, version)
            if step is None
            else ViewMeta(root, REGISTRY.operator(step[0]), (root, *step[1:]), -1, version)
        )
    if not target._keys & STATE.bit and root._keys & STATE.bit:
        record.view.version = -1
        refresh(target, record)
        target._keys |= STATE.bit


def is_unknown_view(target: Tensor, root: Tensor) -> bool:
    """Return whether it is unknown how a tensor views its root, as that has another layout."""
    if target._spec.layout is root._spec.layout:
        return False
    return (target._record is None or target._record.view is None) and _step_between(target, root) is None


def _step_between(target: Tensor, root: Tensor) -> tuple[Any, ...] | None:
    """Return how a tensor views a root of another layout: an operator's name, and its arguments after the root."""
    if target._spec.layout is root._spec.layout:
        return None
    other = root if target._spec.layout.name == "strided" else target
    return other._spec.backend.view_step(target, root)


def hold_geometry(target: Tensor) -> None:
    """Let the other views of a memory hold their geometry, before a tensor looks at it in another way.

    The calls that made them would mean other places of a tensor that is transposed in place.
    """
    # The list here and the target hold the storage; with no other holder the search below is spared.
    if target._storage is None or references([target._storage]) <= ALONE + 1:
        return
    root = target if target._root is None else target._root
    # Views are not listed anywhere, which would cost each of them; this walks all objects of the process.
    for other in gc.get_referrers(root):
        record = other._record if isinstance(other, Tensor) and other is not target else None
        view = None if record is None else record.view
        if record is None or view is None or view.root is not root or view.operator is None:
            continue
        # Some of the steps may hold their geometry already: views are found in any order.
        steps = steps_to(view)
        if not any(isinstance(step.operator, Node | Unrecorded) for step in steps) and _form(other, root):
            index = max(step.index for step in steps)
            record.view = ViewMeta(root, None, geometry(other, root), index, view.version)


def hold_own_geometry(target: Tensor) -> None:
    """Note how a view looks at its memory now that it was itself turned in place."""
    root = root_of(target)
    if root is not target and root._keys & STATE.bit:
        target._record.view = ViewMeta(root, None, geometry(target, root), -1, version_of(target))


def geometry(target: Tensor, root: Tensor) -> tuple[Any, ...]:
    """Return sizes, strides, how far behind the start of the root a tensor starts, and its form.

    If only one of the two is complex, the distance is in real numbers.
    """
    form = _form(target, root)
    start, first = target.storage_offset(), root.storage_offset()
    if form == "real":
        first *= 2
    elif form == "complex":
        start *= 2
    return tuple(target.shape), tuple(target.stride()), start - first, form


def share_history(root: Tensor, known: int) -> None:
    """Let the views of a tensor that just got its first history take part in it, except those that view only bits.

    Views of a tensor without a gradient are unknown to autograd, so it searches for the live ones.  This
    happens once for each such tensor, and only if more than `known` other tensors share its memory.
    """
    if root._storage is None or references([root._storage]) <= ALONE + 1 + known:
        return
    for other in gc.get_referrers(root):
        if not isinstance(other, Tensor) or other._root is not root:
            continue
        if other._keys & STATE.bit and other._record.leaf and other._record.view is None:
            other._keys &= ~STATE.bit  # a leaf no longer: its values have the history of the memory
            other._record = None
        if not other._keys & STATE.bit and STATE.floating >> other._spec.code & 1 and root_of(other) is root:
            ensure_view(other, root)
