"""Formulas in PyTorch's form for custom operators: `backward(ctx, *gradients)` and `setup_context`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tt.core.library import Entry, Operator, TensorBase, errors
from tt.plugins.autograd.graph import STATE, Node, attach, start
from tt.plugins.autograd.rules import bare_alias, node_name
from tt.plugins.autograd.saved import raise_changed, raise_released, version_of, with_edge
from tt.plugins.autograd.views import edge

if TYPE_CHECKING:
    from tt.plugins.autograd.formulas.table import Formula

__all__ = ["Context", "ContextNode", "ContextRule"]


class Context:
    """Carries what `setup_context` saves to `backward`; any attribute may be set on it.

    Attributes
    ----------
    needs_input_grad : tuple of bool
        For each argument whether its gradient is wanted.
    """

    def __init__(self, needs_input_grad: tuple[bool, ...], label: str) -> None:
        self.needs_input_grad = needs_input_grad
        self._label = label
        self._saved: tuple[Any, ...] | None = ()
        self._versions: tuple[int, ...] = ()
        self._results: dict[int, int] = {}  # place among the saved -> number of the result
        self._node: Node | None = None  # only while the node runs: it holds the context

    def save_for_backward(self, *tensors: Any) -> None:
        """Save tensors (or None) for `saved_tensors`; changing them in place before backward is then an error."""
        self._saved, self._versions = tensors, tuple(version_of(t) for t in tensors)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that were saved."""
        if self._saved is None:
            raise_released()
        for tensor, version in zip(self._saved, self._versions, strict=True):
            if isinstance(tensor, TensorBase) and version_of(tensor) != version:
                raise_changed(self._label, tensor, version)
        if self._node is None or not STATE.enabled() or not self._results:
            return self._saved
        linked = list(self._saved)
        for place, number in self._results.items():
            linked[place] = with_edge(linked[place], self._node, number)
        return tuple(linked)


class ContextNode(Node):
    """The node of a call of an operator whose formula takes a context."""

    context: Context
    formula: Formula
    label: str
    positions: tuple[int, ...]
    lengths: tuple[int, ...]

    def name(self) -> str:
        """Return the name that PyTorch gives such nodes."""
        return self.label

    def release(self) -> None:
        """Drop what was saved."""
        if self.context._saved:
            self.context._saved = None

    def apply(self, gradients: list[Any], wanted: Sequence[bool] | None) -> list[Any]:
        """Call `backward` and order what it returns by the edges."""
        assert self.formula.backward is not None  # a formula without it gets another kind of node
        self.context._node = self
        try:
            found = self.formula.backward(self.context, *gradients)
        finally:
            self.context._node = None
        if not isinstance(found, tuple | list):
            found = (found,)
        count = len(self.context.needs_input_grad)
        if len(found) < count and len(found) == len(self.positions):
            by_position = dict(zip(self.positions, found, strict=True))
            found = [by_position.get(i) for i in range(count)]
        if len(found) != count:
            raise errors.GradientError(
                f"the backward of {self.label} must return {count} gradients, and it returned {len(found)}"
            )
        edges: list[Any] = []
        for position, length in zip(self.positions, self.lengths, strict=True):
            value = found[position]
            edges += [value] if length < 0 else list(value if value is not None else [None] * length)
        return edges


class ContextRule:
    """What the layer does for an operator whose formula takes a context.

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
        self.operator, self.formula, self.form = operator, formula, form
        arguments = operator.definition.signature.arguments
        self.positions = tuple(i for i, a in enumerate(arguments) if a.type.is_tensor)
        self.label = node_name(operator.name)

    def __call__(self, entry: Entry, args: tuple[Any, ...]) -> Any:
        """Handle a call of the operator."""
        if not STATE.enabled():
            return entry.call_below(args)
        if self.form == "inplace":
            raise errors.InplaceError(
                f"{self.operator.name}: an operator with a custom backward has no in-place form to record"
            )
        nodes: list[Node | None] = []
        numbers: list[int] = []
        lengths: list[int] = []
        needs = [False] * len(args)
        for position in self.positions:
            value = args[position]
            listed = isinstance(value, list | tuple)
            lengths.append(len(value) if listed else -1)
            for item in value if listed else (value,):
                needy = isinstance(item, TensorBase) and bool(item.keys & STATE.bit)
                node, number = edge(item) if needy else (None, 0)
                nodes.append(node)
                numbers.append(number)
                needs[position] = needs[position] or needy
        result = entry.call_below(args)
        if not any(needs):
            return result
        node = start(ContextNode.__new__(ContextNode), tuple(nodes), tuple(numbers))
        node.formula, node.label, node.positions, node.lengths = (
            self.formula,
            self.label,
            self.positions,
            tuple(lengths),
        )
        context = Context(tuple(needs), self.label)
        node.context = context
        tensors = [result] if isinstance(result, TensorBase) else list(result)
        node.outputs = len(tensors)
        shapes, specs = tuple(tuple(t.shape) for t in tensors), tuple(t.spec for t in tensors)
        node.shape, node.spec = (shapes[0], specs[0]) if len(tensors) == 1 else (shapes, specs)
        if self.formula.setup_context is not None:
            self.formula.setup_context(context, args, result)
            _cut_cycles(context, tensors)
        for number, tensor in enumerate(tensors):
            if STATE.floating >> tensor.spec.code & 1:
                attach(tensor, node, number)
        return result


def _cut_cycles(context: Context, results: list[Any]) -> None:
    """Put aliases in the place of saved results: a result itself leads back to the node that saves it."""
    saved = list(context._saved or ())
    for place, value in enumerate(saved):
        for number, result in enumerate(results):
            if value is result:
                saved[place] = bare_alias(value)
                context._results[place] = number
    context._saved = tuple(saved)
