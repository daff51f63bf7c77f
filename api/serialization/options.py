"""Settings of saving and loading: byte order, checksums, mappings, and whether data is written and read."""

from __future__ import annotations

import mmap
from enum import Enum
from typing import Any

from tt.library import Carried

__all__ = [
    "LoadEndianness",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
]


class LoadEndianness(Enum):
    """The order of bytes in files that do not say it.

    Examples
    --------
    >>> import tt
    >>> [order.name for order in tt.serialization.LoadEndianness]
    ['NATIVE', 'LITTLE', 'BIG']
    """

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _Options(Carried):
    """The settings of a thread."""

    endianness: LoadEndianness | None = None
    checksums: bool = True
    mmap_flags: int | None = getattr(mmap, "MAP_PRIVATE", None)
    skip: bool = False


OPTIONS = _Options()


def get_default_load_endianness() -> LoadEndianness | None:
    """Return the byte order that `tt.load` assumes for a file that does not say it; None means little.

    Examples
    --------
    >>> import tt
    >>> tt.serialization.get_default_load_endianness() is None
    True
    """
    return OPTIONS.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order that `tt.load` assumes for a file that does not say it.

    Examples
    --------
    >>> import tt
    >>> tt.serialization.set_default_load_endianness(tt.serialization.LoadEndianness.BIG)
    >>> tt.serialization.get_default_load_endianness()
    <LoadEndianness.BIG: 3>
    >>> tt.serialization.set_default_load_endianness(None)
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError(
            f"the byte order is a tt.serialization.LoadEndianness or None, not {type(endianness).__name__}"
        )
    OPTIONS.endianness = endianness


def get_crc32_options() -> bool:
    """Return whether `tt.save` writes checksums and `tt.load` verifies them.

    Examples
    --------
    >>> import tt
    >>> tt.serialization.get_crc32_options()
    True
    """
    return OPTIONS.checksums


def set_crc32_options(compute_crc32: bool) -> None:
    """Set whether `tt.save` writes checksums and `tt.load` verifies them.

    Without them damage to the numbers of a file goes unnoticed.

    Examples
    --------
    >>> import tt
    >>> tt.serialization.set_crc32_options(False)
    >>> tt.serialization.set_crc32_options(True)
    """
    OPTIONS.checksums = bool(compute_crc32)


def get_default_mmap_options() -> int | None:
    """Return how files are mapped with `mmap=True`: `mmap.MAP_PRIVATE` or `mmap.MAP_SHARED`.

    Examples
    --------
    >>> import mmap
    >>> import tt
    >>> tt.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    True
    """
    return OPTIONS.mmap_flags


class set_default_mmap_options:  # noqa: N801 - PyTorch's name
    """Set how files are mapped with `mmap=True`; as a context manager, for a block.

    With `mmap.MAP_SHARED`, changes of loaded tensors change the file.

    Examples
    --------
    >>> import mmap
    >>> import tt
    >>> with tt.serialization.set_default_mmap_options(mmap.MAP_SHARED):
    ...     tt.serialization.get_default_mmap_options() == mmap.MAP_SHARED
    True
    """

    def __init__(self, flags: int) -> None:
        known = [getattr(mmap, name, None) for name in ("MAP_PRIVATE", "MAP_SHARED")]
        if known[0] is None:
            raise RuntimeError(
                "set_default_mmap_options() has no effect on Windows, which maps files otherwise"
            )
        if flags not in known:
            raise ValueError(
                f"the flags of a mapping are mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got {flags}"
            )
        self.prev, OPTIONS.mmap_flags = OPTIONS.mmap_flags, flags

    def __enter__(self) -> None:
        """Keep the setting until the block ends."""

    def __exit__(self, *exception: object) -> None:
        OPTIONS.mmap_flags = self.prev


class skip_data:  # noqa: N801 - PyTorch's name
    """Save without the numbers, leaving room for them, and load without reading them.

    Parameters
    ----------
    materialize_fake_tensors : bool
        Accepted as PyTorch has it; memory of tensors without data is reserved in the file in any case.

    Examples
    --------
    >>> import io
    >>> import tt
    >>> file = io.BytesIO()
    >>> with tt.serialization.skip_data():
    ...     tt.save(tt.ones(3), file)
    >>> _ = file.seek(0)
    >>> tt.load(file)  # the room that was left is of zeros
    tensor([0., 0., 0.])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        """Skip data from here on."""
        self._before, OPTIONS.skip = OPTIONS.skip, True

    def __exit__(self, *exception: Any) -> None:
        OPTIONS.skip = self._before
