"""Kernels of what accumulates along a dimension."""

from __future__ import annotations

from typing import Any

from tt.backends.array_api.kernel_builder import KernelBuilder
from tt.core.library import errors

__all__ = ["add_kernels"]


def add_kernels(builder: KernelBuilder) -> None:
    """Add the kernels of this family."""
    xp = builder.xp

    @builder.kernel("cumsum", needs="cumulative_sum")
    def cumsum(self: Any, dim: int) -> Any:
        axis = builder.axis(dim, self.ndim)
        if not self.ndim:
            return builder.copy(self)
        if builder.is_kind(self, "bool"):
            raise errors.DtypeError("cumsum(): not implemented for bool with dtype=bool")
        # One after the other, a million float32 numbers would lose half of their digits.
        wide = xp.complex128 if builder.is_kind(self, "complex floating") else xp.float64
        if not builder.is_kind(self, ("real floating", "complex floating")):
            wide = self.dtype
        return xp.astype(xp.cumulative_sum(self, axis=axis, dtype=wide), self.dtype, copy=False)
