"""Native kernels of what accumulates along a dimension."""

from __future__ import annotations

from typing import Any, Final

from tt.backends.cpu.backend import Array
from tt.backends.cpu.native.loading import load
from tt.backends.cpu.native.numpy_fallback import quietly
from tt.backends.cpu.native.pointwise import FLOATING
from tt.backends.cpu.native.pointwise import NATIVE as POINTWISE
from tt.backends.cpu.native.reduction import INTEGRAL
from tt.backends.cpu.scan import diff as numpy_diff
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("scan")

if NATIVE is not None:
    for _op, _dtypes in (
        ("cumsum", (*FLOATING, "int64")),
        ("cumprod", (*FLOATING, "int64")),
        ("cummax", (*FLOATING, *INTEGRAL)),
        ("cummin", (*FLOATING, *INTEGRAL)),
        ("logcumsumexp", FLOATING),
    ):
        cpu.kernel(
            _op, getattr(NATIVE, _op), dtypes=_dtypes, takes=("self", "dim"), half="native", native=True
        )

    @cpu.kernel("diff", dtypes=("float32", "float64", "int64"), native=True)
    def diff(self: Array, n: int, dim: int) -> Any:
        if n != 1 or not -self.ndim <= dim < self.ndim or not self.shape[dim]:
            return quietly(numpy_diff)(self, n, dim)
        before: list[Any] = [slice(None)] * self.ndim
        after = before.copy()
        before[dim], after[dim] = slice(None, -1), slice(1, None)
        subtract = POINTWISE.sub_integers if self.dtype.kind == "i" else POINTWISE.sub
        return subtract(self[tuple(after)], self[tuple(before)])
