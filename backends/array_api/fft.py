"""The kernel of Fourier transforms; those of real numbers use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.backends.array_api.namespace import Namespace
from tt.backends.array_api.table import NamespaceTable

__all__ = ["table"]

table = NamespaceTable()


@table.kernel("_fft_c2c", needs="fft.fftn fft.ifftn", dtypes="linalg")
def fft_c2c(xp: Namespace, self: Any, dim: Sequence[int], norm: str, forward: bool) -> Any:
    single = self.dtype in (xp.float32, xp.complex64)
    dtype = xp.complex64 if single else xp.complex128
    if not dim or 0 in self.shape:  # libraries refuse a transform of nothing
        return xp.astype(self, dtype)
    self, axes = xp.astype(self, dtype, copy=False), xp.axes(dim, self.ndim)
    return (xp.fft.fftn if forward else xp.fft.ifftn)(self, axes=axes, norm=norm)
