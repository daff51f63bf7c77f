"""ScriptModule: the base class of modules that were written for TorchScript, which are modules here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tt import nn
from tt.library import warn_user

__all__ = ["ScriptModule", "script_method"]

Method = TypeVar("Method", bound=Callable[..., Any])


class ScriptModule(nn.Module):
    """A module whose methods were written for TorchScript; they run as Python.

    `tt.jit.script` returns modules as they are, so only subclasses are instances of this class.

    Examples
    --------
    >>> import tt
    >>> class Twice(tt.jit.ScriptModule):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> Twice()(tt.ones(1))
    tensor([2.])
    """


def script_method(fn: Method) -> Method:
    """Return a method of a `ScriptModule` as it is."""
    warn_user(
        "`jit.script_method` is deprecated, and tt has no TorchScript: the method is returned, and runs as Python",
        DeprecationWarning,
    )
    return fn
