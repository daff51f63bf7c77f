"""Formulas in PyTorch's form for custom operators: `backward(ctx, *gradients)` and `setup_context`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from tt.core.library import CachedCall, Operator, Tensor, TensorBase, errors, ops
from tt.plugins.autograd.backward.validate_grads import refuse_unwanted
from tt.plugins.autograd.record.graph import STATE, Node, attach, start
from tt.plugins.autograd.record.rules import node_name, run_below
from tt.plugins.autograd.record.saved import SavedTensors
from tt.plugins.autograd.record.views import edge

if TYPE_CHECKING:
    from tt.plugins.autograd.formulas.table import Formula

__all__ = ["Context", "ContextNode", "ContextRule"]


class Context:
    """Carries what `setup_context` saves to `backward`; any attribute may be set on it.

    Attributes
    ----------
    needs_input_grad : tuple of bool
        For each argument whether its gradient is wanted; for a list of tensors a list of these.
    """

    # Most calls leave these as they are, so they are set on the class.
    _node: Node | None = None  # only while the node runs: it holds the context
    _materialize = True
    _without: tuple[Any, ...] = ()

    def __init__(self, needs_input_grad: tuple[Any, ...], label: str) -> None:
        self.needs_input_grad = needs_input_grad
        self._saved = SavedTensors(label)

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether `backward` gets zeros (the default) or None for unused results."""
        self._materialize = value

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Name results that have no gradient."""
        self._without = tensors

    def save_for_backward(self, *tensors: Any) -> None:
        """Save tensors (or None) for `saved_tensors`; changing them in place before backward is then an error."""
        self._saved.put(tensors)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that were saved."""
        return self._saved.get(self._node)


class ContextNode(Node):
    """The node of a call of an operator whose formula takes a context.

    Attributes
    ----------
    context : Context
        What was saved.
    rule : ContextRule
        Made the node.
    lengths : tuple of int
        For each argument that takes tensors the number of tensors in its list, or -1 if it is not a list.
    result_lengths : tuple of int or None
        The same for the results, where one of several is a list.
    """

    context: Context
    rule: ContextRule
    lengths: tuple[int, ...]
    result_lengths: tuple[int, ...] | None = None

    def name(self) -> str:
        """Return the name that PyTorch gives such nodes."""
        return self.rule.label

    def release(self) -> None:
        """Drop what was saved."""
        self.context._saved.release()

    def apply(self, gradients: list[Any], wanted: Sequence[bool] | None) -> list[Any]:
        """Call `backward` and order its results by the edges."""
        rule, context = self.rule, self.context
        arguments = [self._given(number, g) for number, g in enumerate(gradients)]
        if self.result_lengths is not None:
            arguments = _grouped(arguments, self.result_lengths)
        context._node = self
        try:
            returned = (
                rule.backward(context, arguments) if rule.one_list else rule.backward(context, *arguments)
            )
        finally:
            context._node = None
        returned = rule.by_position(returned)
        edges: list[Any] = []
        for position, length in zip(rule.positions, self.lengths, strict=True):
            value = returned[position]
            if length < 0:
                edges.append(value)
            elif value is None:
                edges += [None] * length
            elif isinstance(value, tuple | list) and len(value) == length:
                edges += value
            else:
                raise errors.GradientError(
                    f"the backward of {rule.label} must return {length} gradients for the list "
                    f"{rule.operator.arguments[position].name!r}"
                )
        return edges

    def _given(self, number: int, gradient: Tensor | None) -> Any:
        """Return the gradient of a result as `backward` gets it."""
        if gradient is not None or not self.context._materialize:
            return gradient
        spec: Any = self.spec_of(number)
        if spec is None or not STATE.floating >> spec.code & 1:
            return None
        return ops.zeros(self.shape_of(number), dtype=spec.dtype, device=spec.device)


def _grouped(values: list[Any], lengths: Sequence[int]) -> list[Any]:
    """Return values in lists of some lengths; those of length -1 stay by themselves."""
    grouped: list[Any] = []
    at = 0
    for length in lengths:
        grouped.append(values[at] if length < 0 else values[at : at + length])
        at += 1 if length < 0 else length
    return grouped


