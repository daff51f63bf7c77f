"""Samples whose result differs from PyTorch's on purpose; `docs/differences.md` gives the reasons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Predicate = Callable[[str, Any, Any, Any], bool]

# Operator (with its variant) -> whether a sample differs on purpose: takes check, dtype, args and kwargs.
DIFFERENCES: dict[str, Predicate] = {
    # PyTorch cannot resize these outputs itself.
    "matmul": lambda check, dtype, args, kwargs: check == "out, transposed",
    "nn.functional.linear": lambda check, dtype, args, kwargs: check == "out, transposed",
    # PyTorch writes as if the output were contiguous, and leaves its elements in the wrong order.
    "nn.functional.avg_pool3d": lambda check, dtype, args, kwargs: check == "out, transposed",
    # One rule for the dtype of out=; PyTorch casts where it happens to compute with another function.
    "linalg.matrix_power": lambda check, dtype, args, kwargs: check == "out, floats",
    "linalg.cond": lambda check, dtype, args, kwargs: check == "out, floats",
    "inner": lambda check, dtype, args, kwargs: check == "out, floats",
    # The second derivative at zero is zero as the first, not NaN.
    "linalg.norm.subgradients_at_zero": lambda check, dtype, args, kwargs: (
        check == "gradient" and not args[0].any()
    ),
    # PyTorch resizes the out tensor of one overload and refuses to in the others.
    "normal": lambda check, dtype, args, kwargs: check in ("out, empty", "out, wrong shape", "out, integers"),
    # It has no gradient; PyTorch's asks for one and refuses to compute it.
    "nextafter": lambda check, dtype, args, kwargs: check == "gradient",
    # Nothing comes from a meta tensor to the CPU, which the samples name.
    "to": lambda check, dtype, args, kwargs: check == "meta",
    # PyTorch copies where n is 0, and casts nothing there.
    "diff": lambda check, dtype, args, kwargs: check == "out, floats",
    # Refused as every result that does not fit its out tensor; PyTorch says that the sum is not implemented.
    "nansum": lambda check, dtype, args, kwargs: check == "out, integers",
    "nanmean": lambda check, dtype, args, kwargs: check == "out, integers",
    # Differences of half precision numbers cancel; PyTorch rounds each of them, others than tt does.
    "gradient": lambda check, dtype, args, kwargs: dtype.itemsize == 2,
}


def purposeful(key: str, check: str, dtype: Any, args: Any, kwargs: Any) -> bool:
    """Tell whether a difference is listed."""
    predicate = DIFFERENCES.get(key) or DIFFERENCES.get(key.partition(".")[0])
    return predicate is not None and predicate(check, dtype, args, kwargs)
