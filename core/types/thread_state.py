"""Settings of a thread: its modes, and the checks that it skips."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.types.carried import Carried

if TYPE_CHECKING:
    from tt.core.dispatch.intercept.drawing import DrawHandler
    from tt.core.dispatch.intercept.modes import Mode

__all__ = ["THREAD"]


class ThreadState(Carried):
    """The state of one thread.

    Attributes
    ----------
    modes : list of Mode
        The active modes, the outermost first.  The list is replaced, never changed.
    drawing : tuple of DrawHandler
        The handlers of random operators, the outermost first.
    functions : bool
        Whether function modes and `__tt_function__` are on.
    subclasses : bool
        Whether `__tt_function__` of arguments is on.
    outside : tuple of two bools, optional
        `functions` and `subclasses` as they are outside of what a plugin does for itself; None where none does.
    masked : int
        Key bits of layers that are behind this thread: its calls pass them by.
    """

    def __init__(self) -> None:
        self.modes: list[Mode] = []
        self.drawing: tuple[DrawHandler, ...] = ()
        self.functions = True
        self.subclasses = True
        self.outside: tuple[bool, bool] | None = None
        self.masked = 0


THREAD = ThreadState()
"""The state of the calling thread."""
