"""Kernels of linear algebra: NumPy's, which call BLAS and LAPACK."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.core.library import KernelTable, errors

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

# --- products --------------------------------------------------------------------------------------------------

cpu.kernel("matmul", np.matmul, dtypes="number")


@cpu.kernel("mm", dtypes="number")
def mm(self: Array, mat2: Array) -> Any:
    if self.ndim != 2 or mat2.ndim != 2:
        raise ValueError("mm() takes matrices")
    return np.matmul(self, mat2)


@cpu.kernel("addmm", dtypes="number")
def addmm(self: Array, mat1: Array, mat2: Array) -> Any:
    if mat1.ndim != 2 or mat2.ndim != 2 or self.ndim > 2:
        raise ValueError("addmm() takes matrices")
    result = np.matmul(mat1, mat2)
    return np.add(result, self, result)


@cpu.kernel("addmm", dtypes="number")
def addmm_with_factors(self: Array, mat1: Array, mat2: Array, beta: Any, alpha: Any) -> Any:
    if mat1.ndim != 2 or mat2.ndim != 2 or self.ndim > 2:
        raise ValueError("addmm() takes matrices")
    if self.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)
    result = np.matmul(mat1, mat2)
    if alpha != 1:
        np.multiply(result, alpha, result)
    if beta == 0:  # what self holds, NaN included, does not count
        np.broadcast_to(self, result.shape)
        return result
    return np.add(result, self if beta == 1 else np.multiply(self, beta), result)


# --- decompositions --------------------------------------------------------------------------------------------


@cpu.kernel("linalg_svd", dtypes="linalg")
def svd(A: Array, full_matrices: bool, driver: str | None) -> tuple[Array, ...]:  # noqa: N803 - as on paper
    if driver is not None:
        raise errors.ValueRangeError(
            "linalg.svd: keyword argument `driver=` is only supported on CUDA inputs"
        )
    if A.ndim < 2:
        raise ValueError("linalg.svd() takes matrices")
    try:
        return tuple(np.linalg.svd(A, full_matrices=full_matrices))
    except np.linalg.LinAlgError as error:
        raise errors.LinAlgError(f"linalg.svd: The algorithm failed to converge ({error}).") from error


@cpu.kernel("linalg_inv", dtypes="linalg")
def inv(A: Array) -> Any:  # noqa: N803 - as on paper
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError("linalg.inv() takes square matrices")
    try:
        return np.linalg.inv(A)
    except np.linalg.LinAlgError as error:
        raise errors.LinAlgError(
            "linalg.inv: The inversion could not be completed because the input matrix is singular."
        ) from error
