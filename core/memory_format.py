"""Memory formats: the order in which the elements of a tensor lie in memory, by name."""

from __future__ import annotations

from typing import Any, Final

from tt.core.errors import UnknownNameError

__all__ = ["ORDERS", "format_name", "is_preserve"]

ORDERS: Final = {"channels_last": (0, 2, 3, 1), "channels_last_3d": (0, 2, 3, 4, 1)}
"""The formats that name an order: the dimensions from the slowest to the fastest."""

_NAMES: Final = ("contiguous_format", "preserve_format", *ORDERS)


def format_name(memory_format: Any) -> str:
    """Return the name of a memory format, given by its name (with a module in front or not).

    Raises
    ------
    UnknownNameError
        When there is no such format.

    Examples
    --------
    >>> from tt.core.memory_format import format_name
    >>> format_name("tt.channels_last"), format_name("contiguous_format")
    ('channels_last', 'contiguous_format')
    """
    name = str(memory_format).rpartition(".")[2]
    if name not in _NAMES:
        raise UnknownNameError("memory format", name, _NAMES)
    return name


def is_preserve(memory_format: Any) -> bool:
    """Tell whether a memory format asks for nothing."""
    return memory_format is None or format_name(memory_format) == "preserve_format"
