"""Scopes: registrations of the program within one are undone at its end."""

from __future__ import annotations

from tt.core.dispatch.registry.sources import Provider, RegistrationHandle

__all__ = ["RegistrationScopes"]


class RegistrationScopes:
    """The open scopes, the innermost last, each with the handles that it undoes."""

    def __init__(self) -> None:
        self._scopes: list[list[RegistrationHandle]] = []

    def open(self, handles: list[RegistrationHandle]) -> None:
        """Add the handle of everything that the program registers from now on to a list."""
        self._scopes.append(handles)

    def close(self, handles: list[RegistrationHandle]) -> None:
        """Undo everything that a scope has noted, the last first; what was noted within it goes too.

        A scope that is closed already is left as it is.  Each is forgotten when all of it is undone, so that closing
        can continue after an interrupt; removing a handle twice does nothing.
        """
        at = next((i for i, scope in enumerate(self._scopes) if scope is handles), len(self._scopes))
        while len(self._scopes) > at:
            scope = self._scopes[-1]
            while scope:
                scope[-1].remove()
                del scope[-1]
            del self._scopes[-1]

    def note(self, handle: RegistrationHandle, source: Provider | None = None) -> RegistrationHandle:
        """Note a registration in the innermost scope; those of plugins stay: they register once."""
        if self._scopes and (source is None or not source.plugin):
            self._scopes[-1].append(handle)
        return handle
