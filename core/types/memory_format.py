"""Memory formats: the order in which the elements of a tensor lie in memory.

Users write `tt.channels_last`; operators and kernels get its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tt.core.errors import UnknownNameError
from tt.core.types.spelling import SPELLING

__all__ = [
    "ORDERS",
    "channels_last",
    "channels_last_3d",
    "contiguous_format",
    "format_name",
    "is_preserve",
    "memory_format",
    "order_of_strides",
    "preserve_format",
    "strides_in_order",
]


class memory_format:  # noqa: N801 - PyTorch's name
    """The order in which the elements of a tensor lie in memory.

    There is one object per format, so `is` and `==` agree.

    Examples
    --------
    >>> import tt
    >>> tt.ones(1, 2, 3, 4).contiguous(memory_format=tt.channels_last).stride()
    (24, 1, 8, 2)
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{SPELLING.package}.{self.name}"

    def __reduce__(self) -> str:
        return self.name


contiguous_format: Final = memory_format("contiguous_format")
preserve_format: Final = memory_format("preserve_format")
channels_last: Final = memory_format("channels_last")
channels_last_3d: Final = memory_format("channels_last_3d")

ORDERS: Final = {"channels_last": (0, 2, 3, 1), "channels_last_3d": (0, 2, 3, 4, 1)}
"""The formats that name an order: the dimensions from the slowest to the fastest."""

_OF_RANK: Final = {len(order): name for name, order in ORDERS.items()}

_NAMES: Final = ("contiguous_format", "preserve_format", *ORDERS)


def format_name(memory_format: Any) -> str:
    """Return the name of a memory format, given by its name (with a module in front or not).

    Raises
    ------
    UnknownNameError
        If the format does not exist.

    Examples
    --------
    >>> from tt.core.types.memory_format import format_name
    >>> format_name("tt.channels_last"), format_name("contiguous_format")
    ('channels_last', 'contiguous_format')
    """
    name = str(memory_format).rpartition(".")[2]
    if name not in _NAMES:
        raise UnknownNameError("memory format", name, _NAMES)
    return name


def is_preserve(memory_format: Any) -> bool:
    """Return whether a memory format requires nothing."""
    return memory_format is None or format_name(memory_format) == "preserve_format"


def order_of_strides(shape: Sequence[int], strides: Sequence[int]) -> str | None:
    """Return "channels_last" or "channels_last_3d" if strides are in that order, with gaps or without, else None.

    Dimensions of size 1 count, as in PyTorch: of an image with one channel only the strides say which format it has.
    Where they fit both orders, as those of one pixel, it is row-major.

    Examples
    --------
    >>> from tt.core.types.memory_format import order_of_strides
    >>> order_of_strides((2, 3, 4, 5), (60, 1, 15, 3)), order_of_strides((2, 3, 1, 1), (3, 1, 1, 1))
    ('channels_last', None)
    """
    name = _OF_RANK.get(len(shape))
    # Most tensors end here: the channels have to be the fastest dimension.
    if name is None or 0 in shape or strides[1] == 0 or strides[1] > strides[-1]:
        return None
    # The loop is PyTorch's `is_channels_last_strides`: where strides fit both orders, it decides for row-major.
    least = 0
    for dim in reversed(ORDERS[name]):
        if strides[dim] < least or (dim == 0 and least == strides[1]):
            return None
        least = strides[dim] * shape[dim]
    return name


def strides_in_order(shape: Sequence[int], name: str) -> tuple[int, ...]:
    """Return the strides of a shape in a memory format that names an order.

    Examples
    --------
    >>> from tt.core.types.memory_format import strides_in_order
    >>> strides_in_order((2, 3, 4, 5), "channels_last")
    (60, 1, 15, 3)
    """
    strides, step = [0] * len(shape), 1
    for dim in reversed(ORDERS[name]):
        strides[dim] = step
        # A size of zero counts as one, so that no stride is zero.
        step *= max(shape[dim], 1)
    return tuple(strides)
