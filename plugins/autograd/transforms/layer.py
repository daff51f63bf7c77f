"""The transform layer: hands a call with wrapped tensors to a batching rule, or runs it once for each example.

The layer is registered with autograd's; what only calls with wrapped tensors need is imported by the first of them.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tt.core.library import (
    CachedCall,
    Layer,
    LayerFunction,
    Operator,
    Tensor,
    TensorBase,
    errors,
    ops,
    targets_of,
    with_targets_of,
)
from tt.plugins.autograd.record.graph import STATE
from tt.plugins.autograd.record.layer import AutogradLayer
from tt.plugins.autograd.transforms.inplace import (
    is_recorded_below,
    note_views,
    spread,
    with_kept_target,
)
from tt.plugins.autograd.transforms.levels import (
    BIT,
    Dual,
    DualLevel,
    Level,
    batched,
    dual,
    innermost,
    primal_and_tangent,
    unwrap,
)

if TYPE_CHECKING:
    from tt.plugins.autograd.transforms.batching.base import BatchingRule

__all__ = ["TransformLayer"]


class TransformLayer(Layer):
    """Handles calls whose tensors are wrapped by `vmap` or have tangents.

    Attributes
    ----------
    autograd : AutogradLayer
        Knows the formulas.
    fallbacks : Counter
        How often each operator ran once for each example, because it has neither a batching rule nor a composite.
    """

    name = "transform"
    order = 200

    def __init__(self, autograd: AutogradLayer) -> None:
        super().__init__()
        self.autograd = autograd
        self.fallbacks: Counter[str] = Counter()
        self._rules: dict[str, list[BatchingRule]] = {}

    def counts_data(self) -> bool:
        """Return True: a wrapped tensor is an argument of a transformed function, or depends on one."""
        return True

    def accept(self, table: Any, source: Any = None) -> Callable[[], None]:
        """Take batching rules in PyTorch's form; the last one for an operator counts.

        Parameters
        ----------
        table : object
            Its `rules` maps operators to `function(info, in_dims, *args)`, which returns (result, dim of the examples).
        source : Source, optional
            Who brought it.
        """
        from tt.plugins.autograd.transforms.batching.foreign import in_the_open

        new = {op: in_the_open(function) for op, function in table.rules.items()}
        for op, rule in new.items():
            self._rules.setdefault(op, []).insert(0, rule)

        def remove() -> None:
            for op, rule in new.items():
                self._rules[op] = [other for other in self._rules[op] if other is not rule]

        return remove

    def rule(self, operator: Operator, form: str) -> LayerFunction | None:
        """Return the levels' rule for an operator; None: all use its composite."""
        from tt.plugins.autograd.transforms.batching.base import NoRuleError

        definition = operator.definition
        if form == "inplace" and definition.kind == "view":
            return turn_in_place
        registered = self._rules.get(operator.name) if form == "functional" else None
        batch = registered[0] if registered else _batching_rule(operator, form)
        formula = self.autograd.formula(operator.name)
        # An operator with a formula has its own tangent rule, and so has one without a derivative.
        constant = "nondifferentiable" in definition.tags and definition.kind != "factory"
        whole = formula is not None or constant or definition.undifferentiated
        composed = _has_composite(operator)
        # A composite whose inner calls reach the levels; if it reads values, it runs once for each example.
        tried = composed and form == "functional" and not operator.mutates and _takes_tensors(operator)
        if form == "out" or (batch is None and not whole and not tried):
            return None
        listing = form == "functional" and not operator.mutates
        looks = definition.kind == "view" and form == "functional" and operator.name != "detach"

        def run(entry: CachedCall, args: tuple[Any, ...]) -> Any:
            result = compute(entry, args)
            if looks:
                note_views(args[0], result)
            # Lists of tensors are tuples for a caller.
            return tuple(result) if listing and type(result) is list else result

        def compute(entry: CachedCall, args: tuple[Any, ...]) -> Any:
            level = innermost(args)
            if isinstance(level, DualLevel):
                try:
                    # A new tensor is like the value, which may be mapped; a composite would see its shape only.
                    if whole or not composed or definition.kind == "factory":
                        return _with_tangents(level, entry, formula, args)
                    return _parts(entry, args)
                except (errors.HiddenValuesError, errors.DataDependentError):
                    mapped = mapped_below(args)
                    if mapped is None or not listing:
                        raise
                    return one_by_one(
                        mapped, operator, form, args
                    )  # it looks at values, which each example has
            # `vmap` would refuse the write, but this function does not know that it is mapped: see Note
            # [Tangents of memory].
            if level.implicit and form == "inplace" and unwrap(args[0], level)[1] is None:
                spread(level, args[0], operator)
            try:
                if batch is None:
                    if not composed:
                        return self.unsupported(entry, args)
                    if constant:
                        return _parts(entry, _detached(args))
                    if formula is None and not definition.undifferentiated:
                        return _parts(entry, args)
                    return self._as_a_whole(level, entry, args)
                result = batch(level, operator, args)
            except (NoRuleError, errors.HiddenValuesError, errors.DataDependentError):
                # No rule for these arguments, or a composite that looks at values, which each example has.
                return self.unsupported(entry, args)
            # A number of the function has the hidden dim inside, and then promotes like a tensor with dims.
            promotes = form == "functional" and (definition.kind == "pointwise" or operator.name == "cat")
            return _as_seen(entry, result) if promotes else result

        return run

    def saves(self, args: Sequence[Any]) -> bool:
        """Return whether this thread records, and tensors below the wrappers require gradients."""
        return STATE.enabled() and is_recorded_below(args)

    def format_tensor(self, tensor: Tensor) -> str:
        """Return the tensor inside, with its hidden dim and its level, as PyTorch prints it."""
        handle = tensor._handle
        if isinstance(handle, Dual):
            value = textwrap.indent(repr(handle.value), "    ")
            tangent = textwrap.indent(repr(handle.tangent), "    ")
            return f"DualTensor(lvl={handle.level.depth + 1}, value=\n{value},\n  tangent=\n{tangent}\n)"
        inside = textwrap.indent(repr(handle.value), "    ")
        return f"BatchedTensor(lvl={handle.level.depth + 1}, bdim={handle.dim}, value=\n{inside}\n)"

    def unsupported(self, entry: CachedCall, args: tuple[Any, ...]) -> Any:
        """Run the call once for each example, and count that."""
        level = innermost(args)
        if isinstance(level, DualLevel):
            return _with_tangents(level, entry, None, args)
        result = one_by_one(level, entry.operator, entry.form, args)
        self.fallbacks[entry.operator.name] += 1
        return result

    def _as_a_whole(self, level: Level, entry: CachedCall, args: tuple[Any, ...]) -> Any:
        """Run the composite of an operator with a formula; where a derivative is wanted, its formula is batched."""
        from tt.plugins.autograd.record.rules import GradientRule
        from tt.plugins.autograd.transforms.whole import LINEAR_PARTS, has_derivative, record_whole

        operator = entry.operator
        if operator.name in LINEAR_PARTS or not has_derivative(args):
            return _parts(entry, args)
        rule = self.autograd.rule(operator, "functional")
        if not isinstance(rule, GradientRule):  # a custom backward, written for one example; or no derivative
            return self.unsupported(entry, args) if level.size else _parts(entry, args)
        if entry.form == "inplace":
            return args[0].copy_(record_whole(level, operator, rule, with_kept_target(args)))
        return record_whole(level, operator, rule, args)


