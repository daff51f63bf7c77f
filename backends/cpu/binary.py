"""Kernels of two and three arrays, element by element: NumPy's own functions where they do what PyTorch does."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array, element_strides, empty_view, owner_of
from tt.backends.cpu.pointwise import refuse_zero, wrapped
from tt.core.library import KernelTable, decode_complex32, errors

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

# --- choosing --------------------------------------------------------------------------------------------------

cpu.kernel("clamp_min", lambda self, min: np.maximum(self, wrapped(min, self)), dtypes="real")
cpu.kernel("clamp_max", lambda self, max: np.minimum(self, wrapped(max, self)), dtypes="real")
cpu.kernel("fmax", np.fmax, dtypes="real")
cpu.kernel("fmin", np.fmin, dtypes="real")
cpu.kernel(
    "heaviside", lambda self, values: np.where(self == 0, values, self > 0), dtypes="real", half="native"
)

# --- division --------------------------------------------------------------------------------------------------

cpu.kernel("fmod", np.fmod, dtypes="floating")
cpu.kernel("gcd", np.gcd, dtypes="integral")
cpu.kernel("lcm", lambda self, other: np.abs(np.lcm(self, other)), dtypes="integral")


@cpu.kernel("fmod", dtypes="integral")
def fmod(self: Any, other: Any) -> Any:
    refuse_zero(self, other)
    return np.fmod(self, other)


# --- bits ------------------------------------------------------------------------------------------------------

cpu.kernel("bitwise_left_shift", np.left_shift, dtypes="integral")
cpu.kernel("bitwise_right_shift", np.right_shift, dtypes="integral")

# --- floating point numbers ------------------------------------------------------------------------------------

cpu.kernel("copysign", np.copysign, dtypes="floating")
cpu.kernel("nextafter", np.nextafter, dtypes="floating", half="native")
cpu.kernel("frexp", np.frexp, dtypes="floating")


@cpu.kernel("ldexp", dtypes="floating")
def ldexp(self: Any, other: Any) -> Any:
    whole = np.rint(other)
    if not np.array_equal(whole, other):
        return self * np.exp2(other)
    return np.ldexp(self, np.clip(whole, -10_000, 10_000).astype(np.int32))


# --- logarithms, geometry --------------------------------------------------------------------------------------

cpu.kernel("logaddexp", np.logaddexp, dtypes="floating")
cpu.kernel("logaddexp2", np.logaddexp2, dtypes="floating")
cpu.kernel("atan2", np.arctan2, dtypes="floating")
cpu.kernel("hypot", np.hypot, dtypes="floating")
cpu.kernel("xlogy", lambda self, other: _product_with_log(np.log, self, other), dtypes="floating")
cpu.kernel("special_xlog1py", lambda self, other: _product_with_log(np.log1p, self, other), dtypes="floating")


def _product_with_log(logarithm: Any, self: Any, other: Any) -> Any:
    """Return self * log(other), and 0 where self is 0 and the other a number."""
    product = np.multiply(self, logarithm(other, dtype=self.dtype))
    return np.where((self == 0) & np.equal(other, other), self.dtype.type(0), product)


# --- three tensors ---------------------------------------------------------------------------------------------


@cpu.kernel("addcmul", dtypes="number")
def addcmul(self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    if isinstance(value, complex) and self.dtype.kind != "c":
        raise errors.DtypeError(f"addcmul(): the value {value} cannot be converted to {self.dtype}")
    if value != 1:
        factor = wrapped(value, self)
        tensor1 = np.multiply(tensor1, factor if isinstance(factor, np.ndarray) else self.dtype.type(value))
    return np.add(self, np.multiply(tensor1, tensor2))


@cpu.kernel("addcdiv", dtypes="floating", same_dtype=True)  # the composite refuses to divide integers
def addcdiv(self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    if isinstance(value, complex):
        raise errors.DtypeError(f"addcdiv(): the value {value} cannot be converted to {self.dtype}")
    quotient = np.divide(tensor1, tensor2)
    if value != 1:
        factor = wrapped(value, self)
        quotient = np.multiply(quotient, factor if isinstance(factor, np.ndarray) else self.dtype.type(value))
    return np.add(self, quotient)


@cpu.kernel("lerp", dtypes="floating_complex")
@cpu.kernel("lerp.Scalar", dtypes="floating_complex")
def lerp(self: Any, end: Any, weight: Any) -> Any:
    if isinstance(weight, np.ndarray):
        # The half dtypes come in float32, and complex32 in complex64.
        weight = decode_complex32(weight)
        if weight.ndim and weight.dtype != self.dtype and weight.itemsize != 2:
            raise ValueError("weight of another dtype")
        weight = weight.astype(self.dtype, copy=False)
    elif isinstance(weight, complex) and self.dtype.kind != "c":
        raise errors.DtypeError(f"lerp(): the weight {weight} cannot be converted to {self.dtype}")
    span = end - self
    # Counted from the nearer of the two, so that both are met exactly.
    if not isinstance(weight, np.ndarray):
        return self + span * weight if abs(weight) < 0.5 else end - span * (1 - weight)
    return np.where(np.abs(weight) < 0.5, self + span * weight, end - span * (1 - weight))


# --- complex numbers -------------------------------------------------------------------------------------------

cpu.kernel("conj_physical", np.conjugate, dtypes="complex")
cpu.kernel("conj_physical", np.copy, dtypes="real", half="native", takes=("self",))


@cpu.kernel("real", half="native")
def real(self: Array) -> Array:
    if self.dtype.kind != "c":
        return self
    return self.real if self.size else _part_of_nothing(self, 0)


@cpu.kernel("imag", dtypes="complex")
def imag(self: Array) -> Array:
    return self.imag if self.size else _part_of_nothing(self, self.itemsize // 2)


@cpu.kernel("view_as_real", dtypes="complex")
def view_as_real(self: Array) -> Array:
    if not self.size:
        return _part_of_nothing(self, 0, 2)
    pairs: Array = self[..., np.newaxis].view(self.real.dtype)
    return pairs


def _part_of_nothing(self: Array, start: int, *parts: int) -> Array:
    """Return a view of complex numbers without elements as real ones, which NumPy's would not lay out."""
    steps = [step * self.itemsize for step in element_strides(self)]
    return empty_view(
        self, (*self.shape, *parts), [*steps, *(self.itemsize // 2 for _ in parts)], start, self.real.dtype
    )


@cpu.kernel("view_as_complex", dtypes=["float32", "float64"])
def view_as_complex(self: Array) -> Array:
    pair, steps = np.dtype(np.complex128 if self.itemsize == 8 else np.complex64), element_strides(self)
    if not self.ndim or self.shape[-1] != 2 or steps[-1] != 1:
        raise ValueError("the last dimension has no pairs")
    start = self.__array_interface__["data"][0] - owner_of(self).__array_interface__["data"][0]
    if start % pair.itemsize or any(step % 2 for step in steps[:-1]):
        raise ValueError("the pairs do not lie where complex numbers could")
    if not self.size:
        return empty_view(self, self.shape[:-1], [step * self.itemsize for step in steps[:-1]], 0, pair)
    return self.view(pair)[..., 0]
