"""The graph: one node for each recorded call, and each tensor's place in it.

A tensor that requires a gradient carries the key bit of the layer and an `AutogradMeta` in the slot that the core keeps
for layers.  Edges point from results to arguments.  This is a hot module: plain Python that Cython compiles with the C
types of `graph.pxd` where it can.

Note [Freeing long chains]
--------------------------
A node holds its successors in a tuple, never in an attribute of its own.  CPython frees nested tuples without
recursing on the C stack; a chain of compiled objects that point to each other directly would overflow it.

Note [Values saved by a node]
-----------------------------
An argument that a formula needs is saved as it is, with its version: no alias is made.  Keeping it keeps its history,
which the edges keep anyway.  A result is saved as an alias without a record, since the record leads back to the node.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tt.core.tensor.base import TensorBase, TensorSpec
from tt.plugins.autograd.record.grad_state import STATE
from tt.plugins.autograd.record.hooks import RemovableHandle, add_hook

if TYPE_CHECKING:
    from tt.core.library import Tensor

__all__ = [
    "STATE",
    "AccumulateGrad",
    "AutogradMeta",
    "Graphless",
    "Node",
    "NodeHooks",
    "RemovableHandle",
    "Retained",
    "ViewMeta",
    "add_hook",
    "attach",
    "clear_gradient",
    "is_tensor",
    "leaf_record",
    "start",
]

NodeKind = TypeVar("NodeKind", bound="Node")

_STATE = STATE  # has a C type where compiled; STATE is the name that other modules import


class AutogradMeta:
    """Autograd's data of a tensor.

    Attributes
    ----------
    node : Node or None
        What computed the tensor, or an `AccumulateGrad` for a leaf.
    number : int
        Which result of the node it is.
    leaf : bool
        Whether the tensor is a leaf.
    view : ViewMeta or None
        How it looks at the memory of another tensor, where both may be changed in place.
    retained : Retained or None
        Where the gradient of a tensor other than a leaf is kept.
    """

    __slots__ = ("leaf", "node", "number", "retained", "view")

    # Any: a record of a tensor that requires a gradient has one, and few others are looked at.
    node: Any
    number: int
    leaf: bool
    view: ViewMeta | None
    retained: Retained | None

    def __init__(self, node: Node | None = None, number: int = 0, leaf: bool = False) -> None:
        self.node = node
        self.number = number
        self.leaf = leaf
        self.view = None
        self.retained = None


class ViewMeta:
    """How a tensor views the memory of another, so that its history can be rebuilt after an in-place change.

    Attributes
    ----------
    root : Tensor
        The base tensor, which is not a view itself and whose history counts.
    operator : Operator or None
        What made the view; None: `as_strided` with the geometry in `args`.
    args : tuple
        The arguments of that call; args[0] is the tensor that was viewed.
    index : int
        Which of the results; -1 when there is one.
    version : int
        The version of the memory for which the record's node is right.
    """

    __slots__ = ("args", "index", "operator", "root", "version")

    root: Any
    operator: Any
    args: tuple[Any, ...]
    index: int
    version: int

    def __init__(self, root: Any, operator: Any, args: tuple[Any, ...], index: int, version: int) -> None:
        self.root = root
        self.operator = operator
        self.args = args
        self.index = index
        self.version = version


class Retained:
    """The gradient that `retain_grad` keeps; shared by the record and the node, which must not hold each other."""

    __slots__ = ("gradient",)

    gradient: Tensor | None

    def __init__(self) -> None:
        self.gradient = None


class NodeHooks:
    """Data that few nodes have: hooks and retained gradients.

    Attributes
    ----------
    tensor_hooks : dict of int to dict
        Hooks on the gradient of each result.
    retained : dict of int to Retained
        Where to keep the gradient of each result.
    before, after : dict
        Hooks on the node: before(gradients), after(gradients of arguments, gradients of results).
    accumulated : dict
        Hooks on a leaf that has got its gradient: accumulated(leaf).
    metadata : dict
        The user's.
    frozen : bool
        Whether the leaf of this end does not require a gradient just now, so that passes leave it alone.
    """

    __slots__ = ("accumulated", "after", "before", "frozen", "metadata", "retained", "tensor_hooks")

    accumulated: dict[int, Callable[..., Any]]
    after: dict[int, Callable[..., Any]]
    before: dict[int, Callable[..., Any]]
    frozen: bool
    metadata: dict[Any, Any]
    retained: dict[int, Retained]
    tensor_hooks: dict[int, dict[int, Callable[..., Any]]]

    def __init__(self) -> None:
        self.tensor_hooks = {}
        self.retained = {}
        self.before = {}
        self.after = {}
        self.accumulated = {}
        self.metadata = {}
        self.frozen = False


class Node:
    """One step of a backward pass: from the gradients of results to those of arguments.

    Attributes
    ----------
    next_nodes : tuple of (Node or None)
        For each differentiable argument the node to which its gradient goes.
    next_numbers : tuple of int
        Which result of that node the argument is.
    sequence : int
        Later nodes have higher numbers, so that descending order is a topological one; leaves have negative ones.
    outputs : int
        How many results the node has.
    shape, spec : tuple and TensorSpec
        Of the result; tuples of these for several results.
    extras : NodeHooks or None
        Hooks.
    """

    __slots__ = (
        "__weakref__",
        "extras",
        "next_nodes",
        "next_numbers",
        "outputs",
        "sequence",
        "shape",
        "spec",
    )

    # Any: code that looks at hooks has checked that there are some.
    extras: Any
    next_nodes: tuple[Node | None, ...]
    next_numbers: tuple[int, ...]
    outputs: int
    sequence: int
    shape: tuple[Any, ...]
    spec: Any

    def apply(self, gradients: list[Any], wanted: Sequence[bool] | None) -> Sequence[Any]:
        """Return the gradients of the arguments.

        Parameters
        ----------
        gradients : list of (Tensor or None)
            Those of the results.
        wanted : tuple of bool, or None
            Which edges need a gradient; None for all.

        Returns
        -------
        sequence of (Tensor or None)
            One for each edge.
        """
        raise NotImplementedError(f"{type(self).__name__}.apply")

    def __call__(self, *gradients: Any) -> Any:
        """Return the gradients of the arguments for those of the results, outside of a pass: without hooks."""
        if len(gradients) != self.outputs:
            from tt.core.library import errors

            problem = f"expected {self.outputs} arguments, got {len(gradients)} instead: one for each result"
            raise errors.ArgumentError(self.name(), problem)
        results = self.apply(list(gradients), None)
        return results[0] if len(results) == 1 else tuple(results)

    def release(self) -> None:
        """Drop what was saved, after a backward pass that does not keep the graph."""

    def shape_of(self, number: int) -> tuple[int, ...]:
        """Return the shape of a result."""
        shape: tuple[int, ...] = self.shape if self.outputs == 1 else self.shape[number]
        return shape

    def spec_of(self, number: int) -> TensorSpec:
        """Return the spec of a result."""
        spec: TensorSpec = self.spec if self.outputs == 1 else self.spec[number]
        return spec

    def ensure_extras(self) -> NodeHooks:
        """Return the extras, making them if there are none yet."""
        extras: NodeHooks | None = self.extras
        if extras is None:
            extras = NodeHooks()
            self.extras = extras
        return extras

    def name(self) -> str:
        """Return the name, as PyTorch gives it: MulBackward0."""
        return type(self).__name__

    def shown(self) -> Node:
        """Return the node for a program to look at: its class has its name."""
        return self

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The edges as ((node, number), ...); (None, 0) where an argument needs no gradient."""
        nodes = [None if node is None else node.shown() for node in self.next_nodes]
        return tuple(zip(nodes, self.next_numbers, strict=True))

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict of the user's."""
        return self.ensure_extras().metadata

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after the node; its result replaces grad_inputs."""
        return add_hook(self.ensure_extras().after, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before the node; its result replaces grad_outputs."""
        return add_hook(self.ensure_extras().before, hook)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


