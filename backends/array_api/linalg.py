"""Kernels of linear algebra."""

from __future__ import annotations

from typing import Any

from tt.backends.array_api.namespace import Namespace
from tt.backends.array_api.table import NamespaceTable

__all__ = ["table"]


table = NamespaceTable()
table.functions("matmul", takes=("self", "other"), dtypes="number")


def product(xp: Namespace, first: Any, second: Any, *dims: int) -> Any:
    """Return a product of arrays with exactly so many dimensions."""
    if (first.ndim, second.ndim) != dims:
        raise ValueError("the product of other dimensions")
    return xp.matmul(first, second)


table.kernel("mm", lambda xp, self, mat2: product(xp, self, mat2, 2, 2), dtypes="number")
table.kernel("mv", lambda xp, self, vec: product(xp, self, vec, 2, 1), dtypes="number")
table.kernel("dot", lambda xp, self, tensor: product(xp, self, tensor, 1, 1), dtypes="number")


@table.kernel("bmm", dtypes="number")
def bmm(xp: Namespace, self: Any, mat2: Any) -> Any:
    if self.shape[:1] != mat2.shape[:1]:
        raise ValueError("the product of two batches of other sizes")
    return product(xp, self, mat2, 3, 3)


@table.kernel("addmm", dtypes="number")
def addmm(xp: Namespace, self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    if mat1.ndim != 2 or mat2.ndim != 2 or self.ndim > 2:
        raise ValueError("matrices")
    if xp.is_kind(self, "integral"):
        beta, alpha = int(beta), int(alpha)
    product = xp.matmul(mat1, mat2)
    shape = tuple(product.shape)
    product = product if alpha == 1 else product * alpha
    added = xp.broadcast_to(self, shape)
    if beta == 0:  # what self holds, NaN included, does not count
        return product
    return product + (added if beta == 1 else added * beta)
