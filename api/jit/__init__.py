"""tt.jit: what programs ask of TorchScript.  tt has none: `script` and `trace` return what they are given.

Note [Scripts that run as Python]
---------------------------------
Libraries script their functions when they are imported, and would not load if `script` raised.  A scripted function
computes what the function computes, so the function itself is an honest answer, given with the DeprecationWarning that
PyTorch gives.  What a script can do and Python cannot, to be saved without its source, is left out: `jit.save`,
`.graph`, `.code`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

from tt.core.lazy import attach
from tt.errors import ArgumentError
from tt.futures import Future
from tt.library import warn_user

__all__ = [
    "Final", "Future", "TracerWarning", "annotate", "export", "fork", "ignore", "interface", "is_scripting",
    "is_tracing", "isinstance", "script", "script_if_tracing", "trace", "unused", "wait",
]  # fmt: skip
__all__ += attach(__name__, {"._script_module": "ScriptModule script_method"}, modules="annotations")
del annotations  # the feature of the first line: the name is that of a module

Function = TypeVar("Function", bound=Callable[..., Any])
Scripted = TypeVar("Scripted")
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


def interface(obj: Scripted) -> Scripted:
    """Return the class as it is: it names methods that other classes have, and Python asks for no declaration."""
    return obj


def script_if_tracing(fn: Function) -> Function:
    """Return the function as it is."""
    return fn


def annotate(the_type: object, the_value: Any) -> Any:
    """Return the value."""
    return the_value


def isinstance(obj: object, target_type: Any) -> bool:
    """Return whether an object is of a type; of a generic type, only what holds the elements is looked at."""
    return _isinstance(obj, cast(Any, getattr(target_type, "__origin__", None) or target_type))


def _deprecated(name: str) -> None:
    warn_user(
        f"`jit.{name}` is deprecated, and tt has no TorchScript: what it is given is returned, and runs as Python",
        DeprecationWarning,
    )


def script(obj: Scripted, *args: Any, **kwargs: Any) -> Scripted:
    """Return a function, a module or a class as it is: it runs as Python.

    Parameters
    ----------
    obj : callable
        The function, module or class.
    *args, **kwargs
        PyTorch's options; accepted and not used.

    Raises
    ------
    ArgumentError
        If it cannot be called.

    Examples
    --------
    >>> import warnings
    >>> import tt
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", DeprecationWarning)
    ...     relu = tt.jit.script(tt.relu)
    >>> relu is tt.relu
    True
    """
    if not callable(obj):
        raise ArgumentError("jit.script", f"takes a function, module or class, not {type(obj).__name__}")
    _deprecated("script")
    return obj


def trace(func: Scripted, *args: Any, **kwargs: Any) -> Scripted:
    """Return a function or a module as it is, without a call: it runs as Python, also for other inputs.

    Parameters
    ----------
    func : callable
        The function or module.
    *args, **kwargs
        The inputs and options of PyTorch's tracer; accepted and not used.

    Raises
    ------
    ArgumentError
        If it cannot be called.
    """
    if not callable(func):
        raise ArgumentError("jit.trace", f"takes a function or module, not {type(func).__name__}")
    _deprecated("trace")
    return func


class TracerWarning(Warning):
    """What PyTorch warns of while it traces; programs filter it by its class, and tt never gives it."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Do nothing: there are none."""


def _overload(func: Function) -> Function:
    """Return the function as it is: it declares types for a script, and the definition that follows it is called."""
    return func


_overload_method = _overload
_script_if_tracing = script_if_tracing


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
