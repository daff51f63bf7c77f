"""`tt.save`."""

from __future__ import annotations

import hashlib
import os
import pickle
import struct
import sys
from types import ModuleType
from typing import IO, Any

from tt.serialization.archive_writer import ALIGNMENT, ArchiveWriter
from tt.serialization.atomic_file import AtomicFile, write_all
from tt.serialization.legacy import MAGIC_NUMBER, PROTOCOL_VERSION
from tt.serialization.options import OPTIONS
from tt.serialization.pickling import StorageTable, host_bytes, pickled

__all__ = ["DEFAULT_PROTOCOL", "save"]

DEFAULT_PROTOCOL = 2


def save(
    obj: object,
    f: str | os.PathLike[str] | IO[bytes],
    pickle_module: ModuleType = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Save an object, with all tensors in it, to a file that `tt.load` and `torch.load` read.

    A file that is given by name is written under another name first and then renamed, so that an interrupted save
    leaves the file of before.

    Parameters
    ----------
    obj : object
        A tensor, a state dict, numbers, texts, containers of them; any object that can be pickled.
    f : str, os.PathLike or file object
        A file object needs `write`; it is flushed, so that the file can be read before it is closed, but not synced.
    pickle_module : module
        What pickles: a module with a class `Pickler`.
    pickle_protocol : int
        The version of Python's format; PyTorch reads 2 with `weights_only=True`.
    _use_new_zipfile_serialization : bool
        False writes the format of PyTorch 1.5 and before.
    _disable_byteorder_record : bool
        Leave out which order bytes have.

    Raises
    ------
    OSError
        When the file cannot be written; the one of before is as it was.

    See Also
    --------
    load : reads the file.

    Examples
    --------
    >>> import os, tempfile
    >>> import tt
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.pt")
    >>> tt.save({"weight": tt.ones(2), "epoch": 3}, path)
    >>> tt.load(path)
    {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    if not 2 <= pickle_protocol <= pickle.HIGHEST_PROTOCOL:
        raise ValueError(
            f"pickle_protocol is a number from 2 to {pickle.HIGHEST_PROTOCOL}, but got {pickle_protocol!r}"
        )
    path = os.fsdecode(os.fspath(f)) if isinstance(f, str | os.PathLike) else None
    if path is None and not hasattr(f, "write"):
        raise AttributeError(
            f"expected 'f' to be a path or a file object with write(), but got {type(f).__name__}"
        )
    table = StorageTable()
    if not _use_new_zipfile_serialization:
        write_to: Any = lambda file: _write_legacy(obj, file, pickle_module, pickle_protocol)  # noqa: E731
    else:
        data = pickled(obj, pickle_protocol, pickle_module, table)
        name = "archive" if path is None else os.path.splitext(os.path.basename(path))[0]

        def write_to(file: IO[bytes]) -> None:
            _write_archive(file, name or "archive", data, table, not _disable_byteorder_record)

    if path is None:
        write_to(f)
        flush = getattr(f, "flush", None)
        if flush is not None:
            flush()
    else:
        with AtomicFile(path) as file:
            write_to(file)


def _write_archive(file: IO[bytes], name: str, data: bytes, table: StorageTable, byte_order: bool) -> None:
    # Seeking over a record leaves a hole in a real file; other file objects get zeros.
    can_skip = OPTIONS.skip and isinstance(getattr(file, "name", None), int | str) and file.seekable()

    def skip(count: int) -> None:
        file.seek(count, os.SEEK_CUR)

    archive = ArchiveWriter(
        file, name.replace("/", "_"), checksums=OPTIONS.checksums, skip=skip if can_skip else None
    )
    # The names and the order of PyTorch's writer.
    archive.write("data.pkl", data)
    archive.write(".format_version", b"1")
    archive.write(".storage_alignment", str(ALIGNMENT).encode())
    if byte_order:
        archive.write("byteorder", sys.byteorder.encode())
    for number, memory in enumerate(table.tensors):
        if OPTIONS.skip:
            archive.reserve(f"data/{number}", memory.nbytes)
        else:
            archive.write(f"data/{number}", host_bytes(memory))
    archive.write("version", b"3\n")
    # PyTorch writes a random number here; from the contents, equal objects give equal files.
    digest = hashlib.sha256(data).digest()[:16]
    archive.write(".data/serialization_id", b"%040d" % int.from_bytes(digest, "big"))
    archive.close()


def _write_legacy(obj: object, file: IO[bytes], pickle_module: ModuleType, protocol: int) -> None:
    table = StorageTable(legacy=True)
    body = pickled(obj, protocol, pickle_module, table)
    info = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        # PyTorch writes it as well, and no reader uses it.
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    keys = [str(number) for number in range(len(table.tensors))]
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, info):
        write_all(file, pickle_module.dumps(part, protocol=protocol))
    write_all(file, body)
    write_all(file, pickle_module.dumps(keys, protocol=protocol))
    for memory, width in zip(table.tensors, table.widths, strict=True):
        data = host_bytes(memory).data
        write_all(file, struct.pack("<q", len(data) // width))
        write_all(file, data)
