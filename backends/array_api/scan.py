"""Kernels of what accumulates along a dimension."""

from __future__ import annotations

from typing import Any

from tt.backends.array_api.namespace import Namespace
from tt.backends.array_api.table import NamespaceTable
from tt.core.library import errors

__all__ = ["table"]

table = NamespaceTable()


@table.kernel("cumsum", needs="cumulative_sum")
def cumsum(xp: Namespace, self: Any, dim: int) -> Any:
    axis = xp.axis(dim, self.ndim)
    if not self.ndim:
        return xp.copy(self)
    if xp.is_kind(self, "bool"):
        raise errors.DtypeError("cumsum(): not implemented for bool with dtype=bool")
    # One after the other, a million float32 numbers would lose half of their digits.
    wide = xp.complex128 if xp.is_kind(self, "complex floating") else xp.float64
    if not xp.is_kind(self, ("real floating", "complex floating")):
        wide = self.dtype
    return xp.astype(xp.cumulative_sum(self, axis=axis, dtype=wide), self.dtype, copy=False)
