"""tt.library: the interface for authors of plugins, backends, layers and operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt.core import library
from tt.core.library import __all__ as _names

if TYPE_CHECKING:
    from tt.backends.array_api import ArrayApiBackend
    from tt.backends.cpu.native.checksums import crc32
    from tt.backends.cpu.native.reading import empty_bytes, read_into
    from tt.core.library import *  # noqa: F403
    from tt.testing.opcheck import opcheck

__all__ = [*_names, "ArrayApiBackend", "crc32", "empty_bytes", "opcheck", "read_into"]


def __getattr__(name: str) -> Any:
    # Imported on demand: authors of operators need no backend, programs no checks, and backends no custom operators.
    if name in _names:
        member = globals()[name] = getattr(library, name)
        return member
    if name == "ArrayApiBackend":
        from tt.backends.array_api import ArrayApiBackend

        return ArrayApiBackend
    if name == "crc32":
        from tt.backends.cpu.native.checksums import crc32

        return crc32
    if name in ("empty_bytes", "read_into"):
        from tt.backends.cpu.native import reading

        return getattr(reading, name)
    if name == "opcheck":
        from tt.testing.opcheck import opcheck

        return opcheck
    return library._renamed(name, __name__)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
