"""Saved tensors: whether they are still what they were, and their place in the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tt.core.library import TensorBase, alias, errors
from tt.plugins.autograd.graph import STATE, Node, attach

if TYPE_CHECKING:
    from tt.plugins.autograd.rules import OpNode, Plan

__all__ = ["linked", "linked_list", "raise_changed", "raise_released", "version_of", "versions", "with_edge"]


def raise_released() -> NoReturn:
    """Refuse to use what a backward pass has freed."""
    raise errors.GradientError(
        "the tensors that this graph had saved are gone: a backward frees them; give the first one retain_graph=True "
        "to run a second, or to read them afterwards"
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
