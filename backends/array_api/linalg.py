"""Kernels of linear algebra."""

from __future__ import annotations

from typing import Any

from tt.backends.array_api.kernel_builder import KernelBuilder

__all__ = ["add_kernels"]


def add_kernels(builder: KernelBuilder) -> None:
    """Add the kernels of this family."""
    _products(builder)


# --- products --------------------------------------------------------------------------------------------------


def _products(builder: KernelBuilder) -> None:
    xp = builder.xp
    builder.kernel("matmul", lambda self, other: xp.matmul(self, other), dtypes="number")
    for op, dims in {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1)}.items():
        builder.kernel(op, _product(builder, dims), dtypes="number")

    @builder.kernel("addmm", dtypes="number")
    def addmm(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
        if mat1.ndim != 2 or mat2.ndim != 2 or self.ndim > 2:
            raise ValueError("matrices")
        if builder.is_kind(self, "integral"):
            beta, alpha = int(beta), int(alpha)
        product = xp.matmul(mat1, mat2)
        shape = tuple(product.shape)
        product = product if alpha == 1 else product * alpha
        added = xp.broadcast_to(self, shape)
        if beta == 0:  # what self holds, NaN included, does not count
            return product
        return product + (added if beta == 1 else added * beta)


def _product(builder: KernelBuilder, dims: tuple[int, int]) -> Any:
    """Return a product of arrays with exactly so many dimensions."""

    def product(self: Any, other: Any) -> Any:
        if (self.ndim, other.ndim) != dims or (dims == (3, 3) and self.shape[0] != other.shape[0]):
            raise ValueError("the product of other dimensions")
        return builder.xp.matmul(self, other)

    second = {(2, 2): "mat2", (3, 3): "mat2", (2, 1): "vec", (1, 1): "tensor"}[dims]
    names = {
        "mat2": lambda self, mat2: product(self, mat2),
        "vec": lambda self, vec: product(self, vec),
        "tensor": lambda self, tensor: product(self, tensor),
    }
    return names[second]
