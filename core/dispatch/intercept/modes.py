"""Modes: Python code that sees every call of a thread while a `with` block runs.

The hot path reads one process-wide count (see Note [Epochs and the guard]) and looks at the thread's own stack only
while a mode is active in some thread.

Note [The order of interception]
--------------------------------
1. The function modes (`TTFunctionMode`), from the innermost out, then the classes of the arguments that define
   `__tt_function__`.  They see the function that the user called, with the arguments as written.
2. The ambient layers (autocast), if the thread has a setting for one.  The casts that they make are calls like others.
3. The plain modes (`Mode`: tracing, counting, fake tensors), from the innermost out.  They see the operator with all of
   its arguments, and all that composites and formulas call where they stay active.
4. The layers above Python code: transforms, autograd.
5. The dispatch modes (`TTDispatchMode`), then the classes of the arguments that define `__tt_dispatch__`: one layer,
   "python", whose bit a dispatch mode adds to the keys of each call.
6. Everything below: fake tensors, functionalisation, kernels.

All modes are on one stack.  A mode is off inside its own handler.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar

from tt.core.dispatch.intercept.ambient import call_ambient
from tt.core.dispatch.intercept.tt_function import NOT_HANDLED, intercept
from tt.core.schema.number_ranges import refuse_out_of_range
from tt.core.types.keys import PYTHON
from tt.core.types.state import STATE, Stacked, without
from tt.core.types.thread_state import THREAD

if TYPE_CHECKING:
    from collections.abc import Callable

    from tt.core.dispatch.call.cached_call import CachedCall
    from tt.core.dispatch.call.op_overload import OpOverload
    from tt.core.tensor.tensor import Tensor

    Params = ParamSpec("Params")
    Result = TypeVar("Result")

__all__ = ["Mode", "active_modes", "cached_call_with_modes", "call_with_modes", "note_data", "without"]


class Mode(Stacked):
    """The base of all modes: override `handle`.

    Examples
    --------
    >>> import tt
    >>> from tt.core.library import Mode
    >>> class Log(Mode):
    ...     def handle(self, overload, args):
    ...         print(overload.name)
    ...         return overload.dispatch(args)
    >>> with Log():
    ...     _ = tt.ones(2) + 1
    ones
    add
    """

    # The step of Note [The order of interception] at which the mode runs: "function", "call" or "dispatch".
    sees: ClassVar[str] = "call"

    def handle(self, overload: OpOverload, args: tuple[Any, ...]) -> Any:
        """Handle one call; `overload.dispatch(args)` passes it on to the modes further out.

        Parameters
        ----------
        overload : OpOverload
            The called form of the operator, with `overload.operator`, `overload.form` and `overload.name`.
        args : tuple
            All arguments in the order of the schema, defaults filled in.
        """
        return overload.dispatch(args)

    def see_data(self, tensor: Tensor) -> None:
        """Take note of a tensor that is made of data (an array, a file, a pickle) and not by an operator."""

    def __call__(self, function: Callable[Params, Result]) -> Callable[Params, Result]:
        """Make a function that runs in the mode."""

        @wraps(function)
        def in_mode(*args: Params.args, **kwargs: Params.kwargs) -> Result:
            with self:
                return function(*args, **kwargs)

        return in_mode


def note_data(tensor: Tensor) -> None:
    """Let the modes of this thread see a tensor that is made of data."""
    if STATE.modes != 0:
        for mode in THREAD.modes:
            mode.see_data(tensor)


def active_modes() -> tuple[Mode, ...]:
    """Return the modes of this thread, the outermost first."""
    return tuple(THREAD.modes)


def call_with_modes(
    overload: OpOverload,
    bound: tuple[Any, ...],
    function: Any = None,
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """Make a call while modes are active in the process; see Note [The order of interception].

    Parameters
    ----------
    overload, bound : OpOverload, tuple
        The overload and all of its arguments.
    function : callable, optional
        The function that the user called with `args` and `kwargs`; None if the call is past the function modes.
    """
    if function is not None:
        result = intercept(function, args, kwargs)
        if result is not NOT_HANDLED:
            return result
        # The fast paths, which compare numbers with the range, leave calls to this function while a mode is active.
        if overload.plan.ranged:
            refuse_out_of_range(overload.operator.definition, None, bound)
    if STATE.ambient != 0:
        rule = call_ambient(overload, bound)
        if rule is not None:
            return rule(None, bound)
    modes = THREAD.modes
    # A mode gets the call with itself off; it passes the call on by `dispatch`, and so to the mode further out.
    for mode in reversed(modes):
        if mode.sees == "call":
            THREAD.modes = without(modes, mode)
            try:
                return mode.handle(overload, bound)
            finally:
                THREAD.modes = modes
    return cached_call_with_modes(overload, bound).run(bound)


def cached_call_with_modes(overload: OpOverload, bound: tuple[Any, ...]) -> CachedCall:
    """Return the cached call of a call, skipping masked layers and going through the dispatch modes."""
    # Layers that a plugin has masked in this thread are skipped, as if the tensors lacked their bits.
    keys, bits, positions = overload.scan(bound)
    keys &= ~THREAD.masked
    if any(mode.sees == "dispatch" for mode in THREAD.modes):
        keys |= PYTHON
    return overload.cached_call(keys, bits, positions, bound)