class AccumulateGrad(Node):
    """The end of a path: adds the gradient to `.grad` of a leaf.

    Attributes
    ----------
    gradient : Tensor or None
        The leaf's `.grad`.
    """

    __slots__ = ("_variable", "gradient")

    gradient: Tensor | None
    _variable: weakref.ref[Tensor]

    def __init__(self, tensor: Any) -> None:
        self.next_nodes = ()
        self.next_numbers = ()
        self.outputs = 1
        self.shape = tuple(tensor._handle.shape)
        self.spec = tensor._spec
        # Negative, so that leaves come after all other nodes, in the order in which they were first used.
        self.sequence = -STATE.tick()
        self.extras = None
        self.gradient = None
        # The leaf holds its record, which holds this node: a strong reference would close a cycle.
        self._variable = weakref.ref(tensor)

    def apply(self, gradients: list[Any], wanted: Sequence[bool] | None) -> Sequence[Any]:
        """Add a gradient to `.grad`; a pass does so itself."""
        from tt.plugins.autograd.backward.engine import accumulate

        accumulate(self, gradients, _STATE.enabled())
        return ()

    @property
    def variable(self) -> Tensor | None:
        """The leaf, or None when it is gone."""
        return self._variable()


class Graphless(Node):
    """The node of an operation without a formula: its result can be used, its gradient cannot.

    Attributes
    ----------
    reason : str
        The text of the error.
    """

    __slots__ = ("reason",)

    reason: str

    def apply(self, gradients: list[Any], wanted: Sequence[bool] | None) -> Sequence[Any]:
        """Refuse, unless no gradient has come."""
        if all([gradient is None for gradient in gradients]):  # noqa: C419  # no generator: this is compiled
            return (None,) * len(self.next_nodes)
        from tt.core.library import errors

        raise errors.NoDerivativeError(self.reason)

    def name(self) -> str:
        """Return the name that PyTorch gives such nodes."""
        return "NotImplemented"


