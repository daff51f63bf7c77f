"""Kernels that copy, and the way to Python numbers."""

from __future__ import annotations

from typing import Any

from tt.backends.array_api.kernel_builder import KernelBuilder
from tt.core.library import errors, fitted_number

__all__ = ["add_kernels", "expect_one_element"]


def add_kernels(builder: KernelBuilder) -> None:
    """Add the kernels of this family."""
    xp, backend = builder.xp, builder.backend
    builder.kernel("clone", lambda self: builder.copy(self), half="native")
    builder.kernel("clone", builder.copy_in, takes=("self", "memory_format"), half="native", check=True)

    @builder.kernel("_to_copy")
    def to_copy(self: Any, dtype: Any) -> Any:
        return builder.copy(self) if dtype == self.dtype else backend.cast(self, dtype)

    @builder.kernel("_to_copy", check=True)
    def to_copy_in(self: Any, dtype: Any, memory_format: Any) -> Any:
        return builder.copy_in(self if dtype == self.dtype else backend.cast(self, dtype), memory_format)

    @builder.kernel("copy")
    def copy(self: Any, src: Any) -> Any:
        source = src if src.dtype == self.dtype else backend.cast(src, self.dtype)
        return builder.copy(xp.broadcast_to(source, tuple(self.shape)))

    @builder.kernel("fill")
    def fill(self: Any, value: Any) -> Any:
        if builder.is_array(value):
            if value.ndim:
                raise ValueError("a tensor is filled with one number")
            return copy(self, value)
        from tt.backends.array_api.creation import fitting

        number = fitted_number(fitting(builder, value, self.dtype), builder.dtype(self))
        return xp.full(tuple(self.shape), number, dtype=self.dtype)

    @builder.kernel("item")
    def item(self: Any) -> Any:
        expect_one_element(self)
        return backend.item(self)


def expect_one_element(self: Any) -> None:
    """Raise unless a tensor has exactly one element."""
    count = 1
    for size in self.shape:
        count *= size
    if count != 1:
        raise errors.ShapeError(
            f"item(): one number is read from a tensor of one element, and this one has {count}"
        )
