"""The format of PyTorch 1.5 and before: five pickles in a row, and then the bytes of the storages."""

from __future__ import annotations

import struct
import sys
from typing import Any

from tt.errors import CorruptFileError
from tt.serialization.pickling import StorageTable, host_bytes, pickled

__all__ = ["MAGIC_NUMBER", "PROTOCOL_VERSION", "is_legacy", "locate_storages", "save_legacy"]

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


def save_legacy(obj: Any, file: Any, pickle_module: Any, protocol: int) -> None:
    """Write an object in the old format."""
    table = StorageTable(legacy=True)
    body = pickled(obj, protocol, pickle_module, table)
    info = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    keys = [str(number) for number in range(len(table.tensors))]
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, info):
        file.write(pickle_module.dumps(part, protocol=protocol))
    file.write(body)
    file.write(pickle_module.dumps(keys, protocol=protocol))
    for memory, width in zip(table.tensors, table.widths, strict=True):
        data = host_bytes(memory).data
        file.write(struct.pack("<q", len(data) // width))
        file.write(data)


def is_legacy(start: bytes) -> bool:
    """Return whether a file begins as the old format does: with a pickle of the magic number."""
    return MAGIC_NUMBER.to_bytes(10, "little") in start[:40]


def locate_storages(
    data: Any, position: int, keys: Any, sizes: dict[str, tuple[int, int]], path: str
) -> tuple[dict[str, int], int]:
    """Return where the bytes of each storage begin, and where the file ends; all must be there.

    Parameters
    ----------
    data : buffer
        The file.
    position : int
        Where the first storage begins.
    keys : list of str
        The storages in their order, as the file lists them.
    sizes : dict
        Bytes of an element and of all of each storage that the pickle refers to.
    path : str
        The file, for messages.
    """
    if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(sizes):
        raise CorruptFileError(path, "the storages that it lists are not those that its tensors need")
    places = {}
    for key in map(str, keys):
        header = bytes(data[position : position + 8])
        position += 8
        width, size = sizes[key]
        if len(header) != 8 or struct.unpack("<q", header)[0] * width != size or size > len(data) - position:
            raise CorruptFileError(
                path, f"the storage {key} is cut off, or of another size than its tensors say"
            )
        places[key] = position
        position += size
    return places, position