class ContextRule:
    """The rule for an operator whose formula takes a context.

    Parameters
    ----------
    operator : Operator
        The operator.
    formula : Formula
        With `backward` and perhaps `setup_context`.
    form : str
        functional or inplace.
    """

    def __init__(self, operator: Operator, formula: Formula, form: str) -> None:
        self.operator, self.form = operator, form
        assert formula.backward is not None  # a formula without it gets another rule
        self.backward, self.setup_context = formula.backward, formula.setup_context
        signature = operator.definition.signature
        self.positions = tuple(i for i, a in enumerate(signature.arguments) if a.type.is_tensor)
        self.positional = len(signature.positional)
        self.label = node_name(operator.name)
        self.one_list = len(signature.returns) == 1 and signature.returns[0].type.list
        self.mixed = len(signature.returns) > 1 and any(r.type.list for r in signature.returns)
        self.keywords = [a.name for a in signature.keyword_only]
        self.apart = self.setup_context is not None and "keyword_only_inputs" in _parameters(
            self.setup_context
        )

    def __call__(self, entry: CachedCall, args: tuple[Any, ...]) -> Any:
        """Handle a call of the operator."""
        # A counter of the process first: while it is zero, no call looks at thread-local state.
        if STATE.switched_off != 0 and not STATE.enabled():
            return entry.call_below(args)
        if self.form == "inplace":
            raise errors.InplaceError(
                f"{self.operator.name}: an operator with a custom backward has no in-place form to record"
            )
        nodes: list[Node | None] = []
        numbers: list[int] = []
        lengths: list[int] = []
        needs: list[Any] = [False] * len(args)
        for position in self.positions:
            value = args[position]
            if isinstance(value, list | tuple):
                lengths.append(len(value))
                needs[position] = [self._edge(item, nodes, numbers) for item in value]
            else:
                lengths.append(-1)
                needs[position] = self._edge(value, nodes, numbers)
        result = run_below(entry, args)
        if not any(node is not None for node in nodes):
            return result
        node = start(ContextNode.__new__(ContextNode), tuple(nodes), tuple(numbers))
        node.rule, node.lengths = self, tuple(lengths)
        context = node.context = Context(tuple(needs), self.label)
        if isinstance(result, TensorBase):
            results: Sequence[Any] = (result,)
            node.shape, node.spec = result._handle.shape, result._spec
        else:
            results = result if isinstance(result, tuple | list) else (result,)
            # Nodes number their results one by one; `apply` puts the lists together again.
            if self.mixed:
                node.result_lengths = tuple(len(r) if isinstance(r, tuple | list) else -1 for r in results)
                results = [t for r in results for t in (r if isinstance(r, tuple | list) else (r,))]
            node.outputs = len(results)
            shapes = tuple(tuple(t.shape) if isinstance(t, TensorBase) else () for t in results)
            specs = tuple(t._spec if isinstance(t, TensorBase) else None for t in results)
            node.shape, node.spec = (shapes[0], specs[0]) if len(results) == 1 else (shapes, specs)
        if self.setup_context is not None:
            self._save(context, args, result)
            context._saved.seal(results)
        # After `setup_context`, which may name results that have no gradient.
        for number, tensor in enumerate(results):
            if not isinstance(tensor, TensorBase) or not STATE.floating >> tensor._spec.code & 1:
                continue
            if not context._without or not any(tensor is other for other in context._without):
                attach(tensor, node, number)
        if context._without:
            context._without = ()  # the results lead to the node, and it to the context
        return result

    @staticmethod
    def _edge(value: Any, nodes: list[Node | None], numbers: list[int]) -> bool:
        """Record where the gradient of an argument goes; return whether it has one."""
        if isinstance(value, TensorBase) and value._keys & STATE.bit:
            node, number = edge(value)
            nodes.append(node)
            numbers.append(number)
            return True
        nodes.append(None)
        numbers.append(0)
        return False

    def _save(self, context: Context, args: tuple[Any, ...], result: Tensor) -> None:
        assert self.setup_context is not None  # the caller looks
        if self.apart:
            self.setup_context(
                ctx=context,
                inputs=args[: self.positional],
                keyword_only_inputs=dict(zip(self.keywords, args[self.positional :], strict=True)),
                output=result,
            )
        else:
            self.setup_context(context, args, result)

    def by_position(self, returned: Any) -> Sequence[Any]:
        """Return what `backward` returned as one gradient for each argument.

        Raises
        ------
        GradientError
            When it is one for each argument, for each that takes tensors, or for each positional one, in no way.
        """
        if self.one_argument_list(returned) or not isinstance(returned, tuple | list):
            returned = (returned,)
        count = len(self.operator.arguments)
        if len(returned) == count:
            refuse_unwanted(self.label, self.operator.arguments, returned)
            return tuple(returned)
        if len(returned) == len(self.positions):
            by_position = dict(zip(self.positions, returned, strict=True))
            return [by_position.get(i) for i in range(count)]
        if len(returned) == self.positional:
            refuse_unwanted(self.label, self.operator.arguments, returned)
            return [*returned, *[None] * (count - self.positional)]
        names = ", ".join(argument.name for argument in self.operator.arguments)
        raise errors.GradientError(
            f"the backward of {self.label} must return {count} gradients, one for each of {names}, or only those of "
            f"the {len(self.positions)} that take tensors; it returned {len(returned)}"
        )

    def one_argument_list(self, found: Any) -> bool:
        """Return whether a list is the gradient of the only argument, which is a list of tensors."""
        arguments = self.operator.arguments
        return isinstance(found, list) and len(self.positions) == 1 and arguments[self.positions[0]].type.list


def _parameters(function: Callable[..., Any]) -> Collection[str]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # a builtin without a signature
        return ()
