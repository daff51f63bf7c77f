"""In-place changes, views of one memory, and what nodes save: the parts of a rule that few calls need."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tt.core.library import Tensor, TensorBase, alias, errors, ops
from tt.plugins.autograd.graph import STATE, Node, Record, View, attach, start

if TYPE_CHECKING:
    from tt.plugins.autograd.rules import OpNode, Plan

__all__ = ["CopySlices", "check_inplace", "edge", "linked", "rebase", "rebase_view", "refresh"]


def node_name(op: str) -> str:
    """Return what a node of an operator is called: "log_softmax" gives LogSoftmaxBackward0."""
    base = op.rsplit("::", 1)[-1].split(".")[0]
    return "".join(word[:1].upper() + word[1:] for word in base.split("_")) + "Backward0"


# --- recording on and off --------------------------------------------------------------------------------------


class recording:  # noqa: N801 - reads as a statement: with recording(False)
    """Switches recording on or off in this thread for a `with` block."""

    __slots__ = ("_before", "_enabled")

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled

    def __enter__(self) -> None:
        self._before = STATE.enable(self._enabled)

    def __exit__(self, *exception: object) -> None:
        STATE.enable(self._before)


# --- saved tensors ---------------------------------------------------------------------------------------------


def raise_released() -> NoReturn:
    """Refuse to use what a backward pass has freed."""
    raise errors.GradientError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
        "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
        "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
        "saved tensors after calling backward."
    )


def version_of(value: Any) -> int:
    """Return the version of a tensor, or the sum of the versions of the tensors in a list."""
    if isinstance(value, TensorBase):
        return 0 if value.storage is None else int(value.storage.version)
    return sum(version_of(item) for item in value) if isinstance(value, list | tuple) else 0


def versions(plan: Plan, saved: Sequence[Any]) -> tuple[int, ...]:
    """Return the version of what fills each slot; zero where it is no tensor."""
    return tuple(
        version_of(value) if kind in (1, 2, 3) else 0
        for (kind, _, _), value in zip(plan.slots, saved, strict=True)
    )


def raise_changed(node: str, value: Any, expected: int) -> NoReturn:
    """Refuse to use a saved tensor that was changed in place."""
    tensor = value if isinstance(value, TensorBase) else next(t for t in value if isinstance(t, TensorBase))
    raise errors.SavedTensorError(node, tuple(tensor.shape), tensor.dtype.name, expected, version_of(value))


def linked(node: OpNode, tensor: TensorBase, kind: int, position: int) -> TensorBase:
    """Return a saved tensor with its place in the graph, for a backward pass that is recorded itself."""
    if kind == 3:
        return with_edge(tensor, node, position) if STATE.floating >> tensor.spec.code & 1 else tensor
    places = node.rule.differentiable
    if position not in places:
        return tensor
    place = places.index(position)
    if node.starts is not None:
        place = node.starts[place]
    return with_edge(tensor, node.next_nodes[place], node.next_numbers[place])


def linked_list(node: OpNode, tensors: Sequence[Any], position: int) -> list[Any]:
    """Return a saved list of tensors with their places in the graph."""
    places = node.rule.differentiable
    if position not in places or node.starts is None:
        return list(tensors)
    begin = node.starts[places.index(position)]
    return [
        with_edge(t, node.next_nodes[begin + i], node.next_numbers[begin + i])
        if isinstance(t, TensorBase)
        else t
        for i, t in enumerate(tensors)
    ]


def with_edge(tensor: TensorBase, node: Node | None, number: int) -> TensorBase:
    """Return a tensor as a result of a node, whatever else it knows of its history."""
    record = tensor.record
    if node is None or (tensor.keys & STATE.bit and record.node is node and record.number == number):
        return tensor
    if tensor.keys & STATE.bit and record.node is not None and record.node.sequence > node.sequence:
        # A clone made by an in-place rule: it has a history of its own that leads to the same place.
        return tensor
    fresh = alias(tensor, STATE.bit)
    attach(fresh, node, number)
    return fresh


# --- views -----------------------------------------------------------------------------------------------------


def refresh(tensor: TensorBase, record: Record) -> None:
    """Tell the history of a view anew if the memory was changed in place since."""
    view = record.view
    if view is None:
        return
    version = version_of(tensor)
    if view.version == version:
        return
    view.version = version
    root = view.root
    if not root.keys & STATE.bit or record.leaf:
        return
    with recording(True):
        again = _replay(root, _steps(view))
    record.node, record.number = again.record.node, again.record.number


def edge(tensor: TensorBase) -> tuple[Node, int]:
    """Return the place in the graph of a tensor that requires a gradient."""
    record = tensor.record
    refresh(tensor, record)
    return record.node, record.number


def _steps(view: View) -> list[View]:
    """Return the views that lead from the root to a view, in the order in which they were made."""
    steps = [view]
    while steps[-1].operator is not None:
        source = steps[-1].args[0]
        if source is view.root or source.record is None or source.record.view is None:
            break
        steps.append(source.record.view)
    return steps[::-1]


def _replay(root: Any, steps: Sequence[View]) -> Any:
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


def share_history(root: Any) -> None:
    """Let the views of a tensor that just got its first history take part in it.

    Views of a tensor without a gradient are unknown to autograd, so those that are alive must be looked for.  This
    happens once for each such tensor, and only if something else shares its memory.
    """
    storage = root.storage
    if storage is None or sys.getrefcount(storage) <= 3:
        return
    for other in gc.get_referrers(root):
        plain = isinstance(other, Tensor) and other.base is root and not other.keys & STATE.bit
        if plain and STATE.floating >> other.spec.code & 1:
            ensure_view(other, root)


# --- in-place --------------------------------------------------------------------------------------------------


def check_inplace(target: Any, root: Any) -> None:
    """Refuse in-place changes that would lose a history."""
    record = target.record
    if record is not None and record.view is not None and record.view.index >= 0:
        raise errors.InplaceError(
            f"Output {record.view.index} of {record.node.name()} is a view and is being modified inplace. This view is "
            "the output of a function that returns multiple views. Such functions do not allow the output views to be "
            "modified inplace. You should replace the inplace operation by an out-of-place one."
        )
    if root is not target and root.keys & STATE.bit and root.record.leaf:
        raise errors.InplaceError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        )
    if target.keys & STATE.bit and record.leaf:
        raise errors.InplaceError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )


def clone_target(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments with a recorded copy in the place of the first one, which is about to be changed."""
    copy = ops.clone(args[0])
    return tuple(copy if value is args[0] else value for value in args)


