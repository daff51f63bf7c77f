"""Shape rules of the sparse operators."""

from __future__ import annotations

from typing import Any, NoReturn

from tt.core.library import errors

__all__ = ["same", "sized", "stored"]


def same(self: Any) -> tuple[int, ...]:
    """The shape of self, whatever the layout."""
    return tuple(self.shape)


def sized(size: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that is asked for."""
    return tuple(size)


def stored(self: Any, op: str) -> NoReturn:
    """How many elements are stored depends on the data."""
    raise errors.DataDependentError(op, "meta")
