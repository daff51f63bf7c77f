"""Composites of linear algebra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tt.core.composites.helpers import check_shapes, is_integral
from tt.core.dispatch.registry import ops
from tt.core.dispatch.tables import CompositeTable
from tt.core.errors import ShapeError

composites: Final = CompositeTable()
composite = composites.composite

# --- products --------------------------------------------------------------------------------------------------


def _product(op: str) -> Callable[..., Any]:
    """Return the product of arguments with certain numbers of dimensions, which matmul serves."""

    def product(self: Any, other: Any) -> Any:
        check_shapes(op, self, other)
        return ops.matmul(self, other)

    return product


for _op in ("mm", "bmm", "mv", "dot"):
    composite(_op, _product(_op))


@composite("addmm")
def addmm(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    check_shapes("addmm", self, mat1, mat2)
    if is_integral(self.dtype):
        beta, alpha = int(beta), int(alpha)
    product = ops.mm(mat1, mat2)
    if alpha != 1:
        product = ops.mul(product, alpha)
    if beta == 0:  # what self holds, NaN included, does not count
        return product
    return ops.add(self if beta == 1 else ops.mul(self, beta), product)


@composite("outer")
def outer(self: Any, vec2: Any) -> Any:
    check_shapes_of_vectors(self, vec2)
    return ops.mul(ops.unsqueeze(self, 1), vec2)


def check_shapes_of_vectors(self: Any, vec2: Any) -> None:
    """Raise unless both arguments are vectors."""
    for name, value in (("self", self), ("vec2", vec2)):
        if value.ndim != 1:
            raise ShapeError(f"outer: Expected 1-D argument {name}, but got {value.ndim}-D")


# --- decompositions --------------------------------------------------------------------------------------------


@composite("svd")
def svd(self: Any, some: bool, compute_uv: bool) -> tuple[Any, Any, Any]:
    u, s, vh = ops.linalg_svd(self, not some or not compute_uv)
    if compute_uv:
        return u, s, ops.conj(ops.transpose(vh, -2, -1))
    # Without the vectors, PyTorch returns square matrices of zeros.
    return ops.zeros_like(ops.detach(u)), s, ops.zeros_like(ops.detach(vh))
