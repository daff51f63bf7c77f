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

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

SELU_ALPHA: Final = 1.6732632423543772848170429916717
SELU_SCALE: Final = 1.0507009873554804934193349852946

# --- limits ----------------------------------------------------------------------------------------------------


@cpu.kernel("relu", dtypes="real_number")
def relu(self: Array) -> Any:
    return np.maximum(0, self)  # of two zeros NumPy takes the second


@cpu.kernel("threshold_backward", dtypes="floating")
def threshold_backward(grad_output: Array, self: Array, threshold: float) -> Any:
    return select(np.less_equal(self, threshold), grad_output.dtype.type(0), grad_output)


@cpu.kernel("hardtanh", dtypes="floating")
def hardtanh(self: Array, min_val: float, max_val: float) -> Any:
    if isinstance(min_val, complex) or isinstance(max_val, complex):
        raise errors.DataTypeError("hardtanh(): must be real number, not complex")
    if min_val > max_val:
        raise errors.ValueRangeError("hardtanh(): min_val cannot be greater than max_val")
    return np.clip(self, min_val, max_val)


@cpu.kernel("leaky_relu", dtypes="floating")
def leaky_relu(self: Array, negative_slope: float) -> Any:
    result = np.minimum(self, 0)
    return np.add(np.maximum(self, 0), np.multiply(result, negative_slope))


@cpu.kernel("threshold", dtypes="floating")
def threshold_(self: Array, threshold: float, value: float) -> Any:
    return select(np.less_equal(self, threshold), np.asarray(value, self.dtype), self)


@cpu.kernel("hardshrink", dtypes="floating")
def hardshrink(self: Array, lambd: float) -> Any:
    return select(np.less_equal(np.abs(self), lambd), np.zeros((), self.dtype), self)


@cpu.kernel("softshrink", dtypes="floating")
def softshrink(self: Array, lambd: float) -> Any:
    if not lambd >= 0:
        raise errors.ValueRangeError(f"softshrink(): lambd is {lambd}; it cannot be negative")
    return np.subtract(self, np.clip(self, -lambd, lambd))


# --- exponential -----------------------------------------------------------------------------------------------


def _elu(self: Array, slope: float, scale: float = 1.0, stretch: float = 1.0) -> Any:
    """Return scale max(x, 0) + slope (exp(stretch min(x, 0)) - 1)."""
    bent = np.atleast_1d(np.minimum(self, 0))
    if stretch != 1:
        bent *= stretch
    np.expm1(bent, out=bent)
    bent *= slope
    if not math.isfinite(slope):
        bent[np.atleast_1d(self >= 0)] = 0  # it would be 0 times infinity
    straight = np.atleast_1d(np.maximum(self, 0))
    if scale != 1:
        straight *= scale
    bent += straight
    return bent.reshape(self.shape)


@cpu.kernel("elu", dtypes="floating")
def elu(self: Array, alpha: float) -> Any:
    return _elu(self, alpha)


@cpu.kernel("celu", dtypes="floating")
def celu(self: Array, alpha: float) -> Any:
    if alpha == 0:
        raise errors.ValueRangeError("celu(): alpha cannot be 0, as x is divided by it")
    return _elu(self, alpha, 1.0, 1 / alpha)


@cpu.kernel("selu", dtypes="floating")
def selu(self: Array) -> Any:
    return _elu(self, SELU_ALPHA * SELU_SCALE, SELU_SCALE)


# --- sigmoids --------------------------------------------------------------------------------------------------


@cpu.kernel("silu", dtypes="floating")
def silu(self: Array) -> Any:
    return self / (1 + np.exp(-self))


@cpu.kernel("mish", dtypes="floating")
def mish(self: Array) -> Any:
    return self * np.tanh(_softplus(self))


@cpu.kernel("hardsigmoid", dtypes="floating")
def hardsigmoid(self: Array) -> Any:
    return np.clip(self + 3, 0, 6) / 6


@cpu.kernel("hardswish", dtypes="floating")
def hardswish(self: Array) -> Any:
    return self * (np.clip(self + 3, 0, 6) / 6)


def _softplus(x: Array) -> Any:
    """Return log(1 + exp(x)) without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


@cpu.kernel("logsigmoid", dtypes="floating")
def logsigmoid(self: Array) -> Any:
    return -_softplus(-self)


@cpu.kernel("softplus", dtypes="floating")
def softplus(self: Array, beta: float, threshold: float) -> Any:
    steep = self * beta
    smooth, straight = np.divide(_softplus(steep), beta), np.greater(steep, threshold)
    return select(straight, self, smooth) if np.any(straight) else smooth


@cpu.kernel("gelu", dtypes="floating")
def gelu(self: Array, approximate: str) -> Any:
    if approximate == "none":
        return 0.5 * self * erfc(self * -math.sqrt(0.5))
    check_approximate(approximate)
    return 0.5 * self * (1 + np.tanh(math.sqrt(2 / math.pi) * (self + 0.044715 * self * self * self)))


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