def snapshot(plan: Plan, args: tuple[Any, ...]) -> dict[int, int]:
    """Return the versions of the arguments to save, slot by slot, before an in-place call."""
    return {
        place: version_of(args[position])
        for place, (kind, position, _) in enumerate(plan.slots)
        if kind in (1, 2)
    }


def keep_versions(node: OpNode, before: dict[int, int]) -> None:
    """Set the versions of saved arguments to those before the call."""
    found = dict(enumerate(versions(node.plan, node.saved or ())))
    found.update(before)
    node.versions = tuple(found[place] for place in range(len(found))) if any(found.values()) else None


def rebase(target: Any, node: Node) -> None:
    """Make a node the history of a tensor that was changed in place."""
    old = target.record
    first = not target.keys & STATE.bit
    record = attach(target, node, 0)
    if old is not None and old.retained is not None:
        if old.node is not None and old.node.extras is not None:
            old.node.extras.retained.pop(old.number, None)
        record.retained = old.retained
        node.ensure_extras().retained[0] = old.retained
    if first:
        share_history(target)


def rebase_view(target: Any, root: Any, node: OpNode, self_edge: int) -> None:
    """Make a node that changed a view in place part of the history of the memory's root."""
    ensure_view(target, root)
    view = target.record.view
    copy = CopySlices.__new__(CopySlices)
    root_node, root_number = edge(root) if root.keys & STATE.bit else (None, 0)
    others = [i for i in range(len(node.next_nodes)) if i != self_edge]
    start(
        copy,
        (root_node, *(node.next_nodes[i] for i in others)),
        (root_number, *(node.next_numbers[i] for i in others)),
    )
    copy.inner, copy.self_edge, copy.others = node, self_edge, others
    copy.steps = [
        View(None, s.operator, (None, *s.args[1:]) if s.operator else s.args, s.index, 0)
        for s in _steps(view)
    ]
    copy.strides = tuple(root.stride())
    copy.shape, copy.spec = tuple(root.shape), root.spec
    target.record.leaf = False
    target.keys |= STATE.bit
    view.version = -1
    rebase(root, copy)


class CopySlices(Node):
    """The node of a tensor one of whose views was changed in place.

    The gradient of the part that the view covers goes through the node of the in-place operation, the rest stays.

    Attributes
    ----------
    inner : OpNode
        The node of the in-place operation.
    steps : list of View
        How the view is made of the root.
    self_edge : int
        The edge of the inner node for the changed tensor, -1 if it has no gradient.
    others : list of int
        The other edges of the inner node.
    strides : tuple of int
        Those of the root.
    """

    inner: OpNode
    steps: list[View]
    self_edge: int
    others: list[int]
    strides: tuple[int, ...]

    def apply(self, gradients: list[Any], wanted: Sequence[bool] | None) -> list[Any]:
        """Send the gradient of the part through the inner node, and the rest on."""
        if gradients[0] is None:
            return [None] * len(self.next_nodes)
        if self.inner.saved is None:
            raise_released()
        whole = copy_with_strides(gradients[0], self.strides)
        part = _replay(whole, self.steps)
        found = self.inner.apply([ops.clone(part)], None)
        if self.next_nodes[0] is not None:
            kept = found[self.self_edge] if self.self_edge >= 0 else None
            if kept is None:
                part.zero_()
            else:
                part.copy_(kept)
        return [whole if self.next_nodes[0] is not None else None, *(found[i] for i in self.others)]

    def release(self) -> None:
        """Drop what the inner node saved."""
        self.inner.release()


def copy_with_strides(tensor: Any, strides: tuple[int, ...]) -> Any:
    """Return a copy whose dims lie in memory in the order of the given strides."""
    order = sorted(range(len(strides)), key=lambda dim: (-strides[dim], dim))
    if order == list(range(len(strides))):
        return ops.clone(tensor).contiguous()
    back = [order.index(dim) for dim in range(len(order))]
    return ops.permute(ops.clone(ops.permute(tensor, order)).contiguous(), back)
