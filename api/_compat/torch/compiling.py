"""torch.compile: what it does until there is a compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt.library import warn_user

__all__ = ["compile"]


def compile(model: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Return a function or module as it is, or a decorator that does; nothing is compiled.

    Warns
    -----
    UserWarning
        That nothing is compiled.

    Examples
    --------
    >>> import warnings
    >>> from tt._compat.torch import compile
    >>> with warnings.catch_warnings(action="ignore"):
    ...     compile(abs)(-1)
    1
    """
    if model is None:
        return lambda function: compile(function, **options)
    if not callable(model):
        raise TypeError(f"torch.compile(): takes a function or a module, not {type(model).__name__}")
    if not options.get("disable"):
        warn_user("torch.compile() of tt returns the function itself: it has no compiler yet")
    return model
