"""Changes in place: the history that the changed tensor gets, and the root of the memory if it is a view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.library import CachedCall, Tensor, errors, ops
from tt.plugins.autograd.record import codes
from tt.plugins.autograd.record.graph import STATE, Node, ViewMeta, attach, start
from tt.plugins.autograd.record.rules import GradientRule, OpNode, SavePlan, save
from tt.plugins.autograd.record.saved import raise_released, version_of, versions
from tt.plugins.autograd.record.views import (
    edge,
    ensure_view,
    explain,
    hold_geometry,
    hold_own_geometry,
    is_unknown_view,
    maker,
    replay,
    root_of,
    share_history,
    steps_to,
)

__all__ = ["CopySlices", "InplaceRule", "check_inplace", "rebase"]


class InplaceRule(GradientRule):
    """The rule for the in-place form: the first argument gets a new history."""

    __slots__ = ()

    def call(self, entry: CachedCall, args: tuple[Any, ...]) -> Any:
        """Handle a call of the in-place form."""
        if STATE.switched_off != 0 and not STATE.enabled():
            return entry.call_below(args)
        target = args[0]
        # An in-place view operator (`t_`) changes how its tensor looks at the memory, not what others see
        # there.
        root = target if self.is_view else root_of(target)
        if root is not target and root._keys & STATE.bit:
            ensure_view(target, root)
        needs, nodes, numbers, starts = self.edges(args)
        if needs == 0 or not STATE.floating >> target._spec.code & 1:
            return entry.call_below(args)
        # Before the call: afterwards the old values are lost.
        check_inplace(target, root)
        target_edge = self.differentiable.index(0) if 0 in self.differentiable else -1
        # The view takes part in the root's history, even if it had none of its own.
        if target_edge >= 0 and root is not target and root._keys & STATE.bit:
            needs |= 1 << target_edge
        plan = self.plan(needs)
        kept = clone_target(args) if plan.saves_self else args
        # An argument that shares the target's memory is changed by the call: the version from before makes a
        # pass notice.
        before = snapshot(plan, kept)
        if self.is_view:  # formulas look at shape and strides before the change
            hold_geometry(target)
            kept = (target.detach(), *kept[1:])
        entry.call_below(args)
        node = start(OpNode.__new__(OpNode), nodes, numbers)
        node.rule = self
        node.starts = starts if self.list_places else None
        node.plan = plan
        node.shape = target._handle.shape
        node.spec = target._spec
        save(node, kept, target)
        keep_versions(node, before)
        if root is target:
            rebase(target, node)
            if self.is_view and target._root is not None:
                hold_own_geometry(target)
        else:
            rebase_view(target, root, node, target_edge if target_edge < 0 else starts[target_edge])
        return target


def check_inplace(target: Any, root: Tensor) -> None:
    """Refuse in-place changes that would lose a history."""
    record = target._record
    if root is not target and is_unknown_view(target, root):
        raise errors.InplaceError(
            "a view of a tensor of another layout, made before it had a history, is changed in place\n"
            "  try: change the tensor itself, or a clone() of the view"
        )
    if record is not None and record.view is not None:
        for step in steps_to(record.view):
            why = explain(step, maker(step), "a view is about to be changed in place")
            if why is not None:
                raise errors.InplaceError(why)
    if root is not target and (root._record.leaf if root._keys & STATE.bit else target._keys & STATE.bit):
        raise errors.InplaceError(
            "a view of a leaf that requires a gradient is changed in place; do so under no_grad()"
        )
    if target._keys & STATE.bit and record.leaf:
        raise errors.InplaceError(
            "a leaf that requires a gradient is changed in place; do so under no_grad()"
        )
    if STATE.transforming != 0:
        from tt.plugins.autograd.transforms.captured import (
            refuse_captured,
        )  # most programs have no transforms

        refuse_captured(root)


def clone_target(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments with the first one, which is about to be changed, replaced by a recorded copy."""
    copy = ops.clone(args[0])
    return tuple(copy if value is args[0] else value for value in args)


def snapshot(plan: SavePlan, args: tuple[Any, ...]) -> dict[int, int]:
    """Return the versions of the arguments to save, slot by slot, before an in-place call."""
    return {
        slot: version_of(args[position])
        for slot, (kind, position, _) in enumerate(plan.slots)
        if kind in (codes.TENSOR, codes.TENSORS)
    }


