"""The shape of a tensor: a tuple of ints that prints as PyTorch's does."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from operator import index
from typing import Any, SupportsIndex, overload

from tt.core.types.spelling import SPELLING

__all__ = ["Size", "unchecked_size"]


class Size(tuple[int, ...]):
    """A shape.

    Parameters
    ----------
    values : iterable of int
        The length of each dimension; integers of NumPy and tensors of one integer become ints.

    Raises
    ------
    TypeError
        If a value is not an integer.

    Examples
    --------
    >>> import tt
    >>> tt.zeros(2, 3).shape
    tt.Size([2, 3])
    >>> tt.zeros(2, 3).shape.numel()
    6
    >>> tt.Size([2]) * 2 + (3,)
    tt.Size([2, 2, 3])
    """

    __slots__ = ()

    def __new__(cls, values: Iterable[Any] = (), /) -> Size:
        """Make a shape of integers."""
        if type(values) is Size:
            return values
        return tuple.__new__(cls, [_as_int(value, dim) for dim, value in enumerate(values)])

    def numel(self) -> int:
        """Return the number of elements of a tensor of this shape."""
        return prod(self)

    def __repr__(self) -> str:
        return f"{SPELLING.package}.Size({list(self)})"

    def __add__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return unchecked_size(Size, tuple.__add__(self, Size(other)))

    # Python asks this before `tuple.__add__`, so that `(1,) + size` is a Size, too.
    def __radd__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return unchecked_size(Size, tuple.__add__(Size(other), self))

    def __mul__(self, times: SupportsIndex) -> Size:
        return unchecked_size(Size, tuple.__mul__(self, times))

    __rmul__ = __mul__

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: Any) -> Any:
        item = tuple.__getitem__(self, index)
        return unchecked_size(Size, item) if isinstance(index, slice) else item

    def __reduce__(self) -> tuple[type[Size], tuple[tuple[int, ...]]]:
        return Size, (tuple(self),)


unchecked_size = tuple.__new__
"""`unchecked_size(Size, values)` makes a shape of numbers that are ints already, without a look at each."""


def _as_int(value: Any, place: int) -> int:
    # Lengths that are ints of a class of their own, as of jagged dimensions, stay what they are.
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"Size() takes integers, but item {place} is {type(value).__name__}") from None
