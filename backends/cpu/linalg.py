"""Kernels of linear algebra: NumPy's, which call BLAS and LAPACK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from tt.backends.cpu.backend import Array
from tt.core.library import KernelTable

__all__ = ["Added", "cpu", "sums"]

cpu: Final = KernelTable(device="cpu", by="NumPy")

# --- products --------------------------------------------------------------------------------------------------


class Added(NamedTuple):
    """The kernels of beta * self + alpha * a product, by the names of their arguments."""

    plain: Callable[..., Any]
    with_factors: Callable[..., Any]
    names: tuple[str, str]


def added(
    op: str, ndims: tuple[int, int], product: Callable[[Array, Array], Any], names: tuple[str, str]
) -> Added:
    """Return the kernels of beta * self + alpha * a product, without and with factors."""

    def plain(self: Array, one: Array, other: Array) -> Any:
        if (one.ndim, other.ndim) != ndims:
            raise ValueError(f"{op}() takes other dimensions")
        result = product(one, other)
        # Into the product, which is new memory.
        return np.add(result, self, result)

    def with_factors(self: Array, one: Array, other: Array, beta: Any, alpha: Any) -> Any:
        if (one.ndim, other.ndim) != ndims:
            raise ValueError(f"{op}() takes other dimensions")
        # NumPy writes no product with a float into integers.
        if self.dtype.kind in "iu":
            beta, alpha = int(beta), int(alpha)
        result = product(one, other)
        if alpha != 1:
            np.multiply(result, alpha, result)
        if beta == 0:  # what self holds, NaN included, does not count
            np.broadcast_to(self, result.shape)
            return result
        return np.add(result, self if beta == 1 else np.multiply(self, beta), result)

    return Added(plain, with_factors, names)


def batched(one: Array, other: Array) -> Any:
    """Return the products of two batches of as many matrices."""
    if one.shape[0] != other.shape[0]:
        raise ValueError("the batches differ")
    return np.matmul(one, other)


def sum_of_batch(matmul: Callable[[Array, Array], Any]) -> Callable[[Array, Array], Any]:
    """Return a function for the sum of the products of two batches: one product of a wide and a tall matrix."""

    def product(one: Array, other: Array) -> Any:
        if one.shape[0] != other.shape[0] or one.shape[2] != other.shape[1]:
            raise ValueError("the batches differ")
        batch, rows, inner = one.shape
        wide = np.moveaxis(one, 0, 1).reshape(rows, batch * inner)
        return matmul(wide, other.reshape(batch * inner, other.shape[2]))

    return product


def sums(matmul: Callable[[Array, Array], Any], bmm: Callable[[Array, Array], Any]) -> dict[str, Added]:
    """Return the kernels of sums with products, by products of matrices and of batches."""
    return {
        "addmm": added("addmm", (2, 2), matmul, ("mat1", "mat2")),
        "addmv": added("addmv", (2, 1), matmul, ("mat", "vec")),
        "baddbmm": added("baddbmm", (3, 3), bmm, ("batch1", "batch2")),
        "addbmm": added("addbmm", (3, 3), sum_of_batch(matmul), ("batch1", "batch2")),
    }


for _op, _added in sums(np.matmul, batched).items():
    cpu.kernel(_op, _added.plain, takes=("self", *_added.names), dtypes="number")
    cpu.kernel(_op, _added.with_factors, takes=("self", *_added.names, "beta", "alpha"), dtypes="number")


@cpu.kernel("linalg_vecdot", dtypes="floating_complex")
def vecdot(x: Array, y: Array, dim: int) -> Any:
    x, y = np.broadcast_arrays(x, y)
    if not x.ndim:
        return np.conj(x) * y
    return np.vecdot(np.moveaxis(x, dim, -1), np.moveaxis(y, dim, -1))


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
    for number in range(len(flat)):
        flat[number] = distance.cdist(left[number], right[number], metric, **options)
    if p == 0:
        result *= size  # SciPy returns the share of the elements that differ
    return result


# --- vectors ---------------------------------------------------------------------------------------------------


@cpu.kernel("linalg_cross", dtypes="number", check=True)
def cross(self: Array, other: Array, dim: int) -> Any:
    result = np.empty(np.broadcast_shapes(self.shape, other.shape), self.dtype)
    # Along the first dimension, and as many dimensions on both sides.
    a, b, c = (np.moveaxis(t, dim, 0) for t in (self, other, result))
    for i in range(3):
        # Negative indices go around: i - 2 is i + 1 modulo 3.
        np.multiply(a[i - 2, ...], b[i - 1, ...], c[i, ...])
        c[i, ...] -= a[i - 1, ...] * b[i - 2, ...]
    return result
