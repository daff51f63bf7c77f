"""The shape of a tensor: a tuple of ints that prints as PyTorch's does."""

from __future__ import annotations

from math import prod
from typing import Any, SupportsIndex, overload

__all__ = ["Size"]


class Size(tuple[int, ...]):
    """A shape.

    Examples
    --------
    >>> import tt
    >>> tt.zeros(2, 3).shape
    tt.Size([2, 3])
    >>> tt.zeros(2, 3).shape.numel()
    6
    """

    __slots__ = ()

    def numel(self) -> int:
        """Return the number of elements of a tensor of this shape."""
        return prod(self)

    def __repr__(self) -> str:
        return f"tt.Size({list(self)})"

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __reduce__(self) -> tuple[type[Size], tuple[tuple[int, ...]]]:
        return Size, (tuple(self),)
