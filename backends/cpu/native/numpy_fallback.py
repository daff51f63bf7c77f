"""Native kernels call NumPy's for inputs that they leave to them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

__all__ = ["quietly"]


def quietly(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel without NumPy's warnings: the dispatcher silences only those of NumPy kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from tt.backends.cpu.native.numpy_fallback import quietly
    >>> quietly(np.divide)(1.0, 0.0)
    np.float64(inf)
    """

    @wraps(function)
    def silenced(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args)

    return silenced
