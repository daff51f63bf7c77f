"""torch._dynamo.utils: what programs ask of a compiler's counters."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Final

__all__ = ["counters", "is_compile_supported"]

counters: Final[defaultdict[str, Counter[str]]] = defaultdict(Counter)
"""Counts of what was compiled: empty."""


def is_compile_supported(device_type: Any) -> bool:
    """Return False: there is no compiler."""
    return False
