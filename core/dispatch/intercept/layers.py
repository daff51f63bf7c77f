"""Layers: code between a call and its kernels, for tensors that carry the layer's key bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from tt.core.errors import NoKernelError
from tt.core.types.keys import KEYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tt.core.dispatch.call.entry import CachedCall
    from tt.core.dispatch.call.operator import Operator
    from tt.core.dispatch.registry.sources import Provider
    from tt.core.schema.model import OpDefinition

__all__ = ["Layer", "LayerFunction", "LayerTable", "is_layer_table"]


class LayerFunction(Protocol):
    """The action of a layer for one form of one operator."""

    def __call__(self, entry: CachedCall, args: tuple[Any, ...], /) -> Any:
        """Handle a call; `entry.call_below(args)` runs the call below the layer."""


class LayerTable(Protocol):
    """What a plugin hands over for a layer: formulas, batching rules.

    What else it holds is between whoever makes it and the layer that accepts it.
    """

    @property
    def layer(self) -> str:
        """The name of the layer that it is for."""


def is_layer_table(table: object) -> TypeGuard[LayerTable]:
    """Tell whether an object names the layer that it is for."""
    return isinstance(getattr(table, "layer", None), str)


class Layer:
    """The base of all layers: autograd, fake tensors, functionalisation, transforms.

    A call whose tensors carry the bit of a layer runs the first of these that exists: the layer's rule for the
    operator; the operator's composite on the original tensors, so that its inner calls reach the layer; the call below,
    if the layer lets the operator pass; `unsupported`.  A factory (`zeros_like`) that may pass does so at once.

    Attributes
    ----------
    name : str
        Names the key bit.
    order : int
        Layers with a higher order are further out and handle a call first.
    bit : int
        The key bit.
    generic : bool
        The layer treats all operators alike, so introspection of an operator leaves it out.
    terminal : bool
        The layer's rules handle calls completely; nothing is resolved below them.
    idles : bool
        The layer has nothing to do in some threads at some times; `idle` returns whether it does now.
    transparent : bool
        The layer's tensors are ordinary tensors: Python code below the layer gets them unchanged, and the layer is
        skipped meanwhile.
    """

    name: str = ""
    order: int = 0
    generic: bool = False
    terminal: bool = False
    idles: bool = False
    differentiates: bool = False
    transparent: bool = False

    def __init__(self) -> None:
        self.bit = KEYS.bit("layer", self.name)

    def rule(self, operator: Operator, form: str) -> LayerFunction | None:
        """Return the layer's function for a form of an operator, or None if it has no rule for it."""
        return None

    def rule_for(self, operator: Operator, form: str, layouts: Sequence[str]) -> LayerFunction | None:
        """Return the layer's function for calls with tensors of these layouts, not all of which are strided.

        By default the same as for strided ones.
        """
        return self.rule(operator, form)

    def idle(self) -> bool:
        """Return whether the layer has nothing to do in this thread now.

        A call without a rule then goes to the kernel below instead of the composite on the original tensors.
        """
        return False

    def passes_through(self, operator: Operator, form: str) -> bool:
        """Return whether calls go below unchanged where there is neither rule nor composite."""
        return False

    def unsupported(self, entry: CachedCall, args: tuple[Any, ...]) -> Any:
        """Handle a call without rule, composite or pass; by default, refuse it."""
        raise NoKernelError(
            str(entry.operator.definition.signature),
            f"{entry.operator.name} has no rule in the layer {self.name!r} and no composite",
            hint=f"register one with the {self.name} plugin, or a composite for the operator",
        )

    def format_tensor(self, tensor: Any) -> str | None:
        """Return the text of a tensor that the layer holds; None to print it like any other."""
        return None

    def accept(self, table: Any, source: Any) -> Any:
        """Take a table (formulas, batching rules) of a plugin; return a handle that removes it."""
        raise TypeError(f"the layer {self.name!r} takes no {type(table).__name__}")

    def check(self, definitions: Iterable[OpDefinition]) -> list[tuple[str, str]]:
        """Return (operator, problem) for each mistake in the tables of the layer; `tt ops check` prints them."""
        return []
