"""AddressSanitizer and the emulated device: which of its memory kernels may touch.

The pool of the fake CuPy gives out parts of large pieces, of which the sanitizer knows nothing. So it forbids what
it has not given out, and the bytes behind each block: kernels that were compiled for the sanitizer stop there.
"""

from __future__ import annotations

import ctypes
import os
from typing import Final

__all__ = ["GAP", "SANITIZE", "allow", "forbid"]

SANITIZE: Final = "TT_SHIM_SANITIZE"
"""The variable that is set where AddressSanitizer was loaded before Python."""

GAP: Final = 512 if os.environ.get(SANITIZE) else 0
"""Bytes behind each block that must stay as they are."""


def forbid(address: int, size: int) -> None:
    """Let kernels that touch these bytes fail."""
    _mark("__asan_poison_memory_region", address, size)


def allow(address: int, size: int) -> None:
    """Let kernels touch these bytes again."""
    _mark("__asan_unpoison_memory_region", address, size)


def _mark(function: str, address: int, size: int) -> None:
    if GAP and size:
        getattr(ctypes.CDLL(None), function)(ctypes.c_void_p(address), ctypes.c_size_t(size))
