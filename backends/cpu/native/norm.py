"""Native kernels of norms of vectors."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from tt.backends.cpu import norm
from tt.backends.cpu.backend import Array
from tt.backends.cpu.native.loading import load
from tt.backends.cpu.native.numpy_fallback import quietly
from tt.backends.cpu.native.pointwise import FLOATING
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("reduction")

TINY: Final = 1e-140
"""Norms of doubles below this may have lost squares that were too small."""

if NATIVE is not None:
    _NORMS: Final = {
        1: NATIVE.norm1,
        2: NATIVE.norm2,
        math.inf: NATIVE.norm_largest,
        -math.inf: NATIVE.norm_smallest,
    }

    @cpu.kernel("_vector_norm", dtypes=FLOATING, half="native", native=True)
    def vector_norm(self: Array, ord: Any, dim: Any, keepdim: bool) -> Any:
        function = _NORMS.get(ord)
        if function is not None:
            found = function(self, dim, keepdim)
            if ord != 2 or self.dtype.char != "d" or bool(np.all((found > TINY) & (found < np.inf))):
                return found
        wide = self.astype(np.float32) if self.dtype.itemsize == 2 else self
        return _narrowed(wide, ord, dim, keepdim, self.dtype)

    @quietly
    def _narrowed(self: Array, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
        return np.asarray(norm.vector_norm(self, ord, dim, keepdim)).astype(dtype)
