"""Kernels that copy, and the way to Python numbers."""

from __future__ import annotations

from typing import Any

from tt.backends.array_api.namespace import Namespace
from tt.backends.array_api.table import NamespaceTable
from tt.core.library import errors, fitted_number

__all__ = ["expect_one_element", "table"]


table = NamespaceTable()
table.kernel("clone", Namespace.copy, takes=("self",), half="native")
table.kernel("clone", Namespace.copy_in, takes=("self", "memory_format"), half="native", check=True)


@table.kernel("_to_copy")
def to_copy(xp: Namespace, self: Any, dtype: Any) -> Any:
    return xp.copy(self) if dtype == self.dtype else xp.backend.cast(self, dtype)


@table.kernel("_to_copy", check=True)
def to_copy_in(xp: Namespace, self: Any, dtype: Any, memory_format: Any) -> Any:
    return xp.copy_in(self if dtype == self.dtype else xp.backend.cast(self, dtype), memory_format)


@table.kernel("copy")
def copy(xp: Namespace, self: Any, src: Any) -> Any:
    source = src if src.dtype == self.dtype else xp.backend.cast(src, self.dtype)
    # A new array, as arrays of the standard need not be mutable; the result takes the place of the old one.
    return xp.copy(xp.broadcast_to(source, tuple(self.shape)))


@table.kernel("fill")
def fill(xp: Namespace, self: Any, value: Any) -> Any:
    if xp.is_array(value):
        if value.ndim:
            raise ValueError("a tensor is filled with one number")
        return copy(xp, self, value)
    from tt.backends.array_api.creation import fitting

    number = fitted_number(fitting(xp, value, self.dtype), xp.dtype_of(self))
    return xp.full(tuple(self.shape), number, dtype=self.dtype)


@table.kernel("item")
def item(xp: Namespace, self: Any) -> Any:
    expect_one_element(self)
    return xp.backend.item(self)


def expect_one_element(self: Any) -> None:
    """Raise unless a tensor has exactly one element."""
    count = 1
    for size in self.shape:
        count *= size
    if count != 1:
        raise errors.ShapeError(
            f"item(): one number is read from a tensor of one element, and this one has {count}"
        )
