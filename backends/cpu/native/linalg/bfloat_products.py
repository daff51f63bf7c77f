"""Native products of bfloat16 matrices, on processors that multiply bfloat16 (AVX512_BF16).

Other processors, and products that are not of matrices, are computed in float32.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.backends.cpu.native.linalg.products import VARIABLE, blas_serves
from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable, Scalar

__all__ = ["cpu", "unavailable"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("bfloat_products")
SINGLE: Final = load("products")


def in_float32(op: str, dtype: np.dtype[Any], *arrays: Any) -> Any:
    """Return the rounded result of the kernel of float32."""
    wide = [None if array is None else array.astype(np.float32) for array in arrays]
    return getattr(SINGLE, op)(*wide).astype(dtype)


def mm(self: Array, mat2: Array) -> Any:
    if self.ndim != 2:
        raise ValueError("mm() takes matrices")
    return NATIVE.product(self, mat2, None)


def bmm(self: Array, mat2: Array) -> Any:
    if self.ndim != 3:
        raise ValueError("bmm() takes batches of matrices")
    return NATIVE.product(self, mat2, None)


def matmul(self: Array, other: Array) -> Any:
    alike = self.ndim == other.ndim and self.shape[:-2] == other.shape[:-2]
    if alike and 2 <= self.ndim <= 3:
        return NATIVE.product(self, other, None)
    # The leading dimensions are rows of one tall matrix.
    if self.ndim > 2 and other.ndim == 2 and self.flags.c_contiguous and self.size:
        rows = self.reshape(-1, self.shape[-1])
        return NATIVE.product(rows, other, None).reshape(*self.shape[:-1], other.shape[1])
    return in_float32("matmul", self.dtype, self, other)


def linear(input: Array, weight: Array, bias: Array | None) -> Any:
    fits = bias is None or (bias.shape == weight.shape[:1] and bias.flags.c_contiguous)
    if input.ndim < 2 or weight.ndim != 2 or not fits:
        return in_float32("linear", input.dtype, input, weight, bias)
    if input.ndim == 2:
        return NATIVE.product(input, weight.T, bias)
    if not (input.flags.c_contiguous and input.size):
        return in_float32("linear", input.dtype, input, weight, bias)
    rows = input.reshape(-1, input.shape[-1])
    return NATIVE.product(rows, weight.T, bias).reshape(*input.shape[:-1], weight.shape[0])


def addmm(self: Array, mat1: Array, mat2: Array) -> Any:
    if (
        self.ndim == 1
        and mat1.ndim == mat2.ndim == 2
        and self.shape[0] == mat2.shape[1]
        and self.flags.c_contiguous
    ):
        return NATIVE.product(mat1, mat2, self)
    return in_float32("addmm", mat1.dtype, self, mat1, mat2)


def with_factors(self: Array, mat1: Array, mat2: Array, beta: Scalar, alpha: Scalar) -> Any:
    """Return `beta * self + alpha * mat1 @ mat2`, rounded once."""
    result = SINGLE.mm(mat1.astype(np.float32), mat2.astype(np.float32))
    if alpha != 1:
        np.multiply(result, alpha, result)
    if beta == 0:  # what self holds, NaN included, does not count
        np.broadcast_to(self, result.shape)
        return result.astype(mat1.dtype)
    summand = self.astype(np.float32)
    return np.add(result, summand if beta == 1 else np.multiply(summand, beta), result).astype(mat1.dtype)


def unavailable() -> str | None:
    """Return why these kernels do not serve here, or None: they need an instruction, and BLAS may be asked to serve.

    Examples
    --------
    >>> from tt.backends.cpu.native.linalg.bfloat_products import unavailable
    >>> unavailable() in (None, "this processor, or TT_ISA, has no AVX512_BF16", "TT_PRODUCTS=blas")
    True
    """
    if blas_serves():
        return f"{VARIABLE}=blas"
    if NATIVE is None or not NATIVE.supported():
        return "this processor, or TT_ISA, has no AVX512_BF16"
    return None


if SINGLE is not None:  # whatever the instruction set, so that the table is the same for all
    for _kernel in (mm, bmm, matmul, linear, addmm):
        cpu.kernel(
            _kernel.__name__,
            _kernel,
            dtypes=("bfloat16",),
            half="same",
            native=True,
            available=unavailable,
        )
    cpu.kernel(
        "addmm",
        with_factors,
        takes=("self", "mat1", "mat2", "beta", "alpha"),
        dtypes=("bfloat16",),
        half="same",
        native=True,
        available=unavailable,
    )