def start(node: NodeKind, next_nodes: tuple[Node | None, ...], next_numbers: tuple[int, ...]) -> NodeKind:
    """Give a new node its edges and its place in the order."""
    node.next_nodes = next_nodes
    node.next_numbers = next_numbers
    node.extras = None
    node.outputs = 1
    node.sequence = _STATE.tick()
    if _STATE.anomaly != 0:
        from tt.plugins.autograd.features.anomaly import note_origin

        note_origin(node)
    return node


def attach(tensor: TensorBase, node: Node, number: int) -> AutogradMeta:
    """Make a tensor a result of a node."""
    # Field by field, without `__init__`: each recorded call comes here.
    record = AutogradMeta.__new__(AutogradMeta)
    record.node = node
    record.number = number
    record.leaf = False
    record.view = None
    record.retained = None
    tensor._record = record
    tensor._keys |= _STATE.bit
    return record


def leaf_record(tensor: TensorBase) -> AutogradMeta:
    """Return the record of a leaf, making it if there is none."""
    record: AutogradMeta | None = tensor._record
    if record is None:
        record = AutogradMeta(None, 0, True)
        tensor._record = record
    if record.node is None:
        record.node = AccumulateGrad(tensor)
        record.leaf = True
    return record


def clear_gradient(tensor: TensorBase, wrapped: int) -> bool:
    """Drop the `.grad` of a leaf; return False for views, wrapped tensors and others, which take more than that.

    Training loops do this for each parameter and step.
    """
    meta = tensor._record
    if tensor._keys & wrapped or not isinstance(meta, AutogradMeta):
        return False
    record = meta
    if not record.leaf or record.view is not None:
        return False
    node = record.node
    if isinstance(node, AccumulateGrad):
        end = node
        end.gradient = None
    return True


def is_tensor(value: object) -> bool:
    """Return whether a value is a tensor."""
    return isinstance(value, TensorBase)
