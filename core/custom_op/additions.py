"""Additions to a custom operator, and undoing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tt.core.dispatch.call.operator import Operator
from tt.core.dispatch.registry.registry import REGISTRY, RegistrationHandle
from tt.core.errors import ArgumentError, UnknownOpError

__all__ = ["Additions", "together"]

Function = TypeVar("Function", bound=Callable[..., Any])


class Additions:
    """The functions that were added to an operator, with the handles that undo it: a base of `CustomOp`."""

    operator: Operator
    name: str
    _added: list[tuple[Any, RegistrationHandle]]

    @property
    def handles(self) -> tuple[RegistrationHandle, ...]:
        """The handles of all active registrations, in order; the first belongs to the operator."""
        return tuple(dict.fromkeys(handle for _, handle in self._added if handle.active))

    def handle(self, function: Callable[..., Any]) -> RegistrationHandle:
        """Return the handle that undoes the registration of a function.

        Raises
        ------
        ArgumentError
            When the function was not registered with this operator.

        Examples
        --------
        >>> import tt
        >>> from tt.library import custom_op
        >>> @custom_op("doc::thrice")
        ... def thrice(x: tt.Tensor) -> tt.Tensor:
        ...     return x * 3
        >>> @thrice.kernel("cpu")
        ... def wrong(x):
        ...     return x + x
        >>> thrice(tt.ones(1))
        tensor([2.])
        >>> thrice.handle(wrong).remove()
        >>> thrice(tt.ones(1))
        tensor([3.])
        >>> thrice.remove()
        """
        found = [handle for added, handle in self._added if added is function and handle.active]
        if not found:
            name = getattr(function, "__name__", repr(function))
            raise ArgumentError(self.name, f"{name} is not registered with this operator")
        return found[0] if len(found) == 1 else together(found)

    def remove(self) -> None:
        """Unregister the operator and everything that was added to it.  Doing it twice does nothing."""
        while self._added:
            self._added.pop()[1].remove()

    def _keep(self, function: Function, handle: RegistrationHandle) -> Function:
        self._added.append((function, handle))
        return function

    def _adder(self, add: Callable[[Any], RegistrationHandle], function: Any) -> Any:
        """Register a function, or return a decorator that does."""
        if self.operator.removed:
            raise UnknownOpError(self.name, REGISTRY.names())

        def register(function: Function) -> Function:
            return self._keep(function, add(function))

        return register if function is None else register(function)


def together(handles: Sequence[RegistrationHandle]) -> RegistrationHandle:
    """Return one handle for several, which it removes in turn."""

    def remove() -> None:
        for handle in reversed(handles):
            handle.remove()

    return RegistrationHandle(remove, "; ".join(handle.what for handle in handles))