def turn_in_place(entry: CachedCall, args: tuple[Any, ...]) -> Any:
    """Let a wrapped tensor look at its memory in another way; the tensors inside may be other functions' values."""
    target = args[0]
    result = entry.operator.overload().dispatch(args)
    target._set_data(result._handle, result._spec)
    if not result._keys & BIT:  # detached from its tangent, which was its only wrapper
        target._keys = target._keys & ~STATE.bit | result._keys & STATE.bit
        target._record = result._record
    return target


def _with_tangents(level: DualLevel, entry: CachedCall, formula: Any, args: tuple[Any, ...]) -> Any:
    operator = entry.operator
    if entry.form == "out":
        raise errors.GradientError(f"{operator.name}(): out= has no tangent; call it without out=")
    if entry.form == "inplace" and "metadata_inplace" in operator.definition.tags and level.open:
        raise errors.InplaceError(
            f"{operator.definition.inplace_name}(): a tensor with a tangent is not resized\n  try: a new tensor"
        )
    if operator.mutates and not _has_composite(operator):
        raise errors.GradientError(
            f"{operator.name}() changes its arguments, and has no formula from which their tangents could come"
        )
    from tt.plugins.autograd.transforms.dual import run_dual

    return run_dual(level, operator, entry.form, formula, args)


