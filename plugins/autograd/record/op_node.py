"""Nodes of operators with a formula: their saved values, and the gradients that they compute.

This is a hot module: plain Python that Cython compiles with the C types of `op_node.pxd`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.call.cached_call import LayerRule
from tt.core.library import OVERRIDDEN, Tensor, alias
from tt.core.tensor.base import TensorBase, wrap_handle
from tt.plugins.autograd.record import codes
from tt.plugins.autograd.record import saved as saved_tensors
from tt.plugins.autograd.record.grad_state import STATE
from tt.plugins.autograd.record.graph import Node

if TYPE_CHECKING:
    from tt.core.library import Operator


class SavePlan:
    """The values to save and to compute when a certain set of arguments needs gradients.

    Attributes
    ----------
    slots : tuple of (kind, position, fact)
        The saved values: an argument as it is, a tensor, a list of tensors, a result, or a fact (shape, dtype, ...) of
        an argument.
    calls : tuple of (place, function, tuple of slot)
        For each differentiable argument that needs it: its place among the differentiable ones, the formula, and
        the slots that the formula takes after the gradient.
    keeps_tensors : bool
        Whether a slot holds a tensor, so that the graph can be used once only.
    reusable : bool
        Whether it can be used again all the same: the tensors are small tables that no user's code can change.
    """

    __slots__ = ("calls", "keeps_tensors", "reusable", "saves_self", "slots")

    slots: tuple[tuple[int, int, Any], ...]
    calls: tuple[tuple[int, Callable[..., Any], tuple[int, ...]], ...]
    keeps_tensors: bool
    reusable: bool
    saves_self: bool

    def __init__(
        self,
        slots: tuple[tuple[int, int, Any], ...],
        calls: tuple[tuple[int, Callable[..., Any], tuple[int, ...]], ...],
        reusable: bool = False,
    ) -> None:
        self.reusable = reusable
        self.slots = slots
        self.calls = calls
        self.keeps_tensors = any(kind in (codes.TENSOR, codes.TENSORS, codes.RESULT) for kind, _, _ in slots)
        self.saves_self = any(kind == codes.TENSOR and position == 0 for kind, position, _ in slots)


class FormulaRule(LayerRule):
    """What nodes use of the rule that made them.

    Attributes
    ----------
    operator : Operator
        The operator.
    differentiable : tuple of int
        Positions of the arguments that have a formula.
    node_name : str
        The name of its nodes.
    takes_all : bool
        Whether the formulas take the gradients of all results as a list, instead of that of the first one.
    joint : callable or None
        Given if one formula serves all arguments: orders its results by the differentiable arguments.
    list_places : frozenset of int
        The differentiable arguments that are lists.
    """

    __slots__ = ("differentiable", "joint", "list_places", "node_name", "operator", "takes_all")

    operator: Operator
    differentiable: tuple[int, ...]
    node_name: str
    takes_all: bool
    joint: Callable[[Any], Sequence[Any]] | None
    list_places: frozenset[int]


class OpNode(Node):
    """The node of a call of an operator with a formula.

    Attributes
    ----------
    rule : FormulaRule
        Made the node.
    plan : SavePlan
        The values to save and the gradients to compute.
    saved : tuple or None
        What fills the slots; None once released.
    versions : tuple of int, or None
        The versions of the saved tensors; None when all are zero.
    starts : tuple of int, or None
        Where the edges of each differentiable argument start; None when each has one.
    """

    __slots__ = ("plan", "rule", "saved", "starts", "versions")

    plan: SavePlan
    rule: FormulaRule
    saved: tuple[Any, ...] | None
    starts: tuple[int, ...] | None
    versions: tuple[int, ...] | None

    def name(self) -> str:
        """Return the name that PyTorch gives such nodes."""
        return self.rule.node_name

    def __getattr__(self, name: str) -> Any:
        """Return the saved value of an argument or result: `_saved_self`, `_saved_dim`, `_saved_result`."""
        if name.startswith("_saved_"):
            return saved_tensors.attribute(self, name[7:])
        if name.startswith("_raw_saved_"):
            return saved_tensors.raw_attribute(self, name[11:])
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        """Name the attributes, with those of what was saved."""
        return [*object.__dir__(self), *saved_tensors.attribute_names(self)]

    def release(self) -> None:
        """Drop what was saved; nodes that saved no tensors, or only tables, can be used again."""
        if self.plan.keeps_tensors and not self.plan.reusable:
            self.saved = None

    def unpack(self) -> tuple[Any, ...]:
        """Return the saved values after a check of the versions."""
        saved = self.saved
        plan = self.plan
        if saved is None:
            saved_tensors.raise_released()
        if not plan.keeps_tensors:
            return saved
        linked = STATE.enabled()
        unpacked = []
        for place in range(len(saved)):
            kind, position, _ = plan.slots[place]
            value = saved[place]
            if kind == codes.TENSOR or kind == codes.RESULT:
                if isinstance(value, TensorBase):
                    tensor = value
                    version = 0 if tensor._storage is None else tensor._storage.version
                    if version != (0 if self.versions is None else self.versions[place]):
                        saved_tensors.raise_changed(
                            self.rule.node_name, tensor, 0 if self.versions is None else self.versions[place]
                        )
                    if linked:
                        value = saved_tensors.linked(self, tensor, kind, position)
                elif isinstance(value, saved_tensors.Packed):
                    value = value.unpack()
                    if linked:
                        value = saved_tensors.linked(self, value, kind, position)
            elif kind == codes.TENSORS:
                if isinstance(value, saved_tensors.Packed):
                    value = value.unpack()
                elif saved_tensors.version_of(value) != (
                    0 if self.versions is None else self.versions[place]
                ):
                    saved_tensors.raise_changed(
                        self.rule.node_name, value, 0 if self.versions is None else self.versions[place]
                    )
                if linked:
                    value = saved_tensors.linked_list(self, value, position)
            unpacked.append(value)
        return tuple(unpacked)

    def apply(self, gradients: list[Any], wanted: Sequence[bool] | None) -> Sequence[Any]:
        """Run the formulas of the wanted edges."""
        values = self.unpack()
        results: list[Any] = [None] * len(self.next_nodes)
        first = gradients if self.rule.takes_all else gradients[0]
        if first is None or (self.rule.takes_all and all_absent(gradients)):
            return results
        if self.rule.joint is not None:
            if wanted is not None and True not in wanted:
                return results
            return self.apply_joint(self.rule.joint, results, first, values)
        for place, function, slots in self.plan.calls:
            if self.starts is not None:
                self.apply_listed(self.starts, results, wanted, first, values, place, function, slots)
                continue
            if wanted is not None and not wanted[place]:
                continue
            count = len(slots)
            if count == 0:
                results[place] = function(first)
            elif count == 1:
                results[place] = function(first, values[slots[0]])
            elif count == 2:
                results[place] = function(first, values[slots[0]], values[slots[1]])
            else:
                results[place] = function(first, *[values[slot] for slot in slots])
        return results

    def apply_joint(
        self,
        joint: Callable[[Any], Sequence[Any]],
        results: list[Any],
        first: Any,
        values: tuple[Any, ...],
    ) -> list[Any]:
        """Run the one formula of all arguments."""
        _, function, slots = self.plan.calls[0]
        found = joint(function(first, *[values[slot] for slot in slots]))
        for place, value in enumerate(found):
            if self.starts is None:
                results[place] = value
                continue
            begin = self.starts[place]
            if place not in self.rule.list_places:
                results[begin] = value
            elif value is not None:
                results[begin : self.starts[place + 1]] = value
        return results

    def apply_listed(
        self,
        starts: tuple[int, ...],
        results: list[Any],
        wanted: Sequence[bool] | None,
        first: Any,
        values: tuple[Any, ...],
        place: int,
        function: Callable[..., Any],
        slots: tuple[int, ...],
    ) -> None:
        """Run one formula of a node some of whose arguments are lists."""
        begin = starts[place]
        end = starts[place + 1]
        if wanted is not None and not any(wanted[begin:end]):
            return
        found = function(first, *[values[slot] for slot in slots])
        if place in self.rule.list_places:
            results[begin:end] = found
        else:
            results[begin] = found


def all_absent(gradients: list[Any]) -> bool:
    """Return whether no result has a gradient."""
    return all([gradient is None for gradient in gradients])  # noqa: C419  # no generator: this is compiled


def bare_alias(tensor: TensorBase) -> Tensor:
    """Return an alias of a tensor without a record; see Note [Values saved by a node] in `graph`."""
    if tensor._keys & OVERRIDDEN:
        return alias(tensor, STATE.bit)
    new = wrap_handle(Tensor, tensor._handle, tensor._spec, tensor._keys & ~STATE.bit, tensor._promotion)
    new._storage = tensor._ensure_storage()
    return new


def save(node: OpNode, args: Sequence[Any], result: Any) -> None:
    """Fill the slots of a node."""
    slots = node.plan.slots
    node.versions = None
    if not slots:
        node.saved = ()
        return
    saved = []
    total = 0
    for kind, position, fact in slots:
        if kind == codes.RESULT:
            value = bare_alias(result if isinstance(result, TensorBase) else result[position])
        elif kind == codes.FACT:
            value = fact(args[position])
        else:
            value = args[position]
        saved.append(value)
        if kind == codes.TENSOR or kind == codes.RESULT:
            if isinstance(value, TensorBase):
                tensor = value
                if tensor._keys & STATE.inference_bit:
                    saved_tensors.refuse_inference(node.rule.node_name)
                if tensor._storage is not None:
                    total += tensor._storage.version
        elif kind == codes.TENSORS:
            total += saved_tensors.version_of(value)
    node.saved = tuple(saved)
    if total != 0:
        node.versions = saved_tensors.versions(node.plan, saved)
    if STATE.packing != 0:
        saved_tensors.pack_slots(node)
