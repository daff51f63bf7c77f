"""Handlers of the operators that draw random numbers, and of no others.

A mode would see every call of a thread, and no call would be fast while it is active.  These handlers are met in the
cached calls of operators with the tag "random", above all layers, where the others pay nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt.core.blocks import Block
from tt.core.dispatch.intercept.tt_function import NOT_HANDLED
from tt.core.types.state import STATE
from tt.core.types.thread_state import THREAD

if TYPE_CHECKING:
    from tt.core.dispatch.call.op_overload import OpOverload

__all__ = ["DrawHandler", "call_drawing"]


class DrawHandler(Block):
    """Handles the calls of random operators in this thread inside a `with` block; override `handle`.

    It sees them behind the modes and above the layers, those that composites make, too.  Like a mode it is off inside
    its own handler.
    """

    def handle(self, overload: OpOverload, args: tuple[Any, ...]) -> Any:
        """Handle one call; `overload.dispatch(args)` passes it on to the handlers further out.

        Parameters
        ----------
        overload : OpOverload
            The called form of a random operator.
        args : tuple
            All arguments in the order of the schema, defaults filled in.
        """
        return overload.dispatch(args)

    def _look(self) -> tuple[DrawHandler, ...]:
        return THREAD.drawing

    def _begin(self) -> DrawHandler:
        # Counted first: calls look at the thread's handlers only while the count is not zero.
        STATE.count_drawing(1)
        THREAD.drawing = (*THREAD.drawing, self)
        return self

    def _end(self, before: tuple[DrawHandler, ...]) -> None:
        more = len(THREAD.drawing) - len(before)
        THREAD.drawing = before
        STATE.count_drawing(-more)  # an interrupt before it costs later calls a look at the thread, no more


def call_drawing(overload: OpOverload, args: tuple[Any, ...]) -> Any:
    """Let the innermost handler of this thread handle a call of a random operator; NOT_HANDLED if there is none."""
    handlers = THREAD.drawing
    if not handlers:
        return NOT_HANDLED
    # A handler that draws itself would call itself without end.
    THREAD.drawing = handlers[:-1]
    try:
        return handlers[-1].handle(overload, args)
    finally:
        THREAD.drawing = handlers
