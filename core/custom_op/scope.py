"""`scoped`: registrations that end with a block, for tests."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import TYPE_CHECKING

from tt.core.blocks import Block
from tt.core.dispatch.intercept.modes import active_modes
from tt.core.dispatch.registry.registry import REGISTRY, RegistrationHandle, Registry

if TYPE_CHECKING:
    from typing import Self

__all__ = ["scoped"]


class scoped(Block, ContextDecorator):  # noqa: N801 - reads as a statement: with library.scoped()
    """Undo on exit everything that the program registered inside, also after an exception; scopes nest.

    Undone are operators, kernels, composites, fakes, shape rules, gradients, batching rules, backends and layers, the
    last first, and modes that were entered and not left.  What plugins register when they are first used stays: they
    would not do so again.  Usable as a decorator, too.

    Attributes
    ----------
    handles : list of RegistrationHandle
        The handles of the registrations so far.

    Examples
    --------
    >>> import tt
    >>> from tt import library
    >>> with library.scoped():
    ...     @library.custom_op("doc::twice")
    ...     def twice(x: tt.Tensor) -> tt.Tensor:
    ...         return x + x
    ...     twice(tt.ones(2))
    tensor([2., 2.])
    >>> hasattr(tt.ops, "doc")
    False
    """

    def __init__(self, registry: Registry = REGISTRY) -> None:
        self._registry = registry

    @property
    def handles(self) -> list[RegistrationHandle]:
        """The handles of what was registered in the block."""
        open_here = getattr(self, "_befores", None)
        return open_here[-1][0] if open_here else []

    def _look(self) -> tuple[list[RegistrationHandle], int]:
        return [], len(active_modes())

    def _begin(self) -> Self:
        self._registry.scopes.open(self._befores[-1][0])
        return self

    def _end(self, before: tuple[list[RegistrationHandle], int]) -> None:
        handles, modes = before
        for mode in reversed(active_modes()[modes:]):
            mode.__exit__(None, None, None)
        self._registry.scopes.close(handles)
