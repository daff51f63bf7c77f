"""Kernels of linear algebra: NumPy's, which call BLAS and LAPACK."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

# --- products --------------------------------------------------------------------------------------------------

cpu.kernel("matmul", np.matmul, dtypes="number")


@cpu.kernel("mm", dtypes="number")
def mm(self: Array, mat2: Array) -> Any:
    if self.ndim != 2 or mat2.ndim != 2:
        raise ValueError("mm() takes matrices")
    return np.matmul(self, mat2)


@cpu.kernel("linear", dtypes="number")
def linear(input: Array, weight: Array, bias: Array | None) -> Any:
    if weight.ndim > 2 or (weight.ndim == 1 and input.ndim == 2 and bias is not None):
        raise ValueError("linear() with weights of other dimensions")  # the shape rule explains it
    product = np.matmul(input, weight.T)
    if bias is None:
        return product
    result = np.add(product, bias)
    if result.shape != product.shape:
        raise ValueError("linear() with a bias of another shape")
    return result


def _added(op: str, ndims: tuple[int, int], product: Any, names: tuple[str, str]) -> None:
    """Add the kernels of beta * self + alpha * a product, without and with factors."""

    def plain(self: Array, one: Array, other: Array) -> Any:
        if (one.ndim, other.ndim) != ndims:
            raise ValueError(f"{op}() takes other dimensions")
        result = product(one, other)
        return np.add(result, self, result)

    def with_factors(self: Array, one: Array, other: Array, beta: Any, alpha: Any) -> Any:
        if (one.ndim, other.ndim) != ndims:
            raise ValueError(f"{op}() takes other dimensions")
        if self.dtype.kind in "iu":
            beta, alpha = int(beta), int(alpha)
        result = product(one, other)
        if alpha != 1:
            np.multiply(result, alpha, result)
        if beta == 0:  # what self holds, NaN included, does not count
            np.broadcast_to(self, result.shape)
            return result
        return np.add(result, self if beta == 1 else np.multiply(self, beta), result)

    cpu.kernel(op, plain, takes=("self", *names), dtypes="number")
    cpu.kernel(op, with_factors, takes=("self", *names, "beta", "alpha"), dtypes="number")


def batched(one: Array, other: Array) -> Any:
    """Return the products of two batches of as many matrices."""
    if one.shape[0] != other.shape[0]:
        raise ValueError("the batches differ")
    return np.matmul(one, other)


def batched_sum(one: Array, other: Array) -> Any:
    """Return the sum of the products of two batches: one product of a wide and a tall matrix."""
    if one.shape[0] != other.shape[0] or one.shape[2] != other.shape[1]:
        raise ValueError("the batches differ")
    batch, rows, inner = one.shape
    wide = np.moveaxis(one, 0, 1).reshape(rows, batch * inner)
    return np.matmul(wide, other.reshape(batch * inner, other.shape[2]))


_added("addmm", (2, 2), np.matmul, ("mat1", "mat2"))
_added("addmv", (2, 1), np.matmul, ("mat", "vec"))
_added("baddbmm", (3, 3), batched, ("batch1", "batch2"))
_added("addbmm", (3, 3), batched_sum, ("batch1", "batch2"))


@cpu.kernel("linalg_vecdot", dtypes="floating_complex")
def vecdot(x: Array, y: Array, dim: int) -> Any:
    x, y = np.broadcast_arrays(x, y)
    if not x.ndim:
        return np.conj(x) * y
    return np.vecdot(np.moveaxis(x, dim, -1), np.moveaxis(y, dim, -1))


@cpu.kernel("linalg_cross", dtypes="number", check=True)
def cross(self: Array, other: Array, dim: int) -> Any:
    result = np.empty(np.broadcast_shapes(self.shape, other.shape), self.dtype)
    # Along the first dimension, and as many dimensions on both sides.
    a, b, c = (np.moveaxis(t, dim, 0) for t in (self, other, result))
    for i in range(3):
        np.multiply(a[i - 2, ...], b[i - 1, ...], c[i, ...])
        c[i, ...] -= a[i - 1, ...] * b[i - 2, ...]
    return result


@cpu.kernel("cdist", dtypes=("float32", "float64"), check=True)
def cdist(x1: Array, x2: Array, p: float, compute_mode: str | None) -> Any:
    from scipy.spatial import distance

    metric, options = {
        0.0: ("hamming", {}), 1.0: ("cityblock", {}), 2.0: ("euclidean", {}), np.inf: ("chebyshev", {})
    }.get(p, ("minkowski", {"p": p}))  # fmt: skip
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    rows, columns, size = x1.shape[-2], x2.shape[-2], x1.shape[-1]
    result = np.zeros((*batch, rows, columns), x1.dtype)
    if not size or not result.size:
        return result
    left = np.broadcast_to(x1, (*batch, rows, size)).reshape(-1, rows, size)
    right = np.broadcast_to(x2, (*batch, columns, size)).reshape(-1, columns, size)
    flat = result.reshape(-1, rows, columns)
    for place in range(len(flat)):
        flat[place] = distance.cdist(left[place], right[place], metric, **options)
    if p == 0:
        result *= size  # SciPy returns the share of the elements that differ
    return result
