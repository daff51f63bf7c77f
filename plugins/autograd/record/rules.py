"""Rules: the autograd layer's functions for operators with a formula.

A rule notes which differentiable arguments need a gradient, runs what lies below, saves what their formulas take and
attaches a node to the result.  This is a hot module: plain Python that Cython compiles with the C types of
`rules.pxd` where it can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.call.cached_call import CachedCall
from tt.core.tensor.base import TensorBase
from tt.plugins.autograd.record import views
from tt.plugins.autograd.record.graph import STATE, AutogradMeta, Node, ViewMeta, attach, start
from tt.plugins.autograd.record.op_node import FormulaRule, OpNode, SavePlan, save

if TYPE_CHECKING:
    from tt.core.library import Operator

NO_NUMBERS: Final[tuple[tuple[int, ...], ...]] = ((), (0,), (0, 0))


class GradientRule(FormulaRule):
    """The layer's rule for the functional form of an operator with a formula.

    Parameters
    ----------
    operator : Operator
        The operator.
    differentiable : tuple of int
        Positions of the arguments that have a formula.
    make_plan : callable
        Bit set of needy arguments -> SavePlan.
    takes_all : bool
        Whether the formulas take the gradients of all results as a list, instead of that of the first one.
    joint : callable or None
        Given if one formula serves all arguments: orders its results by the differentiable arguments.
    """

    __slots__ = ("first", "is_view", "make_plan", "plans", "second")

    make_plan: Callable[[int], SavePlan]
    plans: list[SavePlan | None]
    first: int
    second: int
    is_view: bool

    def __init__(
        self,
        operator: Operator,
        differentiable: tuple[int, ...],
        make_plan: Callable[[int], SavePlan],
        takes_all: bool,
        joint: Callable[[Any], Sequence[Any]] | None = None,
    ) -> None:
        self.operator = operator
        self.differentiable = differentiable
        self.make_plan = make_plan
        self.takes_all = takes_all
        self.joint = joint
        self.plans = [None] * (1 << len(differentiable))
        arguments = operator.definition.signature.arguments
        self.list_places = frozenset(
            place for place, position in enumerate(differentiable) if arguments[position].type.list
        )
        # The usual case, one or two differentiable arguments and no list, is written out in `call`.
        usual = len(differentiable) in (1, 2) and not self.list_places
        self.first = differentiable[0] if usual else -1
        self.second = differentiable[1] if usual and len(differentiable) == 2 else -1
        self.is_view = operator.definition.kind == "view"
        self.node_name = node_name(operator.name)

    def call(self, entry: CachedCall, args: tuple[Any, ...]) -> Any:
        """Handle a call of the operator."""
        if STATE.switched_off != 0 and not STATE.enabled():
            return views.unrecorded(entry, args) if self.is_view else run_below(entry, args)
        first = self.first
        second = self.second
        needs = 0
        one: Node | None = None
        other: Node | None = None
        numbers: tuple[int, ...] | None = NO_NUMBERS[1]
        if first < 0:
            return self.call_many(entry, args)
        value = args[first]
        if isinstance(value, TensorBase):
            tensor = value
            if tensor._keys & STATE.bit:
                record = current(tensor)
                one = record.node
                if record.number != 0:
                    numbers = None
                needs = 1
        if second >= 0:
            value = args[second]
            if isinstance(value, TensorBase):
                tensor = value
                if tensor._keys & STATE.bit:
                    record = current(tensor)
                    other = record.node
                    if record.number != 0:
                        numbers = None
                    needs |= 2
            if numbers is not None:
                numbers = NO_NUMBERS[2]
        result = run_below(entry, args)
        if needs == 0:
            return result
        if numbers is None:
            numbers = self.numbers(args)
        return self.finish(args, result, needs, (one,) if second < 0 else (one, other), numbers, None)

    def call_many(self, entry: CachedCall, args: tuple[Any, ...]) -> Any:
        """Handle a call with more than two differentiable arguments, or lists of them."""
        if self.list_places:
            needs, nodes, numbers, starts = self.edges(args)
            result = run_below(entry, args)
            if needs == 0:
                return result
            return self.finish(args, result, needs, nodes, numbers, starts)
        differentiable = self.differentiable
        needs = 0
        far = 0
        found = []
        for place in range(len(differentiable)):
            value = args[differentiable[place]]
            node = None
            if isinstance(value, TensorBase):
                tensor = value
                if tensor._keys & STATE.bit:
                    record = current(tensor)
                    node = record.node
                    far |= record.number
                    needs |= 1 << place
            found.append(node)
        result = run_below(entry, args)
        if needs == 0:
            return result
        numbers = self.numbers(args) if far != 0 else (0,) * len(found)
        return self.finish(args, result, needs, tuple(found), numbers, None)

    def numbers(self, args: tuple[Any, ...]) -> tuple[int, ...]:
        """Return, for each differentiable argument, which result of its node it is."""
        found = []
        for position in self.differentiable:
            value = args[position]
            if isinstance(value, TensorBase) and value._keys & STATE.bit:
                found.append(value._record.number)
            else:
                found.append(0)
        return tuple(found)

    def edges(
        self, args: Sequence[Any]
    ) -> tuple[int, tuple[Node | None, ...], tuple[int, ...], tuple[int, ...]]:
        """Return the needy arguments as a bit set, and the nodes, numbers and starts of all edges."""
        needs = 0
        nodes: list[Node | None] = []
        numbers: list[int] = []
        starts: list[int] = []
        for place, position in enumerate(self.differentiable):
            starts.append(len(nodes))
            value = args[position]
            for item in value if isinstance(value, list | tuple) else (value,):
                node = None
                number = 0
                if isinstance(item, TensorBase) and item._keys & STATE.bit:
                    node, number = views.edge(item)
                    needs |= 1 << place
                nodes.append(node)
                numbers.append(number)
        starts.append(len(nodes))
        return needs, tuple(nodes), tuple(numbers), tuple(starts)

    def plan(self, needs: int) -> SavePlan:
        """Return the plan for a set of needy arguments."""
        plan = self.plans[needs]
        if plan is None:
            plan = self.make_plan(needs)
            self.plans[needs] = plan
        return plan

    def finish(
        self,
        args: tuple[Any, ...],
        result: Any,
        needs: int,
        nodes: tuple[Node | None, ...],
        numbers: tuple[int, ...],
        starts: tuple[int, ...] | None,
    ) -> Any:
        """Attach a new node to the result of a call and return the result."""
        if isinstance(result, TensorBase):
            single = result
            if single._keys & STATE.bit or not STATE.floating >> single._spec.code & 1:
                return result
            node = OpNode.__new__(OpNode)
            start(node, nodes, numbers)
            node.rule = self
            node.starts = starts
            node.plan = self.plan(needs)
            node.shape = single._handle.shape
            node.spec = single._spec
            save(node, args, result)
            record = attach(single, node, 0)
            if self.is_view:
                self.note_view(single, record, args, -1)
            return result
        return self.finish_several(args, result, needs, nodes, numbers, starts)

    def finish_several(
        self,
        args: tuple[Any, ...],
        results: Any,
        needs: int,
        nodes: tuple[Node | None, ...],
        numbers: tuple[int, ...],
        starts: tuple[int, ...] | None,
    ) -> Any:
        """Attach a new node to several results."""
        shapes = []
        specs = []
        for result in results:
            if isinstance(result, TensorBase):
                tensor = result
                shapes.append(tensor._handle.shape)
                specs.append(tensor._spec)
        if not shapes:
            return results
        node = OpNode.__new__(OpNode)
        start(node, nodes, numbers)
        node.rule = self
        node.starts = starts
        node.plan = self.plan(needs)
        node.outputs = len(results)
        if node.outputs == 1:
            node.shape = shapes[0]
            node.spec = specs[0]
        else:
            node.shape = tuple(shapes)
            node.spec = tuple(specs)
        save(node, args, results)
        for number, result in enumerate(results):
            if isinstance(result, TensorBase):
                tensor = result
                if STATE.floating >> tensor._spec.code & 1:
                    record = attach(tensor, node, number)
                    if self.is_view:
                        self.note_view(tensor, record, args, number)
            if not self.takes_all:
                break
        return results

    def note_view(self, result: TensorBase, record: AutogradMeta, args: tuple[Any, ...], index: int) -> None:
        """Note that a result shares the memory of the first argument."""
        source = args[0]
        root = source if source._root is None else source._root
        if root._spec is not source._spec:
            root = views.root_of(source)
        result._root = root
        storage = result._storage
        record.view = ViewMeta(root, self.operator, args, index, 0 if storage is None else storage.version)


def current(tensor: TensorBase) -> AutogradMeta:
    """Return the record of a tensor that requires a gradient, after a look at whether it is still right."""
    record: AutogradMeta = tensor._record
    if record.view is not None:
        views.refresh(tensor, record)
    if record.leaf and (record.node.spec is not tensor._spec or record.node.shape != tensor._handle.shape):
        views.renew(tensor, record)
    return record


def node_name(op: str) -> str:
    """Return the name of an operator's nodes: "log_softmax" gives LogSoftmaxBackward0."""
    base = op.rsplit("::", 1)[-1].split(".")[0]
    return "".join(word[:1].upper() + word[1:] for word in base.split("_")) + "Backward0"


def run_below(entry: CachedCall, args: tuple[Any, ...]) -> Any:
    """Return the result of `entry.call_below`, by the shortest path where one kernel takes bare handles."""
    below = entry.below
    if not below.direct:
        return entry.call_below(args)
    choice = below.choices[0]
    if not choice.accepts(args):
        return entry.call_below(args)
    tensor = args[0]
    value = None
    if choice.leading == 2:
        value = args[1]
        if isinstance(value, TensorBase):
            second = value
            value = second._handle
    try:
        handle = below.plain(tensor._handle) if choice.leading == 1 else below.plain(tensor._handle, value)
    except Exception as error:
        handle = below.direct_failed(error, args)
    return below.wrap_direct(handle)