def _has_composite(operator: Operator) -> bool:
    return operator.registry.composite(operator.name) is not None


def _takes_tensors(operator: Operator) -> bool:
    return any(argument.type.is_tensor for argument in operator.arguments)


def _parts(entry: CachedCall, args: tuple[Any, ...]) -> Any:
    """Run the composite on the wrapped tensors, so that its parts meet the level."""
    composite = entry.operator.registry.composite_on(entry.operator.name, entry.keys)
    assert composite is not None  # checked before
    if entry.form == "inplace":
        # What is recorded of the parts may save the old values, which the write changes.
        saved = STATE.enabled() and is_recorded_below(args)
        return args[0].copy_(composite(*(with_kept_target(args) if saved else args)))
    result = composite(*args)
    return entry.operator.return_type(result) if type(result) is tuple else result


def _detached(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments without history and tangents: the parts of a composite may be differentiable."""
    return tuple(
        ops.detach(value)
        if isinstance(value, TensorBase)
        else type(value)(_detached(tuple(value)))
        if type(value) in (list, tuple)
        else value
        for value in args
    )


def _batching_rule(operator: Operator, form: str) -> BatchingRule | None:
    from tt.plugins.autograd.transforms.batching.base import (
        inplace_of,
        inplace_pointwise,
        pointwise,
        reduction,
    )
    from tt.plugins.autograd.transforms.batching.table import rule_of

    definition = operator.definition
    rule = rule_of(operator.name)
    if form == "inplace":
        if definition.kind == "pointwise" or operator.name == "copy":
            return inplace_pointwise
        if rule is None or "metadata_inplace" in definition.tags:
            return None
        return inplace_of(rule)
    if form != "functional":
        return None
    if rule is not None:
        return rule
    if definition.kind == "pointwise" and not any(
        a.type.is_tensor and a.type.list for a in operator.arguments
    ):
        return pointwise
    if definition.kind == "reduction" and "dim" in operator.positions and operator.group == (0,):
        return reduction
    return None


def _as_seen(entry: CachedCall, result: Any) -> Any:
    """Return a result in the dtype that the function expects: what has no dims for it may have some inside."""
    dtypes = entry.resolution.results
    if not dtypes:  # an operator that promotes nothing, resolved for more layers than the levels
        return result
    if not isinstance(result, TensorBase):
        return type(result)._make(_cast(r, dtype) for r, dtype in zip(result, dtypes, strict=True))
    return _cast(result, dtypes[0])


def _cast(result: Any, wanted: Any) -> Any:
    return result if wanted is None or result.dtype is wanted else result.to(wanted)


def mapped_below(args: Sequence[Any]) -> Level | None:
    """Return the innermost `vmap` among arguments with tangents, if only such levels are further in."""
    innermost_level: Level | None = None
    for value in args:
        for item in value if isinstance(value, list | tuple) else (value,):
            inside = item
            while isinstance(inside, TensorBase) and inside._keys & BIT and isinstance(inside._handle, Dual):
                inside = inside._handle.value
            if isinstance(inside, TensorBase) and inside._keys & BIT:
                level = inside._handle.level
                innermost_level = (
                    level
                    if innermost_level is None or level.depth > innermost_level.depth
                    else innermost_level
                )
    return innermost_level


def one_by_one(level: Level, operator: Operator, form: str, args: tuple[Any, ...]) -> Any:
    """Run an operator once for each example and stack the results."""
    if operator.mutates and form == "functional":
        return with_targets_of(operator, args, _changing(level, operator, args))
    if form == "inplace" and unwrap(args[0], level)[1] is None:
        raise errors.InplaceError(
            f"vmap: {operator.definition.inplace_name}() changes a tensor that is the same for all examples by one "
            "that differs by example"
        )
    if not any(returned.type.is_tensor for returned in operator.definition.signature.returns):
        raise errors.HiddenValuesError(
            f"vmap: {operator.name}() gives a Python value, and there would be another one for each example"
        )
    if form == "inplace" and "metadata_inplace" in operator.definition.tags:
        raise errors.UnsupportedError(
            f"vmap: {operator.definition.inplace_name}() changes the shape of a tensor, and the examples lie in one"
        )
    results = [
        operator.overload(form).dispatch(tuple(_example(value, level, number) for value in args))
        for number in range(level.size or 1)
    ]
    if form == "inplace":
        return args[0]
    first = results[0]
    if not isinstance(first, TensorBase | list | tuple):
        raise errors.DataDependentError(operator.name, "vmapped")
    return _stacked(level, operator, results)


def _stacked(level: Level, operator: Operator, results: list[Any]) -> Any:
    """Return the results of all examples as one."""
    first = results[0]
    if isinstance(first, TensorBase):
        if len({tuple(tensor.shape) for tensor in results}) > 1:
            raise errors.ShapeError(
                f"vmap: {operator.name}() gives results of other shapes for other examples, {list(first.shape)} "
                f"and {next(list(t.shape) for t in results if t.shape != first.shape)} for instance, which do not "
                "fit into one tensor"
            )
        return _stack(level, results)
    if not isinstance(first, list | tuple):
        if any(result != first for result in results):
            raise errors.HiddenValuesError(
                f"vmap: {operator.name}() gives other numbers for other examples, {first!r} and "
                f"{next(r for r in results if r != first)!r} for instance"
            )
        return first
    if any(len(result) != len(first) for result in results):
        raise errors.ShapeError(f"vmap: {operator.name}() gives lists of other lengths for other examples")
    columns = [_stacked(level, operator, list(column)) for column in zip(*results, strict=True)]
    return columns if isinstance(first, list) else operator.return_type(columns)


def _stack(level: Level, results: Sequence[Any]) -> Any:
    """Return the results of the examples as one tensor, of which levels further in may have tangents."""
    # The one example of zeros was there to show the shape.
    if not level.size:
        return batched(ops.slice(ops.stack(list(results)), 0, 0, 0, 1), 0, level)
    inner = max(
        (r._handle.level for r in results if r._keys & BIT), key=lambda found: found.depth, default=level
    )
    if not isinstance(inner, DualLevel) or inner.depth < level.depth:
        # What is differentiated further in is wrapped by all levels further out, this one among them.
        return batched(ops.stack([_example(r, level, number) for number, r in enumerate(results)]), 0, level)
    pairs = [primal_and_tangent(r, inner) for r in results]
    tangents = [ops.zeros_like(value) if tangent is None else tangent for value, tangent in pairs]
    return dual(_stack(level, [value for value, _ in pairs]), _stack(level, tangents), inner)


def _changing(level: Level, operator: Operator, args: tuple[Any, ...]) -> Any:
    """Run an operator that changes arguments once for each example, on views of the changed arguments."""
    for target in targets_of(operator, args):
        if unwrap(target, level)[1] is None:
            raise errors.InplaceError(
                f"vmap: {operator.name}() changes a tensor that is the same for all examples, and would do so for each "
                "of them"
            )
    fresh = [
        r for r, p in zip(operator.definition.signature.returns, operator.returned, strict=True) if p < 0
    ]
    # Numbers of examples cannot be joined into a tensor that the caller expects to be a number.
    if any(not returned.type.is_tensor for returned in fresh):
        raise errors.HiddenValuesError(
            f"vmap: {operator.name}() gives a Python value, and there would be another one for each example"
        )
    results = [
        operator.overload().dispatch(tuple(_example(value, level, number) for value in args))
        for number in range(level.size)
    ]
    return _stacked(level, operator, results) if fresh else None


def _example(value: Any, level: Level, number: int) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_example(item, level, number) for item in value)
    if isinstance(value, TensorBase) and value._keys & BIT and value._handle.level.depth > level.depth:
        handle = value._handle  # with tangents of a level further in
        return dual(
            _example(handle.value, level, number), _example(handle.tangent, level, number), handle.level
        )
    inside, dim = unwrap(value, level)
    if dim is None:
        return inside
    # Of no examples, one of zeros stands for the shapes.
    return ops.select(inside, dim, number) if level.size else ops.new_zeros(inside, tuple(value.shape))
