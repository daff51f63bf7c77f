"""Finds the classes and functions that a file needs but that are not allowed."""

from __future__ import annotations

import os
import pickletools
from typing import IO, Any

from tt.errors import CorruptFileError
from tt.serialization import allow_list
from tt.serialization.archive_reader import ArchiveReader
from tt.serialization.names import DTYPE_NAMES, QSCHEME_NAMES, STORAGE_TYPES, TENSOR_TYPES
from tt.serialization.rebuilding import Rebuilder
from tt.serialization.unpickler import builtin_name

__all__ = ["get_unsafe_globals_in_checkpoint"]


def get_unsafe_globals_in_checkpoint(f: str | os.PathLike[str] | IO[bytes]) -> list[str]:
    """Return the names of classes and functions that a file uses and that are not allowed.

    Nothing of the file is run.  Allow a name by `add_safe_globals`, if it is harmless.

    Parameters
    ----------
    f : str, os.PathLike or file object
        A file of the zip format.

    Raises
    ------
    CorruptFileError
        When it is none.

    Examples
    --------
    >>> import io
    >>> import tt
    >>> from decimal import Decimal
    >>> file = io.BytesIO()
    >>> tt.save(Decimal(1), file)
    >>> _ = file.seek(0)
    >>> tt.serialization.get_unsafe_globals_in_checkpoint(file)
    ['decimal.Decimal']
    """
    if isinstance(f, str | os.PathLike):
        path = os.fsdecode(os.fspath(f))
        with open(path, "rb") as file:
            return _unsafe(file, path)
    return _unsafe(f, "<file object>")


def _unsafe(file: IO[bytes], path: str) -> list[str]:
    data = ArchiveReader(file, path).read("data.pkl")
    known = Rebuilder(path, lambda found: found, lambda storage, location: storage).functions()
    fine = {*known, *DTYPE_NAMES, *QSCHEME_NAMES, *STORAGE_TYPES, *TENSOR_TYPES, *allow_list.allowed()}
    try:
        names = _names(data)
    except Exception as error:  # of any damaged pickle
        raise CorruptFileError(path, f"its pickle is damaged: {error}") from error
    allowed = allow_list.allowed()
    return sorted(
        {name for name in names if name not in fine or allow_list.blocked_module(name, allowed.get(name))}
    )


def _names(data: bytes) -> list[str]:
    """Return the names that a pickle uses, found by reading its instructions."""
    names: list[str] = []
    texts: list[Any] = []  # what was pushed, as far as it is text
    memo: dict[int, Any] = {}
    value: Any
    # Nothing is run, not even what would be allowed.
    for opcode, value, _ in pickletools.genops(data):
        name = opcode.name
        if name in ("GLOBAL", "INST"):
            module, _, short = value.partition(" ")
            names.append(builtin_name(module, short))
            texts.append(None)
        elif name == "STACK_GLOBAL":
            short, module = texts.pop(), texts.pop()
            names.append(builtin_name(module, short))
            texts.append(None)
        elif name == "MEMOIZE":
            memo[len(memo)] = texts[-1] if texts else None
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            memo[int(value)] = texts[-1] if texts else None
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            texts.append(memo.get(int(value)))
        elif name not in ("FRAME", "PROTO"):
            texts.append(value if isinstance(value, str) else None)
    return names
