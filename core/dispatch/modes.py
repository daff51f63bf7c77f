"""Modes: Python code that sees every call of a thread while a `with` block runs.

The hot path reads one process-wide count (see Note [Epochs and the guard]); only when some mode is active anywhere
is the thread's own stack consulted.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.state import STATE

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from tt.core.dispatch.callers import Caller

__all__ = ["Mode", "active_modes", "call_with_modes"]


class _Stack(threading.local):
    def __init__(self) -> None:
        self.modes: list[Mode] = []


_STACK = _Stack()


class Mode:
    """The base of all modes: override `handle`.

    Examples
    --------
    >>> import tt
    >>> from tt.core.library import Mode
    >>> class Log(Mode):
    ...     def handle(self, caller, args):
    ...         print(caller.name)
    ...         return caller.dispatch(args)
    >>> with Log():
    ...     _ = tt.ones(2) + 1
    ones
    add
    """

    def handle(self, caller: Caller, args: tuple[Any, ...]) -> Any:
        """Handle one call; `caller.dispatch(args)` passes it on to the modes further out.

        Parameters
        ----------
        caller : Caller
            The form of the operator that is called; `caller.operator`, `caller.form` and `caller.name` tell which.
        args : tuple
            All arguments in the order of the schema, defaults filled in.
        """
        return caller.dispatch(args)

    def __enter__(self) -> Self:
        _STACK.modes.append(self)
        STATE.mode_entered()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        STATE.mode_left()
        _STACK.modes.remove(self)


def active_modes() -> tuple[Mode, ...]:
    """Return the modes of this thread, the outermost first."""
    return tuple(_STACK.modes)


def call_with_modes(caller: Caller, args: tuple[Any, ...]) -> Any:
    """Give the call to the innermost mode of this thread, with that mode switched off meanwhile."""
    modes = _STACK.modes
    if not modes:
        return caller.execute(args)
    mode = modes[-1]
    _STACK.modes = modes[:-1]
    try:
        return mode.handle(caller, args)
    finally:
        _STACK.modes = modes
