"""Derivatives through levels: the graph is below all wrappers, so tensors are opened before they are differentiated.

Note [Opening]
--------------
Autograd records what happens to bare tensors.  To differentiate a tensor that levels further out have wrapped, its
wrappers are taken off: the hidden dims of mapped levels come to the front, outermost first, and a value with a tangent
splits into a `Pair`.  Gradients of pairs follow the product rule: with v = v0 + v1 ε and the cotangent c = c0 + c1 ε,
the gradient is (∂v0·c0) + (∂v1·c0 + ∂v0·c1) ε.  At the end the wrappers are put on again.

Levels that were entered after the function was recorded (`vmap` over the function that `vjp` returned) stay on: the
engine's own operators go through them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tt.core.library import Tensor, TensorBase, ops
from tt.plugins.autograd.backward.functional import grad as autograd_grad
from tt.plugins.autograd.record.graph import STATE
from tt.plugins.autograd.record.modes import recording
from tt.plugins.autograd.transforms.levels import (
    BIT,
    Dual,
    DualLevel,
    Level,
    batched,
    dual,
    levels,
    move_dim,
    unwrap,
)

__all__ = ["Variable", "has_history", "is_recorded", "pull", "pull_duals", "variable", "without_history"]

Levels = Sequence[Level]


@dataclass(frozen=True)
class Pair:
    """A value and its tangent (None: zero) at one level; both are trees themselves."""

    value: Any
    tangent: Any


def _map(tree: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(tree, Pair):
        return Pair(_map(tree.value, function), _map(tree.tangent, function))
    return None if tree is None else function(tree)


def _zip(first: Any, second: Any, function: Callable[[Any, Any], Any]) -> Any:
    """Join two trees of the same levels, of which either may not be split where the other is."""
    if isinstance(first, Pair) or isinstance(second, Pair):
        one = first if isinstance(first, Pair) else Pair(first, None)
        other = second if isinstance(second, Pair) else Pair(second, None)
        return Pair(_zip(one.value, other.value, function), _zip(one.tangent, other.tangent, function))
    return function(first, second)


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, Pair):
        return _leaves(tree.value) + _leaves(tree.tangent)
    return [] if tree is None else [tree]


def _with_tangent(level: DualLevel, value: Any, tangent: Tensor | None) -> Any:
    return dual(value, ops.zeros_like(value) if tangent is None else tangent, level)


def _is_at(value: Any, level: Level) -> bool:
    return isinstance(value, TensorBase) and bool(value._keys & BIT) and value._handle.level is level


def _mapped(outer: Levels) -> int:
    return sum(not isinstance(level, DualLevel) for level in outer)


# --- off and on ------------------------------------------------------------------------------------------------


def open_value(value: Any, outer: Levels, inner: Levels) -> Any:
    """Return a tensor without the wrappers of the `outer` levels, as a tree; the wrappers of the `inner` ones stay."""
    if inner:
        level, rest = inner[-1], inner[:-1]
        if not _is_at(value, level):
            return open_value(value, outer, rest)
        if isinstance(level, DualLevel):
            handle: Dual = value._handle
            return _zip(
                open_value(handle.value, outer, rest),
                open_value(handle.tangent, outer, rest),
                partial(_with_tangent, level),
            )
        # Hidden dims of levels further out come first, so this one follows them.
        opened = open_value(move_dim(value._handle.value, value._handle.dim, 0), outer, rest)
        hidden = _mapped(outer)
        return _map(opened, lambda raw: batched(raw, hidden, level))
    if not outer:
        return value
    level, rest = outer[-1], outer[:-1]
    if isinstance(level, DualLevel):
        if not _is_at(value, level):
            # Not the tree below alone: a pair of a level further out would be taken for one of this level.
            return Pair(open_value(value, rest, ()), None)
        return Pair(open_value(value._handle.value, rest, ()), open_value(value._handle.tangent, rest, ()))
    inside, dim = unwrap(value, level)
    if dim is None:
        # All leaves get the dim, so that their products and sums line up.
        return open_value(ops.expand(ops.unsqueeze(inside, 0), (level.size, *inside.shape)), rest, ())
    return open_value(move_dim(inside, dim, 0), rest, ())


def close_value(tree: Any, outer: Levels, inner: Levels) -> Any:
    """Put the wrappers on again that `open_value` took off."""
    if inner:
        level, rest = inner[-1], inner[:-1]
        if not any(_is_at(leaf, level) for leaf in _leaves(tree)):
            return close_value(tree, outer, rest)
        if isinstance(level, DualLevel):
            values = _map(tree, lambda raw: raw._handle.value if _is_at(raw, level) else raw)
            tangents = _map(
                tree, lambda raw: raw._handle.tangent if _is_at(raw, level) else ops.zeros_like(raw)
            )
            return dual(close_value(values, outer, rest), close_value(tangents, outer, rest), level)
        hidden = _mapped(outer)

        def off(raw: Any) -> Any:
            inside, dim = unwrap(raw, level)
            if dim is None:
                inside = ops.unsqueeze(inside, hidden)
                sizes = list(inside.shape)
                sizes[hidden] = level.size
                return ops.expand(inside, tuple(sizes))
            return move_dim(inside, dim, hidden)

        return batched(close_value(_map(tree, off), outer, rest), 0, level)
    if not outer:
        return tree
    level, rest = outer[-1], outer[:-1]
    if isinstance(level, DualLevel):
        if not isinstance(tree, Pair):
            return close_value(tree, rest, ())
        value = close_value(tree.value, rest, ())
        return value if tree.tangent is None else dual(value, close_value(tree.tangent, rest, ()), level)
    return batched(close_value(tree, rest, ()), 0, level)


# --- variables and gradients -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variable:
    """Something to differentiate by: `tensor` goes into the function, `bare` is its place in the graph.

    Attributes
    ----------
    tensor : Tensor
        With the wrappers of the levels.
    bare : Tensor
        Its innermost value.
    outer : tuple of Level
        The levels that ran when it was made, or those of them that matter.
    """

    tensor: Any
    bare: Any
    outer: tuple[Level, ...]


def has_history(tensor: Tensor) -> bool:
    """Return whether a bare tensor itself requires a gradient."""
    return bool(tensor._keys & STATE.bit)


def is_recorded(value: Any, outer: Levels) -> bool:
    """Return whether the tensor below all wrappers itself requires a gradient."""
    return any(has_history(leaf) for leaf in _leaves(open_value(value, outer, ())))


def without_history(value: Any) -> Any:
    """Return a tensor without what autograd knows of it; tangents of levels further out stay, unlike by `detach`."""
    if not value._keys & BIT:
        return ops.detach(value)
    handle = value._handle
    if isinstance(handle, Dual):
        return dual(without_history(handle.value), without_history(handle.tangent), handle.level)
    return batched(without_history(handle.value), handle.dim, handle.level)


def variable(value: Any, outer: Levels) -> Variable:
    """Return a tensor as something to differentiate by, which an outer derivative can still see through."""
    tree = open_value(value, outer, ())
    first = tree
    while isinstance(first, Pair):
        first = first.value
    if STATE.enabled() and has_history(first):
        # A node of its own: gradients of this function stop here, and an outer derivative goes on through the
        # clone.
        with recording(True):
            bare = ops.clone(first)
    else:
        bare = ops.detach(first)
        bare._keys &= ~STATE.inference_bit  # the transform may save it; changes show in its version
        bare.requires_grad = True

    def put(node: Any) -> Any:
        # Only the innermost value is differentiated by; tangents come along as they are.
        return Pair(put(node.value), node.tangent) if isinstance(node, Pair) else bare

    return Variable(close_value(put(tree), outer, ()), bare, tuple(outer))


def pull(output: Any, variables: Sequence[Variable], cotangent: Any, create_graph: bool) -> list[Any]:
    """Return the products of a cotangent with the Jacobians of an output, one for each variable.

    They are wrapped as the variables are; zeros where the output does not depend on a variable.
    """
    outer = variables[0].outer
    inner = levels()[outer[-1].depth + 1 if outer else 0 :]
    bare = [v.bare for v in variables]
    with recording(True):
        trees = products(
            open_value(output, outer, inner), open_value(cotangent, outer, inner), bare, create_graph
        )
        return [
            close_value(_filled(tree, v.bare), outer, inner) for tree, v in zip(trees, variables, strict=True)
        ]


def pull_duals(
    outputs: Sequence[Any], bare: Sequence[Any], cotangents: Sequence[Any], create_graph: bool
) -> list[Any]:
    """Return the gradients, with the tangents of all running levels, of outputs with respect to bare tensors.

    None where no output depends on a tensor.
    """
    outer = [level for level in levels() if isinstance(level, DualLevel)]
    total: list[Any] = [None] * len(bare)
    with recording(True):
        for output, cotangent in zip(outputs, cotangents, strict=True):
            trees = products(
                open_value(output, outer, ()), open_value(cotangent, outer, ()), bare, create_graph
            )
            total = [_sum(a, b) for a, b in zip(total, trees, strict=True)]
        return [
            close_value(_filled(tree, x), outer, ()) if _leaves(tree) else None
            for tree, x in zip(total, bare, strict=True)
        ]


def products(v: Any, c: Any, bare: Sequence[Any], create_graph: bool) -> list[Any]:
    """Return the gradients of a tree by bare tensors, as trees; see Note [Opening]."""
    if isinstance(v, Pair) or isinstance(c, Pair):
        first = v if isinstance(v, Pair) else Pair(v, None)
        second = c if isinstance(c, Pair) else Pair(c, None)
        values = products(first.value, second.value, bare, create_graph)
        mixed = [
            products(first.tangent, second.value, bare, create_graph),
            products(first.value, second.tangent, bare, create_graph),
        ]
        return [Pair(value, _sum(*parts)) for value, *parts in zip(values, *mixed, strict=True)]
    if v is None or c is None or not has_history(v):
        return [None] * len(bare)
    # Several products and outputs walk the same graph, so it is kept.
    return list(autograd_grad(v, bare, c, retain_graph=True, create_graph=create_graph, allow_unused=True))


def _sum(first: Any, second: Any) -> Any:
    if first is None or second is None:
        return second if first is None else first
    return _zip(first, second, lambda a, b: b if a is None else a if b is None else ops.add(a, b))


def _filled(tree: Any, bare: Any) -> Any:
    """Put zeros where the value of a tree is missing; tangents that are missing altogether are zero by themselves."""
    if isinstance(tree, Pair):
        # A tangent may be the sum of products of which only some parts are there, such as a tangent of its own.
        tangent = _filled(tree.tangent, bare) if _leaves(tree.tangent) else None
        return Pair(_filled(tree.value, bare), tangent)
    return ops.zeros_like(ops.detach(bare)) if tree is None else tree
