"""Activation functions in NumPy, with few passes over the memory."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from tt.backends.array_api.activation import check_approximate
from tt.backends.cpu.backend import Array
from tt.backends.cpu.pointwise import erfc
from tt.backends.cpu.selection import select
from tt.core.library import KernelTable, errors
from tt.operators.activation._constants import GELU_CUBIC, GELU_SCALE

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

# --- limits ----------------------------------------------------------------------------------------------------


@cpu.kernel("relu", dtypes="real_number")
def relu(self: Array) -> Any:
    return np.maximum(0, self)  # of two zeros NumPy takes the second


@cpu.kernel("hardtanh", dtypes="floating")
def hardtanh(self: Array, min_val: float, max_val: float) -> Any:
    if isinstance(min_val, complex) or isinstance(max_val, complex):
        raise errors.DataTypeError("hardtanh(): must be real number, not complex")
    if min_val > max_val:
        raise errors.ValueRangeError("hardtanh(): min_val cannot be greater than max_val")
    return np.clip(self, min_val, max_val)


@cpu.kernel("hardshrink", dtypes="floating")
def hardshrink(self: Array, lambd: float) -> Any:
    return select(np.less_equal(np.abs(self), lambd), np.zeros((), self.dtype), self)


@cpu.kernel("softshrink", dtypes="floating")
def softshrink(self: Array, lambd: float) -> Any:
    if not lambd >= 0:
        raise errors.ValueRangeError(f"softshrink(): lambd is {lambd}; it cannot be negative")
    return np.subtract(self, np.clip(self, -lambd, lambd))


# --- sigmoids --------------------------------------------------------------------------------------------------


@cpu.kernel("silu", dtypes="floating")
def silu(self: Array) -> Any:
    return self / (1 + np.exp(-self))


@cpu.kernel("gelu", dtypes="floating")
def gelu(self: Array, approximate: str) -> Any:
    if approximate == "none":
        # erfc and not 1 + erf, which loses all digits for negative numbers.
        return 0.5 * self * erfc(self * -math.sqrt(0.5))
    check_approximate(approximate)
    return 0.5 * self * (1 + np.tanh(GELU_SCALE * (self + GELU_CUBIC * self * self * self)))


# --- softmax ---------------------------------------------------------------------------------------------------


def _shifted(self: Array, dim: int) -> Array:
    """Return the differences from the largest element along a dimension, in new memory."""
    if not self.size:
        return np.exp(self)
    return (
        np.subtract(self, np.maximum.reduce(self, axis=dim, keepdims=True), order="C")
        if self.ndim
        else np.atleast_1d(self - self)
    )


@cpu.kernel("softmax", dtypes="floating")
def softmax(self: Array, dim: int) -> Any:
    _expect_dim(self, dim)
    result = _shifted(self, dim)
    np.exp(result, result)
    result /= np.add.reduce(result, axis=dim, keepdims=True)
    return result.reshape(self.shape)


@cpu.kernel("log_softmax", dtypes="floating")
def log_softmax(self: Array, dim: int) -> Any:
    _expect_dim(self, dim)
    result = _shifted(self, dim)
    result -= np.log(np.add.reduce(np.exp(result), axis=dim, keepdims=True))
    return result.reshape(self.shape)


def _expect_dim(self: Array, dim: int) -> None:
    limit = self.ndim or 1
    if not -limit <= dim < limit:
        raise IndexError("softmax along a dimension that is not there")
