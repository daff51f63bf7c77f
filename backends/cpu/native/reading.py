"""Files into memory: large parts are read by several threads, which check each part while it is cached."""

from __future__ import annotations

import io
from functools import cache
from typing import Any, Final

import numpy as np

from tt.backends.cpu.native.checksums import crc32, native_checksums
from tt.backends.cpu.native.loading import load
from tt.backends.cpu.threads import get_num_threads

__all__ = ["empty_bytes", "read_into"]

_PIECE: Final = 1 << 18
"""What fits into the cache between reading and checking."""

_AT_ONCE: Final = 1 << 28
"""Bytes between two looks at interrupts, while the native function reads."""


@cache
def _allocate() -> Any:
    extension = load("creation")
    return None if extension is None else extension.empty_bytes


def empty_bytes(size: int) -> np.ndarray[Any, Any]:
    """Return uninitialized memory: as for results of kernels, what was freed before serves again, with its pages.

    Examples
    --------
    >>> from tt.library import empty_bytes
    >>> empty_bytes(3).shape, empty_bytes(3).dtype
    ((3,), dtype('uint8'))
    """
    allocate = _allocate()
    return np.empty(size, np.uint8) if allocate is None else allocate(size)


def read_into(file: Any, offset: int, memory: np.ndarray[Any, Any], check: bool = False) -> tuple[int, int]:
    r"""Fill memory from a place of a file.

    Parameters
    ----------
    file : file object
        With `seek`, and `readinto` or `read`.  One of the system's is read without its buffer, and keeps its position.
    offset : int
        The first byte in the file.
    memory : numpy.ndarray
        Contiguous bytes, all of which are to be filled.
    check : bool
        Whether to compute the checksum.

    Returns
    -------
    tuple of int
        How many bytes the file has there, at most as many as the memory; and their CRC-32, 0 without `check`.

    Raises
    ------
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from tt.library import crc32, read_into
    >>> memory = np.zeros(4, np.uint8)
    >>> read_into(io.BytesIO(b"0123456"), 5, memory)
    (2, 0)
    >>> memory.tobytes()
    b'56\x00\x00'
    >>> read_into(io.BytesIO(b"0123456"), 0, memory, check=True) == (4, crc32(b"0123"))
    True
    """
    native = native_checksums()
    if native is not None and _is_plain(file):
        return _read_natively(native, file.fileno(), offset, memory, check)
    return _read_in_pieces(file, offset, memory, check)


def _is_plain(file: Any) -> bool:
    """Return whether a file object gives the bytes of its descriptor: it unpacks nothing, and is not written."""
    raw = file.raw if type(file) is io.BufferedReader else file
    return type(raw) is io.FileIO and not raw.closed and raw.seekable()


def _read_natively(
    native: Any, fd: int, offset: int, memory: np.ndarray[Any, Any], check: bool
) -> tuple[int, int]:
    view, threads = memory.data, get_num_threads()
    position = crc = 0
    while position < len(view):
        piece = view[position : position + _AT_ONCE]
        got, crc = native.read(fd, offset + position, piece, crc, check, threads)
        position += got
        # The native function stops early only at the end of the file.
        if got < len(piece):
            break
    return position, crc


def _read_in_pieces(file: Any, offset: int, memory: np.ndarray[Any, Any], check: bool) -> tuple[int, int]:
    view = memory.data
    into = getattr(file, "readinto", None)
    file.seek(offset)
    position = crc = 0
    while position < len(view):
        piece = view[position : position + _PIECE]
        if into is not None:
            got = into(piece)
        else:
            data = file.read(len(piece))
            got = len(data)
            piece[:got] = data
        if not got:
            break
        if check:
            crc = crc32(piece[:got], crc)
        position += got
    return position, crc
