"""The memory of large results: its statistics, and how much of it is kept for other results when it is freed.

The extension `_memory` allocates it; where native kernels are not in use, NumPy does, and nothing is kept or counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tt.backends.cpu.native.loading import load
from tt.core.library import errors

__all__ = [
    "VARIABLE",
    "cache_limit",
    "empty_cache",
    "limit_in",
    "memory_stats",
    "reset_counts",
    "reset_peak",
    "set_cache_limit",
]

VARIABLE: Final = "TT_CPU_CACHE"
"""The environment variable that says how many bytes are kept, for instance 512M; 0 keeps nothing."""

MEMORY: Final[Any] = load("memory")

UNITS: Final = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


def limit_in(environ: Mapping[str, str]) -> int | None:
    """Return the number of bytes that the variable gives, or None where it is not set.

    Raises
    ------
    ConfigurationError
        When it is not a number of bytes.

    Examples
    --------
    >>> from tt.backends.cpu.memory import limit_in
    >>> limit_in({"TT_CPU_CACHE": "512M"}), limit_in({})
    (536870912, None)
    """
    asked = environ.get(VARIABLE, "").strip()
    if not asked:
        return None
    match = re.fullmatch(r"(\d{1,12})\s*([KMG]?)B?", asked, re.IGNORECASE | re.ASCII)
    if match is None:
        raise errors.ConfigurationError(
            f"{VARIABLE}={asked}",
            "not a number of bytes",
            hint=f"{VARIABLE}=512M, {VARIABLE}=2G, {VARIABLE}=0 to keep nothing, or unset {VARIABLE}",
        )
    return _bounded(int(match[1]) * UNITS[match[2].upper()])


def _bounded(nbytes: int) -> int:
    """Return the number of bytes, at most the largest that an address can count."""
    return min(nbytes, 2**62)


def cache_limit() -> int:
    """Return how many bytes are kept at most."""
    return 0 if MEMORY is None else int(MEMORY.stats()["limit"])


def set_cache_limit(nbytes: int) -> None:
    """Keep at most so many bytes; give more than that back."""
    if MEMORY is not None:
        MEMORY.set_limit(_bounded(nbytes))


def memory_stats() -> dict[str, int]:
    """Return how much memory large results of native kernels use, and is kept for others."""
    if MEMORY is None:
        return {}
    stats = MEMORY.stats()
    return {
        "allocated_bytes.all.current": stats["in_use"],
        "allocated_bytes.all.peak": stats["peak_in_use"],
        "reserved_bytes.all.current": stats["in_use"] + stats["cached"],
        "reserved_bytes.all.peak": stats["peak_held"],
        "allocation.all.allocated": stats["allocations"],
        "allocation.all.freed": stats["returned"],
        "allocation.all.reused": stats["reused"],
    }


def reset_peak() -> None:
    """Reset the peaks to the bytes in use now."""
    if MEMORY is not None:
        MEMORY.reset_peak()


def reset_counts() -> None:
    """Count from zero again."""
    if MEMORY is not None:
        MEMORY.reset_counts()


def empty_cache() -> None:
    """Give back the kept blocks."""
    if MEMORY is not None:
        MEMORY.empty_cache()
