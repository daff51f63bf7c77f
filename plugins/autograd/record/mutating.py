"""Operators that change arguments and have no formula: how they change the history of these arguments."""

from __future__ import annotations

from typing import Any

from tt.core.library import CachedCall, Tensor, TensorBase, targets_of, with_targets_of
from tt.plugins.autograd.record.graph import STATE, Graphless, attach, start
from tt.plugins.autograd.record.inplace import check_inplace, rebase
from tt.plugins.autograd.record.views import edge, ensure_view, root_of

__all__ = ["change_arguments"]


def change_arguments(entry: CachedCall, args: tuple[Any, ...]) -> Any:
    """Run the call; differentiating anything that it changed or made raises an error that names the operator.

    What in-place operators refuse is refused: leaves that require a gradient, and views of them.  An operator that is
    declared without gradient makes results without history, and ends only the histories that there were.
    """
    operator = entry.operator
    if not STATE.enabled():
        return with_targets_of(operator, args, entry.call_below(args))
    targets = targets_of(operator, args)
    # All before the call: a refusal must not leave half of the arguments changed.
    for target in targets:
        check_inplace(target, root_of(target))
    flat = [v for value in args for v in (value if isinstance(value, list | tuple) else (value,))]
    needy = [edge(t) for t in flat if isinstance(t, TensorBase) and t._keys & STATE.bit]
    result = with_targets_of(operator, args, entry.call_below(args))
    reason = (
        f"the derivative for '{operator.name}' is not implemented: it changed a tensor whose history is needed here, "
        "and an operator that changes its arguments has no gradient of its own"
    )
    differentiable = bool(operator.definition.grad)
    for target in targets:
        root = root_of(target)
        known = (target._keys | root._keys) & STATE.bit
        if not STATE.floating >> target._spec.code & 1 or not (known or (differentiable and needy)):
            continue
        if root is not target:
            ensure_view(target, root)
            _end(target, needy, reason)
            target._record.leaf = False
        rebase(root, _node(root, needy, reason), known=int(root is not target))
    if differentiable and needy:
        results = result if isinstance(result, list | tuple) else (result,)
        for value in results:
            if isinstance(value, TensorBase) and not any(value is target for target in targets):
                _end(value, needy, reason)
    return result


def _node(tensor: Tensor, needy: list[Any], reason: str) -> Graphless:
    node: Graphless = start(
        Graphless.__new__(Graphless), tuple(n for n, _ in needy), tuple(number for _, number in needy)
    )
    node.reason, node.shape, node.spec = reason, tuple(tensor.shape), tensor._spec
    return node


def _end(tensor: Any, needy: list[Any], reason: str) -> None:
    """Let the history of a tensor begin with a node that cannot be differentiated."""
    if STATE.floating >> tensor._spec.code & 1:
        # `attach` makes a new record, and the tensor still views the same memory.
        view = None if tensor._record is None else tensor._record.view
        record = attach(tensor, _node(tensor, needy, reason), 0)
        record.view = view
