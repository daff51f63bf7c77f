"""Elementary functions of one argument: NumPy's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

# --- exponentials and logarithms, trigonometric and hyperbolic functions -----------------------------------------

cpu.kernels_of({
    "log2": np.log2, "log10": np.log10, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
}, dtypes="floating_complex")  # fmt: skip
cpu.kernels_of({"exp2": np.exp2, "deg2rad": np.deg2rad, "rad2deg": np.rad2deg}, dtypes="floating")


@cpu.kernel("exp2", dtypes="complex")
def exp2(self: Any) -> Any:
    # Part by part, as one of them may be infinite.
    result = np.empty_like(self)
    np.multiply(self.real, math.log(2), out=result.real)
    np.multiply(self.imag, math.log(2), out=result.imag)
    return np.exp(result, out=result)


@cpu.kernel("sinc", dtypes="floating_complex")
def sinc(self: Any) -> Any:
    turns = self * np.pi
    result = np.sin(turns)
    return np.divide(result, turns, out=np.ones_like(result), where=self != 0)


# --- signs and parts -------------------------------------------------------------------------------------------


@cpu.kernel("frac", dtypes="floating")
def frac(self: Any) -> Any:
    return self - np.trunc(self)


@cpu.kernel("sgn", dtypes="complex")
def sgn(self: Any) -> Any:
    size, result = np.abs(self), np.zeros_like(self)
    for part in ("real", "imag"):  # one of them may be infinite
        np.divide(getattr(self, part), size, out=getattr(result, part), where=size != 0)
    return result


cpu.kernel("signbit", np.signbit, dtypes="floating", half="native")


@cpu.kernel("signbit", dtypes="integral_bool")
def signbit(self: Any) -> Any:
    return np.less(self, 0)


# --- tests -----------------------------------------------------------------------------------------------------


def _test(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a test of floating point numbers, which integers and bools fail."""

    def test(self: Any) -> Any:
        return function(self) if self.dtype.kind == "f" else np.zeros_like(self, np.bool_)

    return test


cpu.kernel("isposinf", _test(np.isposinf), dtypes="real")
cpu.kernel("isneginf", _test(np.isneginf), dtypes="real")


@cpu.kernel("nan_to_num", dtypes=("float16", "float32", "float64", "complex64", "complex128"), half="native")
def nan_to_num(self: Any, nan: float | None, posinf: float | None, neginf: float | None) -> Any:
    return np.nan_to_num(self, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)
