"""tt.compiler: what programs ask of a compiler, which is not built yet: every call runs as it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt.errors import ArgumentError, UnsupportedError, ValueRangeError

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "reset",
]  # fmt: skip


def is_compiling() -> bool:
    """Return False: nothing is compiled.

    Examples
    --------
    >>> import tt
    >>> tt.compiler.is_compiling()
    False
    """
    return False


def is_dynamo_compiling() -> bool:
    """Return False: nothing is compiled."""
    return False


def is_exporting() -> bool:
    """Return False: nothing is exported."""
    return False


def disable(
    fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None
) -> Any:
    """Return a function, or a decorator, that changes nothing.

    Examples
    --------
    >>> import tt
    >>> @tt.compiler.disable
    ... def twice(x):
    ...     return 2 * x
    >>> twice(3)
    6
    """
    return fn if fn is not None else lambda function: function


def allow_in_graph(fn: Any) -> Any:
    """Return the function, or the functions, as they are."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """Return the function as it is."""
    return fn


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Return the names of compilers: there is none."""
    return []


def reset() -> None:
    """Forget what was compiled: nothing."""


def cudagraph_mark_step_begin() -> None:
    """Do nothing, because tt compiles no graphs."""


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Return the function or module itself with `disable=True`; otherwise raise, because tt has no compiler yet.

    Parameters
    ----------
    model : callable, optional
        The function or module; without it, a decorator is returned.
    disable : bool
        Whether nothing is to be compiled.
    fullgraph, dynamic, backend, mode, options : optional
        As in PyTorch; ignored until tt has a compiler.

    Raises
    ------
    UnsupportedError
        Unless `disable` is True, because a program that requests compilation does not get it.

    Examples
    --------
    >>> import tt
    >>> model = tt.nn.Linear(2, 3)
    >>> tt.compile(model, disable=True) is model
    True
    """
    if mode is not None and options is not None:
        raise ValueRangeError(
            "compile(): either mode or options can be specified, but both can't be specified at the same time"
        )
    if not disable:
        raise UnsupportedError(
            "compile(): a compiler is not built yet: call the function or module itself, or pass disable=True"
        )
    if model is None:
        return lambda function: function
    if not callable(model):
        raise ArgumentError("compile", f"a function or a module is expected, not {type(model).__name__}")
    return model
