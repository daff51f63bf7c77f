"""Operators with a formula inside `vmap` that have no batching rule: each is one node, whose formula is batched.

Note [Recorded as a whole]
--------------------------
Below a batch level such an operator runs by its composite.  If the parts of the composite were recorded, they would
be differentiated in place of the operator's formula, which may say something else: at ties, equal points and padding,
and always for a custom gradient.  So the operator runs unrecorded on all examples, as one `Function` of the tensors
inside, and the backward of that function applies the formula to wrapped tensors of a level of its own.  Levels further
out meet the function in turn.  A formula that looks at values, which each example has, runs once for each example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Final

from tt.core.library import Operator, Tensor, TensorBase, errors, ops, tree_flatten, tree_unflatten
from tt.plugins.autograd.backward.validate_grads import fit
from tt.plugins.autograd.custom.function import Function, run
from tt.plugins.autograd.record.codes import FACT, RESULT
from tt.plugins.autograd.record.graph import STATE
from tt.plugins.autograd.record.plans import FACTS
from tt.plugins.autograd.record.rules import GradientRule, SavePlan
from tt.plugins.autograd.transforms.batching.base import NoRuleError
from tt.plugins.autograd.transforms.dual import LINEAR, MULTILINEAR
from tt.plugins.autograd.transforms.function import as_argument
from tt.plugins.autograd.transforms.levels import (
    BIT,
    Dual,
    DualLevel,
    Level,
    batched,
    dual,
    enter_dual,
    leave_dual,
    levels,
    move_dim,
    primal_and_tangent,
    running,
    unwrap,
)

__all__ = ["LINEAR_PARTS", "has_derivative", "record_whole"]

LINEAR_PARTS: Final = (
    LINEAR | MULTILINEAR | {"linear", "addmm", "addmv", "addr", "addbmm", "baddbmm", "masked_fill"}
)
"""Operators that are linear in each of their tensors: their parts have the same derivatives, and no node."""


def has_derivative(values: Iterable[Any]) -> bool:
    """Return whether a tensor among the values has a history that is recorded, or a tangent, below its wrappers."""
    for value in values:
        if isinstance(value, list | tuple):
            if has_derivative(value):
                return True
            continue
        while isinstance(value, TensorBase) and value._keys & BIT:
            if isinstance(value._handle, Dual):
                return True
            value = value._handle.value
        if isinstance(value, TensorBase) and value._keys & STATE.bit and STATE.enabled():
            return True
    return False


def record_whole(level: Level, operator: Operator, rule: GradientRule, args: tuple[Any, ...]) -> Any:
    """Run an operator on all examples at once, recorded as one node.

    Parameters
    ----------
    level : Level
        The innermost level among the arguments, a `vmap`.
    operator : Operator
        With a composite.
    rule : GradientRule
        Autograd's rule for the functional form.
    args : tuple
        All arguments.
    """
    leaves, shape = tree_flatten(args)
    tangents = _innermost_dual(leaves)
    if tangents is not None:
        return _with_tangents_inside(tangents, operator, leaves, shape)
    pairs = [unwrap(leaf, level) for leaf in leaves]
    call = _Call(operator, rule, level.size, [dim for _, dim in pairs], shape)
    inside = [inside for inside, _ in pairs]
    function = _function_of(rule.node_name)
    # `apply` hands wrapped tensors to the levels further out; without any, `run` spares that search.
    further = any(isinstance(value, TensorBase) and value._keys & BIT for value in inside)
    results = function.apply(call, *inside) if further else run(function, (call, *inside))[0]
    return tree_unflatten(_wrapped(results, call.result_dims, level), call.results)


# --- one call --------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Call:
    """A call of an operator on all examples at once.

    Attributes
    ----------
    operator, rule
        What is called, and its formula.
    size : int
        The number of examples.
    dims : list
        For each leaf of the arguments its hidden dim, or None.
    shape : TreeSpec
        That of the arguments.
    results, result_dims : TreeSpec, list
        The same for what the operator returned.
    """

    operator: Operator
    rule: GradientRule
    size: int
    dims: list[int | None]
    shape: Any
    results: Any = None
    result_dims: list[int | None] = field(default_factory=list)

    def arguments(self, leaves: Sequence[Any], level: Level) -> tuple[Any, ...]:
        """Return the arguments of the operator, wrapped at a level."""
        args: tuple[Any, ...] = tree_unflatten(_wrapped(leaves, self.dims, level), self.shape)
        return args

    def spans(self) -> list[tuple[int, int]]:
        """Return for each argument where its leaves are."""
        spans, start = [], 0
        for child in self.shape.children():
            stop = start + child.num_leaves
            spans.append((start, stop))
            start = stop
        return spans

    def is_list(self, position: int) -> bool:
        """Return whether an argument is a list."""
        return not self.shape.child(position).is_leaf()

    def name(self) -> str:
        """Return the name of the node, for errors."""
        return self.rule.node_name


@dataclass(eq=False)
class _Saved:
    """What a node keeps of its call besides tensors.

    Attributes
    ----------
    call : _Call
        The call.
    plan : SavePlan
        The formulas that are wanted, and what they take.
    slots : list
        For each slot of the plan its value; for tensors, trees of `_Place`.
    facts : list
        For each leaf of the arguments the (shape, spec) that the operator sees, None for other values.
    """

    call: _Call
    plan: SavePlan
    slots: list[Any]
    facts: list[Any]


@dataclass(frozen=True, slots=True)
class _Place:
    """Stands for a saved tensor: which one it is, and its hidden dim."""

    number: int
    dim: int | None


def _wrapped(values: Sequence[Any], dims: Sequence[int | None], level: Level) -> list[Any]:
    return [v if d is None else batched(v, d, level) for v, d in zip(values, dims, strict=True)]


@cache
def _function_of(node_name: str) -> type[Function]:
    """Return the function whose nodes have this name."""
    return type(node_name.removesuffix("Backward0"), (_Whole,), {})


class _Whole(Function):
    """An operator on all examples at once; see Note [Recorded as a whole]."""

    generate_vmap_rule = True

    @staticmethod
    def forward(call: _Call, *leaves: Any) -> Any:
        """Run the operator; its results are flat."""
        with running(call.size) as level:
            result = call.operator.overload().dispatch(call.arguments(leaves, level))
            values, call.results = tree_flatten(result)
            opened = [_opened(value, level) for value in values]
        call.result_dims = [dim for _, dim in opened]
        buffers = [_bare(leaf)._ensure_storage() for leaf in leaves if isinstance(leaf, TensorBase)]
        for value, _ in opened:
            bare = _bare(value)
            if isinstance(bare, TensorBase) and bare._root is not None and bare._storage not in buffers:
                bare._root = None  # a view of what only the composite had
        return tuple(value for value, _ in opened)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save what the formulas of the arguments that need a gradient take."""
        call, *leaves = inputs
        rule, spans = call.rule, call.spans()
        needed = ctx.needs_input_grad[1:]
        needs = sum(
            1 << number
            for number, position in enumerate(rule.differentiable)
            if any(needed[slice(*spans[position])])
        )
        plan = rule.plan(needs)
        tensors: list[Any] = []

        def keep(value: Any, dim: int | None) -> Any:
            if not isinstance(value, TensorBase):
                return value
            tensors.append(value)
            return _Place(len(tensors) - 1, dim)

        args: tuple[Any, ...] = ()
        # Facts are those that the operator sees: the shape without the hidden dim.
        if any(kind == FACT for kind, _, _ in plan.slots):
            with running(call.size) as level:
                args = call.arguments(leaves, level)
        slots: list[Any] = []
        for kind, position, fact in plan.slots if needs else ():
            start, stop = spans[position] if kind != RESULT else (0, 0)
            if kind == RESULT:
                slots.append(keep(output[position], call.result_dims[position]))
            elif kind == FACT and fact is FACTS["requires_grad"]:
                slots.append(any(needed[start:stop]))
            elif kind == FACT:
                slots.append(fact(args[position]))
            else:
                kept = [keep(leaves[i], call.dims[i]) for i in range(start, stop)]
                slots.append(kept if call.is_list(position) else kept[0])
        ctx.whole = _Saved(call, plan, slots, [_seen(*pair) for pair in zip(leaves, call.dims, strict=True)])
        ctx.save_for_backward(*tensors)
        # A formula handles None in its own way, without tensors of zeros.
        ctx.set_materialize_grads(False)
        if not rule.takes_all:  # the formulas take the gradient of the first result only
            ctx.mark_non_differentiable(*[value for value in output[1:] if isinstance(value, TensorBase)])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Apply the formulas to the gradients and the saved values of all examples."""
        whole: _Saved = ctx.whole
        call, kept = whole.call, ctx.saved_tensors
        with running(call.size) as level:
            wrapped = [
                None if g is None else _wrapped([g], [d], level)[0]
                for g, d in zip(gradients, call.result_dims, strict=True)
            ]
            slots = [
                _filled(slot, lambda p: _wrapped([kept[p.number]], [p.dim], level)[0]) for slot in whole.slots
            ]
            try:
                grads = _gradients(whole, wrapped, slots)
            except (NoRuleError, errors.HiddenValuesError, errors.DataDependentError):
                grads = _one_by_one(whole, gradients, kept, level)
            result: list[Any] = [None]
            for number, (gradient, dim) in enumerate(zip(grads, call.dims, strict=True)):
                if gradient is None or not ctx.needs_input_grad[number + 1]:
                    result.append(None)
                    continue
                shape, spec = whole.facts[number]
                fitted = fit(gradient, shape, spec, call, number)
                inside, hidden = unwrap(fitted, level)
                # What all examples share gets the sum of their gradients.
                result.append(as_argument(inside, hidden, dim, call.size))
        return tuple(result)


# --- opening and applying --------------------------------------------------------------------------------------


def _bare(value: Any) -> Any:
    """Return the tensor below all wrappers."""
    while isinstance(value, TensorBase) and value._keys & BIT:
        value = value._handle.value
    return value


def _opened(value: Any, level: Level) -> tuple[Any, int | None]:
    """Return a result with the hidden dim, which results that are the same for all examples get, too."""
    inside, dim = unwrap(value, level)
    if dim is not None or not isinstance(value, TensorBase):
        return inside, dim
    # A copy: each example must have its own elements, should the function write to the result.
    return ops.clone(ops.expand(ops.unsqueeze(inside, 0), (level.size, *inside.shape))), 0


def _seen(value: Any, dim: int | None) -> tuple[tuple[int, ...], Any] | None:
    """Return the shape that the operator sees and the spec of a tensor, None for other values."""
    if not isinstance(value, TensorBase):
        return None
    shape = tuple(value.shape)
    return shape if dim is None else shape[:dim] + shape[dim + 1 :], value._spec


def _filled(tree: Any, of: Callable[[_Place], Any]) -> Any:
    """Return a slot with tensors for the places."""
    if isinstance(tree, list):
        return [_filled(item, of) for item in tree]
    return of(tree) if isinstance(tree, _Place) else tree


def _gradients(whole: _Saved, given: Sequence[Any], slots: Sequence[Any]) -> list[Any]:
    """Return the gradient of each leaf of the arguments, by the formulas; None where there is none."""
    rule, spans = whole.call.rule, whole.call.spans()
    result: list[Any] = [None] * len(whole.facts)
    first = list(given) if rule.takes_all else given[0]
    if first is None:
        return result

    def put(index: int, value: Any) -> None:
        start, stop = spans[rule.differentiable[index]]
        result[start:stop] = [value] if index not in rule.list_places else value or [None] * (stop - start)

    for index, function, taken in whole.plan.calls:
        outcome = function(first, *[slots[slot] for slot in taken])
        if rule.joint is None:
            put(index, outcome)
            continue
        for number, value in enumerate(rule.joint(outcome)):
            put(number, value)
    return result


def _one_by_one(whole: _Saved, gradients: Sequence[Any], kept: Sequence[Any], level: Level) -> list[Any]:
    """Apply formulas that look at values to each example, and stack the gradients."""
    rows = [
        _gradients(
            whole,
            [_example(g, d, number) for g, d in zip(gradients, whole.call.result_dims, strict=True)],
            [_filled(slot, partial(_saved_example, kept, number)) for slot in whole.slots],
        )
        for number in range(level.size)
    ]
    return [
        None if column[0] is None else batched(ops.stack(list(column)), 0, level)
        for column in zip(*rows, strict=True)
    ] or [None] * len(whole.facts)


def _example(value: Any, dim: int | None, number: int) -> Any:
    return value if value is None or dim is None else ops.select(value, dim, number)


def _saved_example(kept: Sequence[Any], number: int, place: _Place) -> Any:
    return _example(kept[place.number], place.dim, number)


# --- tangents further out --------------------------------------------------------------------------------------


def _innermost_dual(leaves: Sequence[Any]) -> DualLevel | None:
    """Return the innermost level whose tangents are below the wrappers of some tensor."""
    innermost_level: DualLevel | None = None
    for value in leaves:
        while isinstance(value, TensorBase) and value._keys & BIT:
            level = value._handle.level
            if isinstance(level, DualLevel) and (
                innermost_level is None or level.depth > innermost_level.depth
            ):
                innermost_level = level
            value = value._handle.value
    return innermost_level


def _with_tangents_inside(level: DualLevel, operator: Operator, leaves: Sequence[Any], shape: Any) -> Any:
    """Run an operator whose batched arguments hold tensors with tangents: on batched values with batched tangents.

    A level of their own, further in than all others, handles the tangents.
    """
    deeper = [other for other in reversed(levels()) if other.depth > level.depth]
    inner = enter_dual()
    try:
        pairs = [_split(leaf, level) for leaf in leaves]
        wrapped = [value if tangent is None else dual(value, tangent, inner) for value, tangent in pairs]
        results, results_shape = tree_flatten(operator.overload().dispatch(tree_unflatten(wrapped, shape)))
        pairs = [primal_and_tangent(result, inner) for result in results]
    finally:
        leave_dual(inner)
    return tree_unflatten([_joined(value, tangent, level, deeper) for value, tangent in pairs], results_shape)


def _split(value: Any, level: DualLevel) -> tuple[Any, Any]:
    """Return a tensor without the tangent of a level, and its tangent or None, in the wrappers of the levels inside."""
    if not isinstance(value, TensorBase) or not value._keys & BIT or value._handle.level.depth < level.depth:
        return value, None
    if value._handle.level is level:
        return primal_and_tangent(value, level)
    handle = value._handle
    primal, tangent = _split(handle.value, level)
    if primal is handle.value:
        return value, None
    wrap = partial(batched, dim=handle.dim, level=handle.level)
    return wrap(primal), None if tangent is None else wrap(tangent)


def _joined(value: Any, tangent: Tensor | None, level: DualLevel, deeper: Sequence[Level]) -> Any:
    """Put a tangent back below the wrappers of the levels that are further in."""
    if tangent is None:
        return value
    if not deeper:
        return dual(value, tangent, level)
    first, rest = deeper[0], deeper[1:]
    if isinstance(first, DualLevel):
        return _joined(value, tangent, level, rest)
    (primal, dim), (moving, other) = unwrap(value, first), unwrap(tangent, first)
    if dim is None and other is None:
        return _joined(value, tangent, level, rest)
    primal, moving = (
        ops.expand(ops.unsqueeze(part, 0), (first.size, *part.shape))
        if hidden is None
        else move_dim(part, hidden, 0)
        for part, hidden in ((primal, dim), (moving, other))
    )
    return batched(_joined(primal, moving, level, rest), 0, first)
