"""Writing PyTorch's archives: zip files of uncompressed records, each aligned to 64 bytes.

Sizes above 4 GiB take the fields of zip64; the directory of records at the end has them always, as PyTorch writes it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Protocol

from tt.library import crc32
from tt.serialization.atomic_file import write_all

__all__ = ["ALIGNMENT", "ArchiveWriter", "Sink"]

ALIGNMENT = 64
_DATE = 0x21  # 1980-01-01: files with equal contents are equal
_UTF8 = 0x800
_LARGE = 0xFFFFFFFF
_PIECE = 1 << 24


class Sink(Protocol):
    """The target of an archive."""

    def write(self, data: Any, /) -> Any:
        """Write bytes."""


class ArchiveWriter:
    """Writes one archive.

    Parameters
    ----------
    file : Sink
        Where it goes.
    name : str
        The folder in the archive that holds all records.
    checksums : bool
        Whether records get checksums; without, the fields are zero, which readers take for "not computed".
    skip : callable, optional
        Moves on by a number of bytes, which become zeros; they are written where the file cannot be moved in.
    """

    def __init__(
        self, file: Sink, name: str, *, checksums: bool = True, skip: Callable[[int], None] | None = None
    ) -> None:
        self._file, self._name, self._checksums, self._skip = file, name, checksums, skip
        self._offset = 0
        self._directory: list[bytes] = []

    def write(self, record: str, data: Any) -> None:
        """Write a record: any buffer of bytes."""
        view = memoryview(data).cast("B")
        self._header(record, len(view), crc32(view) if self._checksums else 0)
        self._put(view)

    def reserve(self, record: str, nbytes: int) -> None:
        """Leave room for a record, which reads as zeros and has no checksum."""
        self._header(record, nbytes, 0)
        if self._skip is not None:
            self._skip(nbytes)
            self._offset += nbytes
            return
        # In pieces, so that a large record needs no memory.
        zeros = bytes(min(nbytes, _PIECE))
        for start in range(0, nbytes, _PIECE):
            self._put(zeros[: nbytes - start])

    def close(self) -> None:
        """Write the directory of records."""
        start, count = self._offset, len(self._directory)
        for entry in self._directory:
            self._put(entry)
        size, end = self._offset - start, self._offset
        # The end of zip64 is always written, as PyTorch does, which saves a second form.
        self._put(struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, start))
        self._put(struct.pack("<4sIQI", b"PK\6\7", 0, end, 1))
        short = min(count, 0xFFFF)
        self._put(
            struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, short, short, min(size, _LARGE), min(start, _LARGE), 0)
        )

    def _put(self, data: Any) -> None:
        write_all(self._file, data)
        self._offset += len(data)

    def _header(self, record: str, size: int, crc: int) -> None:
        name = f"{self._name}/{record}".encode()
        offset, large = self._offset, size >= _LARGE
        extra = struct.pack("<HHQQ", 1, 16, size, size) if large else b""
        # Data begins at a multiple of 64 bytes, so that mapped tensors are aligned for vector
        # instructions.
        used = offset + 30 + len(name) + len(extra) + 4
        padding = -used % ALIGNMENT
        # PyTorch's field for padding; other programs skip fields that they do not know.
        extra += struct.pack("<2sH", b"FB", padding) + b"Z" * padding
        version, shown = (45 if large else 20), (_LARGE if large else size)
        fields = (version, _UTF8, 0, 0, _DATE, crc, shown, shown, len(name))
        self._put(struct.pack("<4sHHHHHIIIHH", b"PK\3\4", *fields, len(extra)) + name + extra)

        wide = b"".join(struct.pack("<Q", x) for x in (size, size, offset) if x >= _LARGE)
        more = struct.pack("<HH", 1, len(wide)) + wide if wide else b""
        self._directory.append(
            struct.pack(
                "<4sHHHHHHIIIHHHHHII",
                b"PK\1\2", 45, 45 if wide else version, *fields[1:], len(more), 0, 0, 0, 0, min(offset, _LARGE),
            )
            + name
            + more
        )  # fmt: skip
