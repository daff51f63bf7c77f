"""Tensors that a transformed function did not make: which of them it may change in place.

Note [Captured tensors]
-----------------------
A function that is differentiated may change what it makes, and its arguments.  A tensor that it captured belongs to
code outside of the transform: written in place, it would keep a history that leads into the transform, to variables
that nobody sees.  Such writes are refused, as in PyTorch.  The variables themselves are made before the function runs,
so that they are refused by the same test: their places in the graph would be those of the changed values.

What is recorded counts: writes of plain numbers, and writes under `no_grad`, leave no history, and are a way to keep
values for later.

An argument that is not differentiated is passed as an alias, which gets the history of a write in its place; the memory
is the caller's.  The history is handed on to the argument if it leads elsewhere than to the variables.  Where an alias
would not do, because the argument has a history, tangents or more than memory of its own, or because transforms further
out take part in the write, the function gets the argument itself, which counts as made by the function from then on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.library import Tensor, TensorBase, alias, begin_epoch, errors, tree_flatten, tree_unflatten
from tt.plugins.autograd.record.graph import STATE, AccumulateGrad
from tt.plugins.autograd.transforms.levels import (
    BIT,
    Batched,
    Dual,
    DualLevel,
    Level,
    batched,
    is_captured,
    is_outermost,
)

__all__ = ["Arguments", "refuse_captured", "refuse_captured_at"]


def refuse_captured(root: Tensor) -> None:
    """Refuse a recorded write into memory whose root a differentiated function has not made."""
    if is_captured(root):
        _refuse()


def refuse_captured_at(level: Level, root: Tensor) -> None:
    """Refuse to give memory a tangent, or other values for each example, that is older than the level."""
    if root._epoch < level.began and (level.implicit or (isinstance(level, DualLevel) and level.transform)):
        _refuse()


def _refuse() -> None:
    raise errors.InplaceError(
        "a tensor that was not made inside of a function that tt.func differentiates is changed in place by it: one "
        "that it captured, or by which it is differentiated\n"
        "  try: change a clone(), pass the tensor as an argument that is not differentiated, or write under no_grad()"
    )


class Arguments:
    """The arguments of a function that are not differentiated; see Note [Captured tensors].

    Attributes
    ----------
    aliased : list of (Tensor, Tensor)
        Arguments without a history, and the aliases that the function gets.
    """

    def __init__(self) -> None:
        self.aliased: list[tuple[Any, Any]] = []

    def take(self, tree: Any) -> Any:
        """Return an argument, or a tree of them, as the function gets it, while that runs."""
        leaves, shape = tree_flatten(tree)
        return tree_unflatten(
            [self._take(leaf) if isinstance(leaf, TensorBase) else leaf for leaf in leaves], shape
        )

    def take_named(self, trees: dict[str, Any]) -> dict[str, Any]:
        """Return arguments by name as the function gets them."""
        return {name: self.take(tree) for name, tree in trees.items()}

    def _take(self, tensor: Any) -> Any:
        if not is_outermost():
            if tensor._keys & (BIT | STATE.bit) or not is_captured(tensor, further_out=True):
                _adopt(tensor)
            return tensor
        if tensor._keys & BIT:
            handle = tensor._handle  # of vmap: there is no other level
            inside = self._take(handle.value)
            return tensor if inside is handle.value else batched(inside, handle.dim, handle.level)
        if type(tensor) is not Tensor or tensor._spec.layout.name != "strided" or tensor._keys & STATE.bit:
            _adopt(tensor)
            return tensor
        new = alias(tensor)
        self.aliased.append((tensor, new))
        return new

    def settle(self, variables: Any) -> None:
        """Hand on the histories that lead elsewhere than to the variables, which are a tree of tensors."""
        written = [(tensor, new) for tensor, new in self.aliased if new._keys & STATE.bit]
        if not written:
            return
        # Leaves tell the histories apart: one that ends in variables only is gone with the transform.
        ends = {bare._record.node for leaf in tree_flatten(variables)[0] for bare in _bare(leaf)}
        for tensor, new in written:
            if not _ends(new._record.node) <= ends:
                tensor._record = new._record
                tensor._keys |= STATE.bit


def _adopt(tensor: Tensor) -> None:
    """Let a tensor count as made by the function that runs."""
    root = tensor if tensor._root is None else tensor._root
    # The test of captured tensors compares epochs: as new, it may be written to.
    tensor._epoch = root._epoch = begin_epoch()
    if tensor._keys & BIT:
        handle = tensor._handle
        _adopt(handle.value)
        if isinstance(handle, Dual):
            _adopt(handle.tangent)


def _bare(tensor: Tensor) -> Iterator[Any]:
    """Yield the tensors with a history that a variable consists of."""
    if tensor._keys & BIT and isinstance(tensor._handle, Batched):
        yield from _bare(tensor._handle.value)
    elif tensor._keys & STATE.bit:
        yield tensor


def _ends(node: Any) -> set[Any]:
    """Return the leaves' nodes to which a node leads."""
    seen = {node}
    stack = [node]
    while stack:
        for following in stack.pop().next_nodes:
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)
    return {node for node in seen if isinstance(node, AccumulateGrad)}
