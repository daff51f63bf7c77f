"""Saved tensors: checks that they are unchanged, their place in the graph, and hooks that store them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tt.core.library import Carried, TensorBase, alias, as_kind, errors, seen
from tt.plugins.autograd.record import codes
from tt.plugins.autograd.record.graph import STATE, Node, attach
from tt.plugins.autograd.record.modes import recording

if TYPE_CHECKING:
    from tt.plugins.autograd.record.rules import OpNode, SavePlan

__all__ = [
    "HOOKS",
    "Packed",
    "SavedTensor",
    "SavedTensors",
    "attribute",
    "attribute_names",
    "linked",
    "linked_list",
    "pack_slots",
    "raise_changed",
    "raise_released",
    "refuse_inference",
    "same_kind",
    "version_of",
    "versions",
    "with_edge",
]

WITH_TENSORS: Final = (codes.TENSOR, codes.TENSORS, codes.RESULT)
"""The slots of a plan whose values have versions, and go through the hooks."""


def raise_released() -> NoReturn:
    """Refuse to use values that a backward pass has freed."""
    raise errors.GradientError(
        "the tensors that this graph had saved are gone: a backward frees them. Specify retain_graph=True in the "
        "first one to run a second, or to read them afterwards"
    )


def refuse_inference(node: str) -> None:
    """Refuse to save a tensor that was made in inference mode, unless a transform saves it for itself."""
    from tt.plugins.autograd.transforms.levels import is_differentiating  # here: seldom needed

    if is_differentiating():
        return
    raise errors.InferenceTensorError(
        f"{node} would save a tensor that was made in inference mode for the backward pass\n"
        "  such tensors have no version counter, so later changes would go unnoticed\n"
        "  try: clone() it outside of inference_mode() first, or use no_grad() instead of inference_mode()"
    )


def version_of(value: Any) -> int:
    """Return the version of a tensor, or the sum of the versions of the tensors in a list."""
    if isinstance(value, TensorBase):
        return 0 if value._storage is None else int(value._storage.version)
    return sum(version_of(item) for item in value) if isinstance(value, list | tuple) else 0


def versions(plan: SavePlan, saved: Sequence[Any]) -> tuple[int, ...]:
    """Return the version of each slot's value; zero if it is not a tensor."""
    return tuple(
        version_of(value) if kind in WITH_TENSORS else 0
        for (kind, _, _), value in zip(plan.slots, saved, strict=True)
    )


def raise_changed(node: str, value: Any, expected: int) -> NoReturn:
    """Refuse to use a saved tensor that was changed in place."""
    tensor = value if isinstance(value, TensorBase) else next(t for t in value if isinstance(t, TensorBase))
    raise errors.SavedTensorError(node, tuple(tensor.shape), tensor.dtype.name, expected, version_of(value))


def linked(node: OpNode, tensor: TensorBase, kind: int, position: int) -> TensorBase:
    """Return a saved tensor with its place in the graph, for a backward pass that is recorded itself."""
    if kind == codes.RESULT:
        return with_edge(tensor, node, position) if STATE.floating >> tensor._spec.code & 1 else tensor
    differentiable = node.rule.differentiable
    if position not in differentiable:
        return tensor
    # Edges are numbered by differentiable argument; a list has one edge for each of its tensors.
    edge_number = differentiable.index(position)
    if node.starts is not None:
        edge_number = node.starts[edge_number]
    return with_edge(tensor, node.next_nodes[edge_number], node.next_numbers[edge_number])


def linked_list(node: OpNode, tensors: Sequence[Any], position: int) -> list[Any]:
    """Return a saved list of tensors with their places in the graph."""
    differentiable = node.rule.differentiable
    if position not in differentiable or node.starts is None:
        return list(tensors)
    begin = node.starts[differentiable.index(position)]
    return [
        with_edge(t, node.next_nodes[begin + i], node.next_numbers[begin + i])
        if isinstance(t, TensorBase)
        else t
        for i, t in enumerate(tensors)
    ]


def same_kind(new: Any, tensor: Any) -> Any:
    """Return an alias of a tensor in its class; of a parameter it is a plain tensor, as all results are."""
    kind = type(tensor)
    return new if type(new) is kind or getattr(tensor, "_is_param", False) else as_kind(new, kind)


def with_edge(tensor: TensorBase, node: Node | None, number: int) -> TensorBase:
    """Return a tensor as a result of a node, whatever else is in its history."""
    record = tensor._record
    if node is None or (tensor._keys & STATE.bit and record.node is node and record.number == number):
        return tensor
    if tensor._keys & STATE.bit and record.node is not None and record.node.sequence > node.sequence:
        # A clone made by an in-place rule: it has its own history that leads to the same place.
        return tensor
    fresh = alias(tensor, STATE.bit)
    attach(fresh, node, number)
    return fresh


# --- hooks on saved tensors ------------------------------------------------------------------------------------


