"""Comparing the classes of errors: what a caller of PyTorch catches, it catches here, too."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

__all__ = ["ACCIDENTS", "builtin_of", "not_caught", "raised"]

ACCIDENTS: Final = ("AttributeError", "UnboundLocalError", "SystemError")
"""What PyTorch raises where its Python code did not look at an argument: a text has no `dim()`."""


def raised(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> BaseException | None:
    """Return what a call raises, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*args, **kwargs)
        except Exception as error:
            return error
    return None


def builtin_of(error: BaseException) -> type[BaseException]:
    """Return the class of Python's that an exception is."""
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def not_caught(theirs: BaseException | None, ours: BaseException | None) -> str:
    """Return in words that a caller who catches PyTorch's error would not catch ours; empty if it would."""
    if theirs is None or ours is None or "INTERNAL ASSERT" in str(theirs):
        return ""
    kind = builtin_of(theirs)
    if isinstance(ours, kind) or kind.__name__ in ACCIDENTS:
        return ""
    return f"{kind.__name__} in PyTorch ({theirs}), {type(ours).__name__} ({ours})"
