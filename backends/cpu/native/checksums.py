"""Checksums of files: CRC-32 as zip files have it."""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any, Final

from tt.backends.cpu.native.loading import load
from tt.backends.cpu.threads import get_num_threads

__all__ = ["crc32", "native_checksums"]


_LARGE: Final = 1 << 24
"""Bytes from which threads are worth their start."""


@cache
def native_checksums() -> Any:
    """Return the native functions, or None where zlib serves."""
    extension = load("checksums")
    return extension if extension is not None and extension.is_fast() else None


def crc32(data: Any, before: int = 0) -> int:
    """Return the CRC-32 of a contiguous buffer, continued from that of what came before it: a faster `zlib.crc32`.

    Examples
    --------
    >>> from tt.library import crc32
    >>> hex(crc32(b"123456789")), crc32(b"6789", crc32(b"12345")) == crc32(b"123456789")
    ('0xcbf43926', True)
    """
    native = native_checksums()
    if native is None:
        return zlib.crc32(data, before)
    threads = get_num_threads() if getattr(data, "nbytes", 0) >= _LARGE else 1
    checksum: int = native.crc32(data, before, threads)
    return checksum
