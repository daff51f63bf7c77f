"""Layers: what stands between a call and the kernels for tensors that carry the layer's key bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tt.core.errors import NoKernelError
from tt.core.types.keys import KEYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tt.core.dispatch.call.cached_call import CachedCall
    from tt.core.dispatch.call.operator import Operator
    from tt.core.dispatch.registry.sources import Provider
    from tt.core.dispatch.registry.tables import LayerTable
    from tt.core.schema.model import OpDefinition

__all__ = ["AmbientRule", "Layer", "LayerFunction"]


class LayerFunction(Protocol):
    """A layer's implementation of one form of one operator."""

    def __call__(self, cached: CachedCall, args: tuple[Any, ...], /) -> Any:
        """Handle a call; `cached.call_below(args)` runs what lies below."""


AmbientRule: TypeAlias = "Callable[[Any, tuple[Any, ...]], Any]"
"""An ambient layer's implementation of one operator: it gets the cached call, or None, and the arguments."""


class Layer:
    """The base of all layers: autograd, fake tensors, functionalisation, transforms.

    A call whose tensors carry the bit of a layer meets, in this order: the layer's rule for the operator; else the
    operator's composite on the original tensors, so that its inner calls meet the layer; else, if the layer lets the
    operator pass, what lies below; else `unsupported`.  A factory (`zeros_like`) that may pass does so at once.

    Attributes
    ----------
    name : str
        Names the key bit.
    order : int
        Layers with a higher order are further out and handle a call first.
    bit : int
        The key bit.
    generic : bool
        The layer treats all operators alike: descriptions of an operator leave it out.
    terminal : bool
        The layer's rules answer calls themselves; nothing is resolved below them.
    idles : bool
        The layer has nothing to do in some threads at some times; `idle` tells.
    differentiates : bool
        The layer's rules give operators gradients; reports say of which.
    ambient : bool
        The layer has no key bit: it handles the calls of threads that have a setting for it.
    transparent : bool
        The tensors of the layer are like all others, so that Python code below it gets them as they are and the
        layer is passed by meanwhile.

    Examples
    --------
    >>> from tt.library import Layer
    >>> class Recording(Layer):
    ...     name, order = "recording", 90
    ...     def rule(self, operator, form):
    ...         return lambda cached, args: print(operator.name) or cached.call_below(args)
    """

    name: str = ""
    order: int = 0
    generic: bool = False
    terminal: bool = False
    idles: bool = False
    differentiates: bool = False
    transparent: bool = False
    ambient: bool = False

    def __init__(self) -> None:
        self.bit = 0 if self.ambient else KEYS.bit("layer", self.name)

    def rule(self, operator: Operator, form: str) -> LayerFunction | None:
        """Return the layer's rule for a form of an operator, or None if it has none."""
        return None

    def rule_for(self, operator: Operator, form: str, layouts: Sequence[str]) -> LayerFunction | None:
        """Return the layer's rule for calls with tensors of these layouts, not all of which are strided.

        By default the same as for strided ones.
        """
        return self.rule(operator, form)

    def idle(self) -> bool:
        """Return whether the layer has nothing to do in this thread now.

        A call without a rule then goes to the kernel below instead of the composite on the original tensors.
        """
        return False

    def ambient_rule(self, operator: Operator, keys: int, setting: Any) -> AmbientRule | None:
        """Return the rule for calls in threads that have a setting for the layer, or None to leave them alone.

        See Note [Ambient layers] in `tt.core.types.state`.  The rule runs before the modes and before all layers that
        have key bits; in-place forms and calls with `out=` do not meet it.

        Parameters
        ----------
        operator : Operator
            The called operator.
        keys : int
            The devices, layouts and layers of the call's tensors.
        setting : object
            The setting of this thread.
        """
        return None

    def saves(self, args: Sequence[Any]) -> bool:
        """Return whether the layer may save these arguments for later when a composite runs on them.

        An in-place form that runs by a composite then computes from a copy of its target.
        """
        return False

    def around_composite(self, function: Callable[..., Any], devices: Sequence[str]) -> Callable[..., Any]:
        """Return what runs a composite on tensors of the layer, by default the composite itself.

        Parameters
        ----------
        function : callable
            The composite.
        devices : sequence of str
            The device types of the call's tensors.
        """
        return function

    def passes_through(self, operator: Operator, form: str) -> bool:
        """Return whether calls without a rule or a composite go below unchanged."""
        return False

    def unsupported(self, cached: CachedCall, args: tuple[Any, ...]) -> Any:
        """Handle a call that nothing else serves; by default it is refused."""
        raise NoKernelError(
            str(cached.operator.definition.signature),
            f"{cached.operator.name} has no rule in the layer {self.name!r} and no composite",
            hint=f"register one with the {self.name} plugin, or a composite for the operator",
        )

    def refuse_change(self, target: Any, root: Any) -> None:
        """Raise if memory that the layer holds must not be changed through a view that it does not hold.

        Parameters
        ----------
        target : Tensor
            The view, which was made before the layer held what it views.
        root : Tensor
            What it views.
        """

    def counts_data(self) -> bool:
        """Return whether changes through `data` of the layer's tensors count now, as those through `detach()` do."""
        return False

    def format_tensor(self, tensor: Any) -> str | None:
        """Return how a tensor that the layer holds is printed; None to print it like any other."""
        return None

    def forget_view(self, tensor: Any) -> None:
        """Note that a view is the only tensor in its memory, and so no view any more."""

    def accept(self, table: LayerTable, source: Provider) -> Callable[[], None]:
        """Take a table (formulas, batching rules) that a plugin passes; return what undoes it."""
        raise TypeError(f"the layer {self.name!r} takes no {type(table).__name__}")

    def check(self, definitions: Iterable[OpDefinition]) -> list[tuple[str, str]]:
        """Return (operator, fault) for the tables of the layer; `tt ops check` prints them."""
        return []