Pairs = tuple[tuple[Callable[[Any], Any], Callable[[Any], Any]], ...]


class _Hooks(Carried):
    """The pairs (pack, unpack) that are active in this thread, the innermost last; a text forbids hooks."""

    def __init__(self) -> None:
        self.pairs: Pairs = ()
        self.forbidden: tuple[str, ...] = ()


HOOKS = _Hooks()


def leave_opened(pairs: Pairs, forbidden: tuple[str, ...]) -> None:
    """Leave the blocks of hooks on saved tensors that a backward pass has entered and left open.

    Parameters
    ----------
    pairs, forbidden : tuple
        What was active before the pass.
    """
    opened = len(HOOKS.pairs) - len(pairs)
    if opened > 0:
        HOOKS.pairs = pairs
        STATE.count_packing(-opened)
    opened = len(HOOKS.forbidden) - len(forbidden)
    if opened > 0:
        HOOKS.forbidden = forbidden
        STATE.count_packing(-opened)


class Packed:
    """A saved tensor, or a list of them, packed by hooks.

    Attributes
    ----------
    packed : object
        The result of the pack hook; for a list, a list of these.
    restore : callable
        The unpack hook.
    """

    __slots__ = ("packed", "restore", "several")

    def __init__(self, value: Any, pack: Callable[[Any], Any], restore: Callable[[Any], Any]) -> None:
        self.restore = restore
        self.several = isinstance(value, list | tuple)
        # What a hook computes is storage, not a part of the program's function.
        with recording(False):
            self.packed = [_packed(v, pack) for v in value] if self.several else _packed(value, pack)

    def unpack(self) -> Any:
        """Return the result of the unpack hook."""
        return [self._restored(p) for p in self.packed] if self.several else self._restored(self.packed)

    def _restored(self, packed: Any) -> Any:
        if packed is None:
            return None
        with seen():
            restored = self.restore(packed)
        if not isinstance(restored, TensorBase):
            raise errors.ArgumentError(
                "saved_tensors_hooks", f"the unpack hook returns a tensor, not {errors.describe(restored)}"
            )
        if restored._keys & STATE.bit and STATE.enabled():
            # In a recorded pass its place is that of what was saved, whatever the hooks did to get it.
            restored = same_kind(alias(restored, STATE.bit), restored)
        return restored


def _packed(value: Any, pack: Callable[[Any], Any]) -> Any:
    if not isinstance(value, TensorBase):
        return None
    # PyTorch refuses this, too: the hook gets the program's own tensor.
    version = version_of(value)
    packed = pack(value)
    if version_of(value) != version:
        raise errors.InplaceError(
            "a pack hook changes the tensor that it is given in place, which the program still uses: work on a clone()"
        )
    return packed


def pack_if_asked(value: Any) -> Any:
    """Return a tensor as the hooks of this thread store it; itself if there are none."""
    if not HOOKS.pairs or not isinstance(value, TensorBase | list | tuple):
        return value
    # Only the innermost pair: PyTorch does not chain them.
    return Packed(value, *HOOKS.pairs[-1])


def pack_slots(node: OpNode) -> None:
    """Let the hooks of this thread store the tensors that a node saved."""
    if HOOKS.pairs and node.saved is not None:
        node.saved = tuple(
            pack_if_asked(value) if kind in WITH_TENSORS else value
            for (kind, _, _), value in zip(node.plan.slots, node.saved, strict=True)
        )


# --- saved values of a context --------------------------------------------------------------------------------------