def keep_versions(node: OpNode, before: dict[int, int]) -> None:
    """Set the versions of saved arguments to those before the call."""
    current = dict(enumerate(versions(node.plan, node.saved or ())))
    current.update(before)
    node.versions = tuple(current[slot] for slot in range(len(current))) if any(current.values()) else None


def rebase(target: Tensor, node: Node, known: int = 0) -> None:
    """Make a node the history of a tensor that was changed in place; `known` others share its memory."""
    old = target._record
    first = not target._keys & STATE.bit
    record = attach(target, node, 0)
    if old is not None and old.retained is not None:
        # `retain_grad` is of the tensor as it is now: the old node's gradient is that of values that are
        # gone.
        if old.node is not None and old.node.extras is not None:
            old.node.extras.retained.pop(old.number, None)
        record.retained = old.retained
        node.ensure_extras().retained[0] = old.retained
    if first:
        share_history(target, known)


def rebase_view(target: Tensor, root: Tensor, node: Any, self_edge: int) -> None:
    """Make a node that changed a view in place part of the history of the memory's root."""
    ensure_view(target, root)
    view = target._record.view
    copy = CopySlices.__new__(CopySlices)
    root_node, root_number = edge(root) if root._keys & STATE.bit else (None, 0)
    # The edge of the changed tensor is replaced by that of the root, which comes first.
    others = [i for i in range(len(node.next_nodes)) if i != self_edge]
    start(
        copy,
        (root_node, *(node.next_nodes[i] for i in others)),
        (root_number, *(node.next_numbers[i] for i in others)),
    )
    copy.inner, copy.self_edge, copy.others = node, self_edge, others
    # Without the tensors: the root's record will hold this node, so a reference back would close a cycle.
    copy.steps = [
        ViewMeta(None, s.operator, (None, *s.args[1:]) if s.operator else s.args, s.index, 0)
        for s in steps_to(view)
    ]
    copy.strides = tuple(root.stride()) if root.layout.name == "strided" else None
    copy.shape, copy.spec = tuple(root.shape), root._spec
    target._record.leaf = False
    target._keys |= STATE.bit
    # The view's own node is out of date; its next use replays the steps from the root.
    view.version = -1
    rebase(root, copy, known=1)


class CopySlices(Node):
    """The node of a tensor one of whose views was changed in place.

    The gradient of the part that the view covers goes through the node of the in-place operation, the rest stays.

    Attributes
    ----------
    inner : OpNode or FunctionNode or None
        The node of the in-place operation; None once released.
    steps : list of ViewMeta
        How the view is made from the root.
    self_edge : int
        The edge of the inner node for the changed tensor, -1 if it has no gradient.
    others : list of int
        The other edges of the inner node.
    strides : tuple of int or None
        The strides of the root, if its layout has any.
    """

    inner: Any
    steps: list[ViewMeta]
    self_edge: int
    others: list[int]
    strides: tuple[int, ...] | None

    def apply(self, gradients: list[Any], wanted: Sequence[bool] | None) -> list[Any]:
        """Send the gradient of the part through the inner node, and the rest on."""
        if gradients[0] is None:
            return [None] * len(self.next_nodes)
        if self.inner is None or self.inner.saved is None:
            raise_released()
        # With the root's strides: a step may be `as_strided`, which means places in memory.
        whole = copy_with_strides(gradients[0], self.strides)
        part = replay(whole, self.steps)
        # A copy: a formula may return its argument itself, and `part` is overwritten below.
        grads = self.inner.apply([ops.clone(part)], None)
        if self.next_nodes[0] is not None:
            kept = grads[self.self_edge] if self.self_edge >= 0 else None
            if kept is None:
                # The operation did not use the old values of the part, so nothing of them reaches the result.
                part.zero_()
            else:
                part.copy_(kept)
        return [whole if self.next_nodes[0] is not None else None, *(grads[i] for i in self.others)]

    def release(self) -> None:
        """Let go of the inner node, which a recorded pass reaches by itself, too, through a result that it saved."""
        self.inner = None


def copy_with_strides(tensor: Tensor, strides: tuple[int, ...] | None) -> Any:
    """Return a copy whose dims are in memory in the order of the given strides."""
    if strides is None:
        return ops.clone(tensor)
    order = sorted(range(len(strides)), key=lambda dim: (-strides[dim], dim))
    if order == list(range(len(strides))):
        return ops.clone(tensor).contiguous()
    back = [order.index(dim) for dim in range(len(order))]
    return ops.permute(ops.clone(ops.permute(tensor, order)).contiguous(), back)
