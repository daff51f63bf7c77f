"""Running kernels without NumPy's floating-point warnings, at the cost of one function call.

Note [Silencing NumPy per kernel]
---------------------------------
PyTorch never warns of overflow or division by zero.  `np.errstate` around each kernel costs a microsecond, and
setting it globally would silence the user's own NumPy code.  NumPy keeps this setting in a context variable, so a
context in which it is "ignore" can run a kernel: `Context.run` costs 20 ns.  A context can be entered by one thread
at a time and not twice; when that happens `run` raises before the kernel starts, and the dispatcher repeats the call
in a copy of the context (see `kernel_errors`).
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

__all__ = ["is_conflict", "quiet", "run_in_copy"]

_CONTEXT = contextvars.Context()
_CONTEXT.run(lambda: np.seterr(all="ignore"))


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function so that NumPy's floating-point warnings are off while it runs."""
    return partial(_CONTEXT.run, function)


def is_conflict(error: BaseException) -> bool:
    """Return whether a call failed because another call is running in the quiet context."""
    return isinstance(error, RuntimeError) and str(error).startswith("cannot enter context")


def run_in_copy(function: Callable[..., Any], args: Any) -> Any:
    """Call a quiet function in a context of its own."""
    raw = function.args[0] if isinstance(function, partial) else function
    return _CONTEXT.copy().run(raw, *args)