class SavedTensors:
    """The tensors that a function with a context saved: in the order in which it named them.

    Parameters
    ----------
    label : str
        The name of the node, for errors.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self._values: tuple[Any, ...] | None = ()
        self._versions: tuple[int, ...] = ()
        self._results: dict[int, int] = {}  # place among the saved -> number of the result
        self._edges: dict[int, tuple[Node, int]] = {}  # place in the graph of what hooks have packed

    def put(self, values: tuple[Any, ...]) -> None:
        """Take the tensors."""
        for slot, value in enumerate(values):
            if value is not None and not isinstance(value, TensorBase):
                raise errors.ArgumentError(
                    "save_for_backward",
                    f"argument {slot} is {errors.describe(value)}: only tensors and None are saved",
                    hint="set other values as attributes of the context",
                )
        self._values = values

    def seal(self, results: Sequence[Any]) -> None:
        """Note the versions; a result leads back to the node that saves it, so an alias takes its place."""
        if not STATE.packing and self._are_plain(results):
            self._versions = tuple([version_of(value) for value in self._values or ()])
            return
        from tt.plugins.autograd.record.rules import bare_alias
        from tt.plugins.autograd.record.views import edge

        sealed: list[Any] = []
        for slot, value in enumerate(self._values or ()):
            number = next((n for n, result in enumerate(results) if result is value), -1)
            if value is not None and value._keys & STATE.inference_bit:
                refuse_inference(self.label)
            if number >= 0 and value is not None:
                self._results[slot] = number
                # The result leads to its node, so the node would hold itself.
                value = bare_alias(value)
            sealed.append(value)
        self._versions = tuple(version_of(value) for value in sealed)
        self._values = tuple(map(pack_if_asked, sealed)) if STATE.packing else tuple(sealed)
        # What an unpack hook returns is a new tensor that does not know where it belongs.
        for slot, (value, packed) in enumerate(zip(sealed, self._values, strict=True)):
            if isinstance(packed, Packed) and value is not None and value._keys & STATE.bit:
                self._edges[slot] = edge(value)

    def _are_plain(self, results: Sequence[Any]) -> bool:
        """Return whether no tensor is a result or was made in inference mode: nearly always."""
        for value in self._values or ():
            if value is None:
                continue
            if value._keys & STATE.inference_bit:
                return False
            for result in results:
                if result is value:
                    return False
        return True

    def get(self, node: Node | None) -> tuple[Any, ...]:
        """Return the tensors; `node` is the node that runs, so that results have their place in the graph."""
        if self._values is None:
            raise_released()
        values: list[Any] = []
        for slot, value in enumerate(self._values):
            if isinstance(value, Packed):
                value = value.unpack()
                if slot in self._edges and STATE.enabled():
                    value = with_edge(value, *self._edges[slot])
            elif value is not None and self._versions and version_of(value) != self._versions[slot]:
                raise_changed(self.label, value, self._versions[slot])
            if slot in self._results and node is not None and STATE.enabled():
                value = with_edge(value, node, self._results[slot])
            values.append(value)
        return tuple(values)

    @property
    def released(self) -> bool:
        """Whether the tensors are gone."""
        return self._values is None

    def release(self) -> None:
        """Drop the tensors."""
        if self._values:
            self._values = None


# --- attributes for users --------------------------------------------------------------------------------------


def attribute_names(node: OpNode) -> list[str]:
    """Return the names under which a node shows its saved values."""
    return [f"_saved_{_slot_name(node, slot)}" for slot in node.plan.slots]


def _slot_name(node: OpNode, slot: tuple[int, int, Any]) -> str:
    kind, position, fact = slot
    signature = node.rule.operator.definition.signature
    if kind == codes.RESULT:
        names = [r.name for r in signature.returns]
        return names[position] or ("result" if len(names) == 1 else f"result{position}")
    name = signature.arguments[position].name
    if kind != codes.FACT:
        return name
    from tt.plugins.autograd.record.plans import FACTS

    return f"{name}_{next(word for word, function in FACTS.items() if function is fact)}"


def attribute(node: OpNode, name: str) -> Any:
    """Return a node's saved value by name.

    Raises
    ------
    AttributeError
        When it saved nothing of that name.
    GradientError
        When a backward pass has freed it.
    """
    slot = _place(node, name)
    # The value that a user reads shows its `grad_fn`, whatever the mode.
    with recording(True):
        return node.unpack()[slot]


def _place(node: OpNode, name: str) -> int:
    names = attribute_names(node)
    if f"_saved_{name}" not in names:
        shown = ", ".join(names) or "nothing"
        raise AttributeError(f"{node.name()} saved nothing called {name!r}; it saved: {shown}")
    return names.index(f"_saved_{name}")


class SavedTensor:
    """One saved tensor of a node, or a list of them, as it is stored: `node._raw_saved_<name>`.

    Examples
    --------
    >>> import tt
    >>> y = tt.ones(2, requires_grad=True).exp()
    >>> y.grad_fn._raw_saved_result.register_hooks(lambda t: t.half(), lambda t: t.float())
    >>> y.grad_fn._saved_result
    tensor([2.7188, 2.7188], grad_fn=<ExpBackward0>)
    """

    _node: OpNode
    _place: int

    def __init__(self) -> None:
        raise errors.GradientError("a SavedTensor is made by the graph: read node._raw_saved_<name>")

    def register_hooks(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Store the tensor as `pack_hook` returns it; `unpack_hook` gives it back when it is needed.

        Raises
        ------
        GradientError
            When it has hooks already, or the graph has been freed.
        """
        saved = self._node.saved
        if saved is None:
            raise_released()
        value = saved[self._place]
        if isinstance(value, Packed):
            raise errors.GradientError(
                "register_hooks(): this saved tensor has hooks already, and one pair is all that it can have"
            )
        packed = Packed(value, pack_hook, unpack_hook)
        self._node.saved = (*saved[: self._place], packed, *saved[self._place + 1 :])


def raw_attribute(node: OpNode, name: str) -> SavedTensor:
    """Return the place where a node saved a tensor under a name."""
    slot = _place(node, name)
    if node.plan.slots[slot][0] not in WITH_TENSORS:
        raise AttributeError(f"{node.name()} saved no tensor called {name!r}; read it as _saved_{name}")
    saved = SavedTensor.__new__(SavedTensor)
    saved._node, saved._place = node, slot
    return saved
