"""Checksums of files: CRC-32 as zip files have it."""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any

from tt.backends.cpu.native.loading import load

__all__ = ["crc32"]


@cache
def _native() -> Any:
    """Return the native function, or None where zlib serves."""
    extension = load("checksums")
    return extension.crc32 if extension is not None and extension.is_fast() else None


def crc32(data: Any, before: int = 0) -> int:
    """Return the CRC-32 of a contiguous buffer, continued from that of what came before it: a faster `zlib.crc32`.

    Examples
    --------
    >>> from tt.library import crc32
    >>> hex(crc32(b"123456789")), crc32(b"6789", crc32(b"12345")) == crc32(b"123456789")
    ('0xcbf43926', True)
    """
    native = _native()
    found: int = zlib.crc32(data, before) if native is None else native(data, before)
    return found
