"""Kernels of linear algebra."""

from __future__ import annotations

from typing import Any

from tt.backends.array_api.kit import Kit
from tt.core.library import errors

__all__ = ["add_kernels"]


def add_kernels(kit: Kit) -> None:
    """Add the kernels of this family."""
    _products(kit)
    _decompositions(kit)


# --- products --------------------------------------------------------------------------------------------------


def _products(kit: Kit) -> None:
    xp = kit.xp
    kit.kernel("matmul", lambda self, other: xp.matmul(self, other), dtypes="number")
    for op, dims in {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1)}.items():
        kit.kernel(op, _product(kit, dims), dtypes="number")

    @kit.kernel("addmm", dtypes="number")
    def addmm(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
        if mat1.ndim != 2 or mat2.ndim != 2 or self.ndim > 2:
            raise ValueError("matrices")
        if kit.is_kind(self, "integral"):
            beta, alpha = int(beta), int(alpha)
        product = xp.matmul(mat1, mat2)
        shape = tuple(product.shape)
        product = product if alpha == 1 else product * alpha
        added = xp.broadcast_to(self, shape)
        if beta == 0:  # what self holds, NaN included, does not count
            return product
        return product + (added if beta == 1 else added * beta)


def _product(kit: Kit, dims: tuple[int, int]) -> Any:
    """Return a product of arrays with exactly so many dimensions."""

    def product(self: Any, other: Any) -> Any:
        if (self.ndim, other.ndim) != dims or (dims == (3, 3) and self.shape[0] != other.shape[0]):
            raise ValueError("the product of other dimensions")
        return kit.xp.matmul(self, other)

    second = {(2, 2): "mat2", (3, 3): "mat2", (2, 1): "vec", (1, 1): "tensor"}[dims]
    names = {
        "mat2": lambda self, mat2: product(self, mat2),
        "vec": lambda self, vec: product(self, vec),
        "tensor": lambda self, tensor: product(self, tensor),
    }
    return names[second]


# --- decompositions --------------------------------------------------------------------------------------------


def _decompositions(kit: Kit) -> None:
    def expect_matrix(self: Any) -> None:
        if self.ndim < 2:
            raise ValueError("a matrix has two dimensions")

    @kit.kernel("linalg_svd", dtypes="linalg", needs="linalg.svd")
    def svd(A: Any, full_matrices: bool, driver: str | None) -> tuple[Any, Any, Any]:  # noqa: N803 - as on paper
        expect_matrix(A)
        if driver is not None:
            raise errors.ValueRangeError(
                "linalg.svd: keyword argument `driver=` is only supported on CUDA inputs"
            )
        return tuple(kit.xp.linalg.svd(A, full_matrices=full_matrices))

    @kit.kernel("linalg_inv", dtypes="linalg", needs="linalg.inv")
    def inv(A: Any) -> Any:  # noqa: N803 - as on paper
        expect_matrix(A)
        if A.shape[-1] != A.shape[-2]:
            raise ValueError("a square matrix")
        try:
            return kit.xp.linalg.inv(A)
        except Exception as error:  # each library has its own class for singular matrices
            raise errors.LinAlgError(
                f"linalg.inv: The inversion could not be completed because the input matrix is singular ({error})."
            ) from error
