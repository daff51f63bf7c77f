"""From real numbers to integers and back.

Numbers are divided by the scale, shifted by the zero point, rounded half to even, and held within the range of the
dtype.

Note [Rounding as PyTorch]
--------------------------
Files and trained networks hold integers that PyTorch computed, so the same numbers give the same integers here, down to
halves.  All steps are in single precision.  With one scale and eight bits, the product is not rounded before the zero
point is added.  With 32 bits, with a scale for each channel, and for numbers that are written one by one, it is.
Going back, the scales of channels multiply in double precision.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.core.library import Tensor, as_tensor, dtype, from_numpy_dtype, ops
from tt.plugins.quantized.quantizer import PerChannel, PerTensor, Quantizer

__all__ = ["LIMITS", "centred", "held", "real", "rounded"]

LIMITS: Final = {"qint8": (-128, 127), "quint8": (0, 255), "qint32": (-(2**31), 2**31 - 1)}
"""The smallest and the largest integer of each dtype."""


def _along(values: np.ndarray[Any, Any], axis: int, x: Tensor) -> Tensor:
    """Return the numbers of channels as a tensor that broadcasts along a dimension of another."""
    return as_tensor(values.reshape([-1 if d == axis else 1 for d in range(x.ndim)]), device=x.device)


def _inverse(quantizer: Quantizer, x: Tensor) -> tuple[Any, Any]:
    """Return the inverse of the scale and the zero point, each as a number or as a tensor that broadcasts."""
    with np.errstate(divide="ignore", over="ignore"):
        if isinstance(quantizer, PerTensor):
            return float(np.float32(1) / np.float32(quantizer.scale)), quantizer.zero_point
        inverse = np.float32(1) / quantizer.scales.astype(np.float32)
    points = quantizer.zero_points.astype(np.float32)
    return _along(inverse, quantizer.axis, x), _along(points, quantizer.axis, x)


def rounded(x: Tensor, quantizer: Quantizer, dtype: dtype, *, alone: bool = False) -> Tensor:
    """Return the integers that stand for the numbers of a float32 tensor, which may be written one by one."""
    inverse, point = _inverse(quantizer, x)
    if dtype.name == "qint32" or isinstance(quantizer, PerChannel) or alone:
        return held(ops.round(ops.add(ops.mul(x, inverse), point)), dtype)
    # The product of two float32 numbers is exact in float64, as in a fused multiplication and addition.
    exact = ops.add(ops.mul(ops.to.dtype(x, "float64"), inverse), point)
    return held(ops.round(ops.to.dtype(exact, "float32")), dtype)


def held(levels: Tensor, dtype: dtype) -> Tensor:
    """Return whole numbers of a floating point tensor as integers of a quantized dtype, held within its range.

    NaN becomes the largest integer of eight bits, and the smallest of 32, as with PyTorch's kernels.
    """
    low, high = LIMITS[dtype.name]
    if dtype.name == "qint32":
        # The largest int32 is no float32: it would be rounded up, beyond the range.
        levels = ops.to.dtype(levels, "float64")
    levels = ops.nan_to_num(levels, low if dtype.name == "qint32" else high, high, low)
    return ops.to.dtype(ops.clamp(levels, low, high), from_numpy_dtype(dtype.numpy))


def centred(ints: Tensor, point: int) -> Tensor:
    """Return integers less their zero point, in float32."""
    # The difference of two int32 may need 33 bits.
    wide = "int64" if ints.dtype.itemsize == 4 else "float32"
    return ops.to.dtype(ops.sub(ops.to.dtype(ints, wide), point), "float32")


def real(ints: Tensor, quantizer: Quantizer) -> Tensor:
    """Return the numbers that integers stand for, in float32."""
    result: Tensor
    if isinstance(quantizer, PerTensor):
        with np.errstate(over="ignore"):
            result = ops.mul(centred(ints, quantizer.zero_point), float(np.float32(quantizer.scale)))
        return result
    wide = "float32" if quantizer.fractional else "float64"
    points = _along(quantizer.zero_points.astype(wide), quantizer.axis, ints)
    scales = _along(quantizer.scales, quantizer.axis, ints)
    result = ops.to.dtype(ops.mul(ops.sub(ops.to.dtype(ints, wide), points), scales), "float32")
    return result
