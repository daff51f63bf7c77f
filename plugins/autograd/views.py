"""Views of one memory: whose history they share, and how it is told anew after a change in place."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

from tt.core.library import Tensor, TensorBase, errors, ops
from tt.plugins.autograd.graph import STATE, AccumulateGrad, Node, Record, View
from tt.plugins.autograd.modes import recording
from tt.plugins.autograd.ownership import ALONE, references
from tt.plugins.autograd.saved import version_of

__all__ = ["edge", "ensure_view", "refresh", "renew", "replay", "share_history", "steps_to"]


def refresh(tensor: TensorBase, record: Record) -> None:
    """Tell the history of a view anew if the memory was changed in place since."""
    view = record.view
    if view is None:
        return
    version = version_of(tensor)
    if view.version == version:
        return
    if isinstance(view.operator, Node):
        raise errors.InplaceError(
            f"the memory of a result of {view.operator.name()}, which is a view made inside of a Function, was changed "
            "in place: how the function made the view is not known; let it return a clone()"
        )
    view.version = version
    root = view.root
    if not root.keys & STATE.bit or record.leaf:
        return
    with recording(True):
        again = replay(root, steps_to(view))
    record.node, record.number = again.record.node, again.record.number


def renew(tensor: TensorBase, record: Record) -> None:
    """Give a leaf whose data was replaced by data of another shape, dtype or device a new end of its paths."""
    new = AccumulateGrad(tensor)
    new.gradient, new.extras = record.node.gradient, record.node.extras
    record.node = new


def edge(tensor: TensorBase) -> tuple[Node, int]:
    """Return the place in the graph of a tensor that requires a gradient."""
    record = tensor.record
    refresh(tensor, record)
    if record.leaf and (
        record.node.spec is not tensor.spec or record.node.shape != tuple(tensor.handle.shape)
    ):
        renew(tensor, record)
    return record.node, record.number


def steps_to(view: View) -> list[View]:
    """Return the views that lead from the root to a view, in the order in which they were made."""
    steps = [view]
    while steps[-1].operator is not None:
        source = steps[-1].args[0]
        if source is view.root or source.record is None or source.record.view is None:
            break
        steps.append(source.record.view)
    return steps[::-1]


def replay(root: Any, steps: Sequence[View]) -> Any:
    for step in steps:
        if step.operator is None:
            root = _look(root, *step.args)
        else:
            found = step.operator.caller().execute((root, *step.args[1:]))
            root = found if step.index < 0 else found[step.index]
    return root


def _look(root: Any, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Any:
    """View a tensor with a geometry whose offset counts from the tensor's own."""
    return ops.as_strided(root, size, stride, root.storage_offset() + offset)


def ensure_view(target: Any, root: Any) -> None:
    """Note how a tensor views its root, if it was made before the root had a history."""
    record = target.record
    if record is None or (record.leaf and not target.keys & STATE.bit):
        record = Record(None, 0, False)
        target.record = record
    if record.view is None:
        geometry = (
            tuple(target.shape),
            tuple(target.stride()),
            target.storage_offset() - root.storage_offset(),
        )
        record.view = View(root, None, geometry, -1, -1 if record.node is None else version_of(target))
    if not target.keys & STATE.bit and root.keys & STATE.bit:
        record.view.version = -1
        refresh(target, record)
        target.keys |= STATE.bit


def share_history(root: Any, known: int) -> None:
    """Let the views of a tensor that just got its first history take part in it.

    Views of a tensor without a gradient are unknown to autograd, so those that are alive must be looked for.  This
    happens once for each such tensor, and only if more than `known` other tensors share its memory.
    """
    if root.storage is None or references([root.storage]) <= ALONE + 1 + known:
        return
    for other in gc.get_referrers(root):
        plain = isinstance(other, Tensor) and other.base is root and not other.keys & STATE.bit
        if plain and STATE.floating >> other.spec.code & 1:
            ensure_view(other, root)
