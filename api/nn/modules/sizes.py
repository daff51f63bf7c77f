"""Sizes of one number for each dimension of an image, given as one number for all or as one for each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["reversed_twice", "tuple_of"]


def tuple_of(value: object, count: int) -> tuple[Any, ...]:
    """Return a number as often as there are dimensions, and a sequence as a tuple.

    Examples
    --------
    >>> tuple_of(3, 2), tuple_of([1, 2], 2)
    ((3, 3), (1, 2))
    """
    return tuple(value) if isinstance(value, Iterable) else (value,) * count


def reversed_twice(sizes: Iterable[int]) -> tuple[int, ...]:
    """Return each size twice, the last dimension first, as `tt.nn.functional.pad` takes them.

    Examples
    --------
    >>> reversed_twice((1, 2))
    (2, 2, 1, 1)
    """
    return tuple(size for size in reversed(tuple(sizes)) for _ in range(2))
