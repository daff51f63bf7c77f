"""Native kernels that combine elements along dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tt.backends.cpu import reduction as plain
from tt.backends.cpu.backend import Array
from tt.backends.cpu.native.loading import load
from tt.backends.cpu.native.numpy_fallback import quietly
from tt.backends.cpu.native.pointwise import FLOATING
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("reduction")

INTEGRAL: Final = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32")

DIM: Final = ("self", "dim", "keepdim")
MOMENTS: Final = ("self", "dim", "correction", "keepdim")

if NATIVE is not None:
    for _op, _function, _dtypes, _takes in (
        # --- sums and products -------------------------------------------------------------------------------------
        ("sum", NATIVE.sum, (*FLOATING, "int64"), ("self",)),
        ("sum.dim", NATIVE.sum, (*FLOATING, "int64"), DIM),
        ("mean", NATIVE.mean, FLOATING, ("self",)),
        ("mean.dim", NATIVE.mean, FLOATING, DIM),
        ("nansum", NATIVE.nansum, FLOATING, DIM),
        ("prod", NATIVE.prod, (*FLOATING, "int64"), ("self",)),
        ("prod.dim", NATIVE.prod, (*FLOATING, "int64"), DIM),
        ("count_nonzero", NATIVE.count_nonzero, FLOATING, ("self", "dim")),
        ("logsumexp", NATIVE.logsumexp, FLOATING, DIM),
        # --- extremes: NumPy's are as fast for integers ------------------------------------------------------------
        ("max", NATIVE.amax, FLOATING, ("self",)),
        ("min", NATIVE.amin, FLOATING, ("self",)),
        ("amax", NATIVE.amax, FLOATING, DIM),
        ("amin", NATIVE.amin, FLOATING, DIM),
        ("aminmax", NATIVE.aminmax, FLOATING, DIM),
        ("max.dim", NATIVE.max_dim, (*FLOATING, *INTEGRAL), DIM),
        ("min.dim", NATIVE.min_dim, (*FLOATING, *INTEGRAL), DIM),
        ("argmax", NATIVE.argmax, (*FLOATING, *INTEGRAL), DIM),
        ("argmin", NATIVE.argmin, (*FLOATING, *INTEGRAL), DIM),
        # --- moments -----------------------------------------------------------------------------------------------
        ("var", NATIVE.var, FLOATING, MOMENTS),
        ("std", NATIVE.std, FLOATING, MOMENTS),
        ("var_mean", NATIVE.var_mean, FLOATING, MOMENTS),
        ("std_mean", NATIVE.std_mean, FLOATING, MOMENTS),
    ):
        cpu.kernel(_op, _function, dtypes=_dtypes, takes=_takes, half="native", native=True)


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
    def vector_norm(self: Array, ord: Any, dim: int | Sequence[int] | None, keepdim: bool) -> Any:
        function = _NORMS.get(ord)
        if function is not None:
            norms = function(self, dim, keepdim)
            # float32 is squared in double precision; only squares of doubles can leave the range.
            if ord != 2 or self.dtype.char != "d" or bool(np.all((norms > TINY) & (norms < np.inf))):
                return norms
        # Powers of half precision overflow early.
        wide = self.astype(np.float32) if self.dtype.itemsize == 2 else self
        return _narrowed(wide, ord, dim, keepdim, self.dtype)

    @quietly
    def _narrowed(
        self: Array, ord: Any, dim: int | Sequence[int] | None, keepdim: bool, dtype: np.dtype[Any]
    ) -> Any:
        return np.asarray(plain.vector_norm(self, ord, dim, keepdim)).astype(dtype)
