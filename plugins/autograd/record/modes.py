"""Switching recording off and on: for a block, for a function, or permanently.

These are not dispatcher modes: only the rules of the autograd layer read them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import wraps
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from typing import Any, Generic, ParamSpec, TypeVar

from tt.core.library import Block, warn_user
from tt.plugins.autograd.record.grad_state import STATE, Switching

__all__ = ["decorate", "enable_grad", "is_grad_enabled", "no_grad", "recording", "set_grad_enabled"]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def is_grad_enabled() -> bool:
    """Return whether recording is switched on in this thread; inference mode records nothing even then.

    Examples
    --------
    >>> import tt
    >>> tt.is_grad_enabled()
    True
    """
    return bool(STATE.grad())


def decorate(make: Callable[[], Any], function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let a function run in a mode; of generators and coroutines each step, not what their caller does between."""
    if isinstance(function, type):
        warn_user(
            f"decorating the class {function.__name__} is deprecated: the mode is on only while an object is made\n"
            "  try: to decorate its methods",
            FutureWarning,
        )
    for is_kind, in_steps in (
        (isgeneratorfunction, _decorate_generator),
        (iscoroutinefunction, _decorate_coroutine),
        (isasyncgenfunction, _decorate_async_generator),
    ):
        if is_kind(function):
            return in_steps(make, function)

    @wraps(function)
    def wrapper(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with make():
            return function(*args, **kwargs)

    return wrapper


def _in_steps(make: Callable[[], Any], steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Run a generator with the mode on in each of its steps."""
    sent: Any = None
    error: BaseException | None = None
    while True:
        try:
            with make():
                value = steps.send(sent) if error is None else steps.throw(error)
        except StopIteration as stop:
            return stop.value
        error = None
        try:
            sent = yield value
        except GeneratorExit:
            # What a generator does when it is closed is one of its steps, too.
            with make():
                steps.close()
            raise
        except BaseException as thrown:  # exceptions thrown by the caller go to the generator
            error = thrown


def _decorate_generator(make: Callable[[], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return (yield from _in_steps(make, function(*args, **kwargs)))

    return wrapper


class _Awaited:
    """Awaits something with the mode on in each of its steps."""

    def __init__(self, make: Callable[[], Any], awaitable: Any) -> None:
        self._make, self._awaitable = make, awaitable

    def __await__(self) -> Generator[Any, Any, Any]:
        return _in_steps(self._make, self._awaitable.__await__())


def _decorate_coroutine(make: Callable[[], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        return await _Awaited(make, function(*args, **kwargs))

    return wrapper


def _decorate_async_generator(make: Callable[[], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        step = generator.asend(None)
        try:
            while True:
                try:
                    value = await _Awaited(make, _Step(step))
                except StopAsyncIteration:
                    return
                try:
                    sent = yield value
                except GeneratorExit:
                    raise
                except BaseException as thrown:  # exceptions thrown by the caller go to the generator
                    step = generator.athrow(thrown)
                else:
                    step = generator.asend(sent)
        finally:
            await _Awaited(make, _Step(generator.aclose()))

    return wrapper


class _Step:
    """One step of an asynchronous generator, whose own `__await__` has no `throw` on its first call."""

    def __init__(self, awaitable: Any) -> None:
        self._awaitable = awaitable

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield from self._awaitable.__await__())


class _Switch(Switching, Generic[Parameters, Result]):
    """A context manager and decorator that switches recording."""

    _enabled = True

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        switch = super().__new__(cls)
        if function is None:
            return switch
        # `@no_grad` without parentheses.
        return decorate(cls, function)

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        self._before = None

    def __call__(self, function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        """Make a function that runs with recording on or off."""
        return decorate(type(self), function)


class no_grad(_Switch[..., Any]):  # noqa: N801 - PyTorch's name
    """Switches recording off, in a `with` block or for a function.

    Examples
    --------
    >>> import tt
    >>> x = tt.ones(2, requires_grad=True)
    >>> with tt.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    >>> @tt.no_grad()
    ... def double(x):
    ...     return x * 2
    >>> double(x).requires_grad
    False
    """

    _enabled = False


class enable_grad(_Switch[..., Any]):  # noqa: N801 - PyTorch's name
    """Switches recording on again inside `no_grad`.

    Examples
    --------
    >>> import tt
    >>> x = tt.ones(2, requires_grad=True)
    >>> with tt.no_grad():
    ...     with tt.enable_grad():
    ...         y = x * 2
    >>> y.requires_grad
    True
    """

    _enabled = True


class set_grad_enabled(Block):  # noqa: N801 - PyTorch's name
    """Switches recording on or off, at once; in a `with` block until its end, or for a function.

    Parameters
    ----------
    mode : bool
        Whether to record.

    Examples
    --------
    >>> import tt
    >>> x = tt.ones(2, requires_grad=True)
    >>> with tt.set_grad_enabled(False):
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self._before = STATE.enable(self.mode)

    def _begin(self) -> None:
        STATE.enable(self.mode)

    def _end(self, before: None) -> None:
        STATE.enable(self._before)

    def __call__(self, function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        """Make a function that runs with recording on or off; recording here continues as before."""
        STATE.enable(self._before)
        return decorate(lambda: set_grad_enabled(self.mode), function)


class recording(Switching):  # noqa: N801 - reads as a statement: with recording(False)
    """Switches recording on or off in this thread for a `with` block."""

    __slots__ = ("_before", "_enabled")

    def __init__(self, enabled: bool) -> None:
        self._enabled, self._before = enabled, None
