"""Files for the tests of loading: archives around any pickle, and old files made of parts."""

from __future__ import annotations

import io
import pickle

from tt.serialization.archive_writer import ArchiveWriter
from tt.serialization.legacy import MAGIC_NUMBER, PROTOCOL_VERSION


def archive_of(pkl, records=(), byteorder=b"little"):
    """Return an archive with a pickle and records of bytes."""
    file = io.BytesIO()
    writer = ArchiveWriter(file, "archive")
    writer.write("data.pkl", pkl)
    writer.write("byteorder", byteorder)
    for name, data in dict(records).items():
        writer.write(name, data)
    writer.write("version", b"3\n")
    writer.close()
    return file.getvalue()


def legacy_of(pkl, keys=(), storages=b""):
    """Return a file of the old format around a pickle."""
    info = {"protocol_version": PROTOCOL_VERSION, "little_endian": True, "type_sizes": {}}
    parts = [pickle.dumps(part, 2) for part in (MAGIC_NUMBER, PROTOCOL_VERSION, info)]
    return b"".join([*parts, pkl, pickle.dumps(list(keys), 2), storages])


def text(value):
    """Return the instruction that pushes a text."""
    data = value.encode()
    return b"X" + len(data).to_bytes(4, "little") + data


def storage_id(kind="FloatStorage", key="0", location="cpu", count=3):
    """Return the instructions that push a storage."""
    number = b"\x8a\x09" + int(count).to_bytes(9, "little", signed=True)
    return b"(" + text("storage") + f"ctorch\n{kind}\n".encode() + text(key) + text(location) + number + b"tQ"
