"""Reading PyTorch's archives, without trust: everything that the directory of records says is checked.

A record must be uncompressed (so no small file becomes a large one), lie inside of the file, share no byte with
another, have a plain name in the archive's one folder, and its two headers must agree.
"""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from tt.errors import CorruptFileError
from tt.library import empty_bytes, read_into
from tt.serialization.options import OPTIONS

__all__ = ["ArchiveReader", "Record"]

_LARGE = 0xFFFFFFFF
_ENTRY = struct.Struct("<4sHHHHHHIIIHHHHHII")
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_END = struct.Struct("<4sHHHHIIH")
_LOCATOR = struct.Struct("<4sIQI")
_END64 = struct.Struct("<4sQHHIIQQQQ")


@dataclass(slots=True)
class Record:
    """The location of a record: `header` and `offset` are the positions of its header and of its data."""

    name: str
    header: int
    offset: int
    size: int
    crc: int


class ArchiveReader:
    """An archive in a file that can seek, from the present position to its end.

    Parameters
    ----------
    file : IO[bytes]
        The file.
    path : str
        Its name in messages.

    Raises
    ------
    CorruptFileError
        If it is not an archive, or not whole.
    """

    def __init__(self, file: IO[bytes], path: str) -> None:
        self._file, self._path = file, path
        self._start = file.tell()
        self._size = file.seek(0, os.SEEK_END) - self._start
        self._map: mmap.mmap | None = None
        self.records: dict[str, Record] = {}
        try:
            self._read_directory()
        except (struct.error, UnicodeDecodeError) as error:
            raise self._corrupt(f"its directory of records is damaged: {error}") from error

    def _corrupt(self, problem: str) -> CorruptFileError:
        return CorruptFileError(self._path, problem)

    # --- the directory ---------------------------------------------------------------------------------------

    def _at(self, offset: int, size: int) -> bytes:
        """Return bytes of the file, which must have them all."""
        if not 0 <= offset <= offset + size <= self._size:
            raise self._corrupt(
                f"the file has {self._size} bytes, and its directory points to {size} bytes from byte {offset} on"
            )
        self._file.seek(self._start + offset)
        data = self._file.read(size)
        if len(data) != size:
            raise self._corrupt(f"only {len(data)} of {size} bytes could be read from byte {offset} on")
        return data

    def _read_directory(self) -> None:
        if self._size < _END.size:
            raise self._corrupt(f"the file is cut off: it has only {self._size} bytes")
        # Archives of tensors have no comment, so the end is where it must be; a search for its signature
        # could be misled.
        end = self._size - _END.size
        signature, disk, first_disk, here, count, size, start, comment = _END.unpack(self._at(end, _END.size))
        if signature != b"PK\5\6" or comment or disk or first_disk or here != count:
            raise self._corrupt(
                "the file is cut off or damaged: its last bytes are not the end of an archive"
            )
        if (
            end >= _LOCATOR.size
            and (locator := self._at(end - _LOCATOR.size, _LOCATOR.size))[:4] == b"PK\6\7"
        ):
            _, disk, end64, disks = _LOCATOR.unpack(locator)
            fields = _END64.unpack(self._at(end64, _END64.size))
            if fields[0] != b"PK\6\6" or fields[1] != 44 or disk or disks != 1 or fields[4] or fields[5]:
                raise self._corrupt("the end of its directory is damaged")
            wide = fields[6:]
            # Everything that a zip file says twice must agree: otherwise another reader would see other
            # records.
            if wide[0] != wide[1] or end64 != end - _LOCATOR.size - _END64.size:
                raise self._corrupt("the end of its directory is damaged")
            for short, limit, value in (
                (count, 0xFFFF, wide[1]),
                (size, _LARGE, wide[2]),
                (start, _LARGE, wide[3]),
            ):
                if short not in (min(limit, value), limit):
                    raise self._corrupt("the two ends of its directory disagree")
            count, size, start, end = wide[1], wide[2], wide[3], end64
        # Bytes between directory and end would be seen by one reader and not by another.
        if start + size != end:
            raise self._corrupt("its directory of records is not where the end of the file says")
        self._read_entries(self._at(start, size), count, start)

    def _read_entries(self, directory: bytes, count: int, limit: int) -> None:
        position = 0
        folders = set()
        records: list[Record] = []
        for _ in range(count):
            fields = _ENTRY.unpack_from(directory, position)
            (
                signature,
                _,
                _,
                flags,
                method,
                _,
                _,
                crc,
                packed,
                size,
                length,
                extra,
                remark,
                disk,
                _,
                _,
                header,
            ) = fields
            position += _ENTRY.size
            name = directory[position : position + length].decode()
            more = directory[position + length : position + length + extra]
            position += length + extra + remark
            if signature != b"PK\1\2" or len(more) != extra or disk:
                raise self._corrupt("its directory of records is damaged")
            size, packed, header = _widened(more, size, packed, header)
            # Tensors are mapped or read in place, which compressed records cannot be.
            if method or size != packed:
                raise self._corrupt(
                    f"the record {name!r} is compressed, which no archive of tensors is\n"
                    "  try: unpack it, and pack it again without compression (zip -0)"
                )
            if flags & ~(_UTF8_AND_DESCRIPTOR):
                raise self._corrupt(
                    f"the record {name!r} is encrypted, or of a kind that archives of tensors lack"
                )
            folders.add(self._checked_name(name))
            records.append(self._located(Record(name, header, 0, size, crc), flags))
        if position != len(directory):
            raise self._corrupt("its directory of records is longer than its records")
        if len(folders) > 1:
            raise self._corrupt(f"an archive of tensors has one folder, and this has {len(folders)}")
        self._check_overlaps(records, limit)

    def _checked_name(self, name: str) -> str:
        """Return the folder of a record, whose name must be plain."""
        parts = name.split("/")
        if len(parts) < 2 or "" in parts or ".." in parts or "." in parts or "\\" in name or "\0" in name:
            raise self._corrupt(f"the record {name!r} has a name that no archive of tensors uses")
        return parts[0]

    def _located(self, record: Record, flags: int) -> Record:
        """Return a record with the place of its data, which its own header gives."""
        fields = _LOCAL.unpack(self._at(record.header, _LOCAL.size))
        signature, _, own_flags, method, _, _, crc, packed, size, length, extra = fields
        rest = self._at(record.header + _LOCAL.size, length + extra)
        if signature != b"PK\3\4" or rest[:length] != record.name.encode() or method or own_flags != flags:
            raise self._corrupt(f"the header of the record {record.name!r} is damaged")
        if not flags & 8:  # else sizes and checksum follow the data
            size, packed, _ = _widened(rest[length:], size, packed, 0)
            if (size, packed, crc) != (record.size, record.size, record.crc):
                raise self._corrupt(f"the two headers of the record {record.name!r} disagree")
        record.offset = record.header + _LOCAL.size + length + extra
        return record

    def _check_overlaps(self, found: list[Record], limit: int) -> None:
        """Check that no two records share bytes or a name, and none reaches into the directory."""
        end = 0
        # Overlapping records are the means of zip bombs, and of files that two readers see differently.
        for record in sorted(found, key=lambda record: record.header):
            if record.header < end:
                raise self._corrupt(f"the record {record.name!r} overlaps another")
            end = record.offset + record.size
            if end > limit:
                raise self._corrupt(
                    f"the record {record.name!r} of {record.size} bytes reaches beyond the records of the file"
                )
            name = record.name.partition("/")[2]
            if name in self.records:
                raise self._corrupt(f"there are two records of the name {record.name!r}")
            self.records[name] = record

    # --- records ---------------------------------------------------------------------------------------------

    def __contains__(self, name: str) -> bool:
        return name in self.records

    def find(self, name: str) -> Record:
        """Return a record by its name in the folder."""
        record = self.records.get(name)
        if record is None:
            raise self._corrupt(f"it has no record {name!r}")
        return record

    def read(self, name: str) -> bytes:
        """Return the contents of a record."""
        return self.read_array(name).tobytes()

    def read_array(self, name: str) -> np.ndarray[Any, Any]:
        """Return the contents of a record in memory of their own, which are checked as they are read."""
        # Memory is taken only now, when the record is known to lie within the file.
        record = self.find(name)
        memory = empty_bytes(record.size)
        check = OPTIONS.checksums and record.crc != 0
        got, crc = read_into(self._file, self._start + record.offset, memory, check)
        if got != record.size:
            raise self._corrupt(f"the record {record.name!r} ends after {got} of {record.size} bytes")
        if check and crc != record.crc:
            raise self._corrupt(
                f"the record {record.name!r} is damaged: its checksum is {crc:08x}, and {record.crc:08x} was saved\n"
                "  to read it nevertheless: tt.serialization.set_crc32_options(False)"
            )
        return memory

    def map_array(self, name: str) -> np.ndarray[Any, Any]:
        """Return the contents of a record as a part of the file that the system reads when it is used."""
        record = self.find(name)
        # One mapping for all records, since a process has a limited number of them.
        if self._map is None:
            self._map = _mapped(self._file)
        if not record.size:
            return np.empty(0, np.uint8)
        return np.frombuffer(self._map, np.uint8, record.size, self._start + record.offset)


_UTF8_AND_DESCRIPTOR = 0x808


def _mapped(file: IO[bytes]) -> mmap.mmap:
    flags = OPTIONS.mmap_flags
    if flags is None:  # Windows
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    # Writable, for tensors are; with MAP_PRIVATE the file does not change.
    return mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)


def _widened(extra: bytes, size: int, packed: int, header: int) -> tuple[int, int, int]:
    """Return sizes and offset of a record, from the fields of zip64 where they do not fit in 32 bits."""
    values = [size, packed, header]
    # Zip64 stores only the numbers that do not fit, in this order.
    large = [at for at, value in enumerate(values) if value == _LARGE]
    position = 0
    while large and position + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, position)
        if kind == 1:
            wide = struct.unpack_from(f"<{len(large)}Q", extra, position + 4)
            for at, value in zip(large, wide, strict=True):
                values[at] = value
            break
        position += 4 + length
    return values[0], values[1], values[2]
