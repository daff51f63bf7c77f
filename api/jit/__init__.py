"""tt.jit: what programs ask of TorchScript.  tt has none: nothing is scripted, and decorators change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

from tt.errors import ArgumentError, UnsupportedError
from tt.futures import Future

__all__ = [
    "Final", "Future", "annotate", "export", "fork", "ignore", "is_scripting", "is_tracing", "isinstance", "script",
    "script_if_tracing", "trace", "unused", "wait",
]  # fmt: skip

Function = TypeVar("Function", bound=Callable[..., Any])
_isinstance = isinstance


def is_scripting() -> bool:
    """Return False: the code runs as Python.

    Examples
    --------
    >>> import tt
    >>> tt.jit.is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """Return False: nothing is traced.

    Examples
    --------
    >>> import tt
    >>> tt.jit.is_tracing()
    False
    """
    return False


def ignore(drop: object = False, **kwargs: Any) -> Any:
    """Return a function, or a decorator, that changes nothing.

    Examples
    --------
    >>> import tt
    >>> @tt.jit.ignore
    ... def twice(x):
    ...     return 2 * x
    >>> twice(3)
    6
    """
    return drop if callable(drop) else lambda function: function


def export(fn: Function) -> Function:
    """Return the function as it is."""
    return fn


def unused(fn: Function) -> Function:
    """Return the function as it is."""
    return fn


def script_if_tracing(fn: Function) -> Function:
    """Return the function as it is."""
    return fn


def annotate(the_type: object, the_value: Any) -> Any:
    """Return the value."""
    return the_value


def isinstance(obj: object, target_type: Any) -> bool:
    """Return whether an object is of a type; of a generic type, only what holds the elements is looked at."""
    return _isinstance(obj, cast(Any, getattr(target_type, "__origin__", None) or target_type))


def script(obj: object, *args: Any, **kwargs: Any) -> Any:
    """Raise UnsupportedError, because tt has no TorchScript."""
    raise UnsupportedError("jit.script(): tt has no TorchScript: call the function or module itself")


def trace(func: object, *args: Any, **kwargs: Any) -> Any:
    """Raise UnsupportedError, because tt has no TorchScript."""
    raise UnsupportedError("jit.trace(): tt has no TorchScript: call the function or module itself")


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Call a function and return a future that has its result; as PyTorch's outside of scripts, at once.

    Parameters
    ----------
    func : callable
        The function, or a module.
    *args, **kwargs
        Its arguments.  An error that it raises is raised here.

    Examples
    --------
    >>> import tt
    >>> later = tt.jit.fork(tt.add, tt.ones(1), tt.ones(1))
    >>> tt.jit.wait(later)
    tensor([2.])
    """
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[Any]) -> Any:
    """Return the result of a future, once it has one.

    Raises
    ------
    ArgumentError
        If it is not a future.

    Examples
    --------
    >>> import tt
    >>> tt.jit.wait(tt.jit.fork(lambda x: x + 1, 2))
    3
    """
    if not _isinstance(future, Future):
        raise ArgumentError("wait", f"argument 'future' must be Future, not {type(future).__name__}")
    return future.wait()
