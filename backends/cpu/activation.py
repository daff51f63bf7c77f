"""Activation functions in NumPy, with few passes over the memory."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from tt.backends.array_api.activation import check_approximate
from tt.backends.cpu.backend import Array
from tt.core.library import KernelTable, errors

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

# --- limits ----------------------------------------------------------------------------------------------------


@cpu.kernel("relu", dtypes="real_number")
def relu(self: Array) -> Any:
    return np.maximum(self, 0)


@cpu.kernel("hardtanh", dtypes="floating")
def hardtanh(self: Array, min_val: float, max_val: float) -> Any:
    if min_val > max_val:
        raise errors.ValueRangeError("hardtanh(): min_val cannot be greater than max_val")
    return np.minimum(np.maximum(self, min_val), max_val)


@cpu.kernel("leaky_relu", dtypes="floating")
def leaky_relu(self: Array, negative_slope: float) -> Any:
    result = self * negative_slope
    return np.where(self > 0, self, result)


@cpu.kernel("hardshrink", dtypes="floating")
def hardshrink(self: Array, lambd: float) -> Any:
    return np.where(np.abs(self) <= lambd, self.dtype.type(0), self)


# --- exponential -----------------------------------------------------------------------------------------------


@cpu.kernel("elu", dtypes="floating")
def elu(self: Array, alpha: float) -> Any:
    result = np.minimum(self, 0)
    result = np.expm1(result) * alpha
    return np.where(self > 0, self, result)


# --- sigmoids --------------------------------------------------------------------------------------------------


@cpu.kernel("silu", dtypes="floating")
def silu(self: Array) -> Any:
    return self / (1 + np.exp(-self))


@cpu.kernel("hardsigmoid", dtypes="floating")
def hardsigmoid(self: Array) -> Any:
    return np.minimum(np.maximum(self + 3, 0), 6) / 6


@cpu.kernel("hardswish", dtypes="floating")
def hardswish(self: Array) -> Any:
    return self * (np.minimum(np.maximum(self + 3, 0), 6) / 6)


@cpu.kernel("logsigmoid", dtypes="floating")
def logsigmoid(self: Array) -> Any:
    return np.minimum(self, 0) - np.log1p(np.exp(-np.abs(self)))


@cpu.kernel("softplus", dtypes="floating")
def softplus(self: Array, beta: float, threshold: float) -> Any:
    steep = self * beta
    smooth = (np.maximum(steep, 0) + np.log1p(np.exp(-np.abs(steep)))) / beta
    return np.where(steep > threshold, self, smooth)


@cpu.kernel("gelu", dtypes="floating")
def gelu(self: Array, approximate: str) -> Any:
    if approximate == "none":
        from scipy.special import erfc  # SciPy takes as long to import as NumPy, and few programs need it

        return 0.5 * self * erfc(self * -math.sqrt(0.5))
    check_approximate(approximate)
    return 0.5 * self * (1 + np.tanh(math.sqrt(2 / math.pi) * (self + 0.044715 * self * self * self)))


# --- softmax ---------------------------------------------------------------------------------------------------


def _shifted(self: Array, dim: int) -> Array:
    """Return the differences from the largest element along a dimension, in new memory."""
    if not self.size:
        return np.exp(self)
    return (
        np.subtract(self, np.maximum.reduce(self, axis=dim, keepdims=True))
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
