"""Rules and nodes of operators with a formula.

A rule, the autograd layer's function for such an operator, notes which differentiable arguments need a gradient, runs
what lies below, saves what their formulas take and attaches a node to the result.  The node computes the gradients.
This is a hot module: plain Python that Cython compiles with the C types of `rules.pxd`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.call.cached_call import CachedCall, LayerRule
from tt.core.library import OVERRIDDEN, Tensor, alias
from tt.core.tensor import blank
from tt.core.tensor.base import TensorBase, wrap_handle
from tt.plugins.autograd.record import codes, views
from tt.plugins.autograd.record import saved as saved_tensors
from tt.plugins.autograd.record.graph import STATE, AutogradMeta, Node, ViewMeta, attach, start

if TYPE_CHECKING:
    from tt.core.library import Operator

NO_NUMBERS: Final[tuple[tuple[int, ...], ...]] = ((), (0,), (0, 0))


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


class OpNode(Node):
    """The node of a call of an operator with a formula.

    Attributes
    ----------
    rule : GradientRule
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
    rule: GradientRule
    saved: tuple[Any, ...] | None
    starts: tuple[int, ...] | None
    versions: tuple[int, ...] | None

    def name(self) -> str:
        """Return the name that PyTorch gives such nodes."""
        return self.rule.node_name

    # Only nodes that a program sees become instances of a class of their own: making them, and calling their methods,
    # costs more than for the class written in C.
    def shown(self) -> Node:
        """Return the node; `type(node).__name__` is its name from now on."""
        if type(self) is OpNode:
            blank.become(self, node_class(self.rule.node_name))
        return self

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
        # Only a recorded pass differentiates through saved values; others are spared the links.
        linked = STATE.enabled()
        unpacked = []
        for slot in range(len(saved)):
            kind, position, _ = plan.slots[slot]
            value = saved[slot]
            if kind == codes.TENSOR or kind == codes.RESULT:
                if isinstance(value, TensorBase):
                    tensor = value
                    # A tensor without a storage object was never changed in place: a change makes one.
                    version = 0 if tensor._storage is None else tensor._storage.version
                    if version != (0 if self.versions is None else self.versions[slot]):
                        saved_tensors.raise_changed(
                            self.rule.node_name, tensor, 0 if self.versions is None else self.versions[slot]
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
                elif saved_tensors.version_of(value) != (0 if self.versions is None else self.versions[slot]):
                    saved_tensors.raise_changed(
                        self.rule.node_name, value, 0 if self.versions is None else self.versions[slot]
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
        # Without a gradient of the result all gradients are absent; formulas need not handle None.
        if first is None or (self.rule.takes_all and all_absent(gradients)):
            return results
        if self.rule.joint is not None:
            if wanted is not None and True not in wanted:
                return results
            return self.apply_joint(self.rule.joint, results, first, values)
        for number, function, slots in self.plan.calls:
            if self.starts is not None:
                self.apply_listed(self.starts, results, wanted, first, values, number, function, slots)
                continue
            if wanted is not None and not wanted[number]:
                continue
            # Written out: compiled, a call with a fixed number of arguments builds no list.
            count = len(slots)
            if count == 0:
                results[number] = function(first)
            elif count == 1:
                results[number] = function(first, values[slots[0]])
            elif count == 2:
                results[number] = function(first, values[slots[0]], values[slots[1]])
            else:
                results[number] = function(first, *[values[slot] for slot in slots])
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
        grads = joint(function(first, *[values[slot] for slot in slots]))
        for number, value in enumerate(grads):
            if self.starts is None:
                results[number] = value
                continue
            begin = self.starts[number]
            if number not in self.rule.list_places:
                results[begin] = value
            elif value is not None:
                results[begin : self.starts[number + 1]] = value
        return results

    def apply_listed(
        self,
        starts: tuple[int, ...],
        results: list[Any],
        wanted: Sequence[bool] | None,
        first: Any,
        values: tuple[Any, ...],
        number: int,
        function: Callable[..., Any],
        slots: tuple[int, ...],
    ) -> None:
        """Run one formula of a node some of whose arguments are lists."""
        begin = starts[number]
        end = starts[number + 1]
        if wanted is not None and not any(wanted[begin:end]):
            return
        grads = function(first, *[values[slot] for slot in slots])
        if number in self.rule.list_places:
            results[begin:end] = grads
        else:
            results[begin] = grads


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
    # Versions are never negative: a sum of zero says that all are.
    if total != 0:
        node.versions = saved_tensors.versions(node.plan, saved)
    if STATE.packing != 0:
        saved_tensors.pack_slots(node)


class GradientRule(LayerRule):
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

    Attributes
    ----------
    node_name : str
        The name of its nodes.
    list_places : frozenset of int
        The differentiable arguments that are lists.
    """

    __slots__ = (
        "differentiable", "first", "is_view", "joint", "list_places", "make_plan", "node_name", "operator", "plans",
        "second", "takes_all",
    )  # fmt: skip

    operator: Operator
    differentiable: tuple[int, ...]
    node_name: str
    takes_all: bool
    joint: Callable[[Any], Sequence[Any]] | None
    list_places: frozenset[int]
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
        # Indexed by the bit set of needy arguments; few arguments are differentiable, so the list is short.
        self.plans = [None] * (1 << len(differentiable))
        arguments = operator.definition.signature.arguments
        self.list_places = frozenset(
            number for number, position in enumerate(differentiable) if arguments[position].type.list
        )
        # The usual case, one or two differentiable arguments and no list, is written out in `call`.
        usual = len(differentiable) in (1, 2) and not self.list_places
        self.first = differentiable[0] if usual else -1
        self.second = differentiable[1] if usual and len(differentiable) == 2 else -1
        self.is_view = operator.definition.kind == "view"
        self.node_name = node_name(operator.name)

    def call(self, entry: CachedCall, args: tuple[Any, ...]) -> Any:
        """Handle a call of the operator."""
        # A counter of the process first: while it is zero, no call looks at thread-local state.
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
                # Nearly all arguments are result 0 of their node, and their nodes share one tuple of numbers.
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
        next_nodes = []
        for number in range(len(differentiable)):
            value = args[differentiable[number]]
            node = None
            if isinstance(value, TensorBase):
                tensor = value
                if tensor._keys & STATE.bit:
                    record = current(tensor)
                    node = record.node
                    far |= record.number
                    needs |= 1 << number
            next_nodes.append(node)
        result = run_below(entry, args)
        if needs == 0:
            return result
        numbers = self.numbers(args) if far != 0 else (0,) * len(next_nodes)
        return self.finish(args, result, needs, tuple(next_nodes), numbers, None)

    def numbers(self, args: tuple[Any, ...]) -> tuple[int, ...]:
        """Return, for each differentiable argument, which result of its node it is."""
        result = []
        for position in self.differentiable:
            value = args[position]
            # `current` has brought these records up to date.
            if isinstance(value, TensorBase) and value._keys & STATE.bit:
                result.append(value._record.number)
            else:
                result.append(0)
        return tuple(result)

    def edges(
        self, args: Sequence[Any]
    ) -> tuple[int, tuple[Node | None, ...], tuple[int, ...], tuple[int, ...]]:
        """Return the needy arguments as a bit set, and the nodes, numbers and starts of all edges."""
        needs = 0
        nodes: list[Node | None] = []
        numbers: list[int] = []
        starts: list[int] = []
        for index, position in enumerate(self.differentiable):
            starts.append(len(nodes))
            value = args[position]
            for item in value if isinstance(value, list | tuple) else (value,):
                node = None
                number = 0
                if isinstance(item, TensorBase) and item._keys & STATE.bit:
                    node, number = views.edge(item)
                    needs |= 1 << index
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
            # A result with a history is an argument itself: a node for it would lead back to it.
            if single._keys & STATE.bit or not STATE.floating >> single._spec.code & 1:
                return result
            # By `__new__`: compiled, that is one allocation; `start` and the lines below fill it.
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
            elif single._root is not None:
                # A composite below returned a view of what only it knows: to the program the result is no view.
                single._root = None
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
                    elif tensor._root is not None:  # as above
                        tensor._root = None
            # A formula of `g` alone knows the gradient of the first result; the others get no history.
            if not self.takes_all:
                break
        return results

    def note_view(self, result: TensorBase, record: AutogradMeta, args: tuple[Any, ...], index: int) -> None:
        """Note that a result shares the memory of the first argument."""
        source = args[0]
        root = source if source._root is None else source._root
        # A root of another dtype or layout shares bits, perhaps not values.
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
    # An assignment to `.data` changes the shape or dtype of a leaf behind the back of its node.
    if record.leaf and (record.node.spec is not tensor._spec or record.node.shape != tensor._handle.shape):
        views.renew(tensor, record)
    return record


def node_name(op: str) -> str:
    """Return the name of an operator's nodes: "log_softmax" gives LogSoftmaxBackward0."""
    base = op.rsplit("::", 1)[-1].split(".")[0]
    return "".join(word[:1].upper() + word[1:] for word in base.split("_")) + "Backward0"


@cache
def node_class(name: str) -> type[OpNode]:
    """Return the class of the nodes of a name that programs have seen."""
    return type(name, (OpNode,), {"__slots__": (), "__module__": __name__})


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
