"""Products of matrices by cuBLASLt where it is installed; CuPy's serve in its place, through the array API."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.layouts import contiguous
from tt.backends.cuda.libraries.cublaslt import DTYPES, CublasLt
from tt.core.library import KernelTable, Scalar, contiguous_strides
from tt.operators.activation._constants import GELU_CUBIC, GELU_SCALE

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["Products", "tables"]

REAL = ("float16", "bfloat16", "float32", "float64")
"""The dtypes to which the library adds a bias itself."""


class Products:
    """Products by cuBLASLt; those without an algorithm, by the arrays' own product.

    Parameters
    ----------
    backend : CudaBackend
        Where they run.
    library : CublasLt or None
        The door to the library; without one, all is computed by arrays.
    """

    def __init__(self, backend: CudaBackend, library: CublasLt | None) -> None:
        self.backend, self.library = backend, library

    def product(
        self,
        one: StridedHandle,
        two: StridedHandle,
        added: StridedHandle | None = None,
        alpha: Any = 1,
        beta: Any = 1,
        activation: str = "",
    ) -> StridedHandle:
        """Return the activation of alpha * one @ two + beta * added, of matrices or of batches of them."""
        shape = (*one.shape[:-1], two.shape[-1])
        # With beta = 0 PyTorch ignores the summand, even NaN in it.
        added = None if added is None or beta == 0 else added
        if 0 in shape:
            return self.backend.empty(shape, one.dtype)
        out = self.backend.empty(shape, one.dtype)
        # The library's epilogue adds a bias unscaled, after alpha.
        bias = (
            added is not None and added.ndim == 1 and added.shape[0] == shape[-1] and (alpha, beta) == (1, 1)
        )
        epilogue = bias and one.dtype.name in REAL
        # The library takes no inner size of 0; the product is 0 then.
        if one.shape[-1] and self.library is not None:
            if added is None or epilogue:
                dense = None if added is None else contiguous(self.backend, added)
                if self.library.multiply(one, two, out, bias=dense, activation=activation, alpha=alpha):
                    return out
            else:
                # The library scales and adds what `out` holds.
                self.backend.copy_into(out, added)
                if self.library.multiply(one, two, out, activation=activation, alpha=alpha, beta=beta):
                    return out
        return self._by_arrays(one, two, added, alpha, beta, activation)

    def _by_arrays(
        self,
        one: StridedHandle,
        two: StridedHandle,
        added: StridedHandle | None,
        alpha: Scalar,
        beta: Scalar,
        activation: str,
    ) -> StridedHandle:
        """Return the same by arrays: half precision in float32, rounded once."""
        xp, dtype = self.backend.namespace, one.dtype
        wide = np.dtype("float32") if dtype.name in ("float16", "bfloat16") else dtype

        def array(handle: StridedHandle) -> Any:
            return (handle if handle.dtype == wide else self.backend.cast(handle, wide)).array

        product = xp.matmul(array(one), array(two))
        product = product if alpha == 1 else product * alpha
        if added is not None:
            product = product + (array(added) if beta == 1 else array(added) * beta)
        if activation == "relu":
            product = xp.maximum(product, 0)
        elif activation:
            product = (
                product
                * 0.5
                * (1 + xp.tanh(GELU_SCALE * (product + GELU_CUBIC * product * product * product)))
            )
        result = self.backend.normalise(product)
        return result if wide == dtype else self.backend.cast(result, dtype)

    def matmul(self, one: StridedHandle, two: StridedHandle) -> StridedHandle:
        """Return the product of vectors, matrices or batches of them that broadcast."""
        if not one.ndim or not two.ndim:
            raise ValueError("matmul() takes no tensors without dimensions")
        left = one if one.ndim > 1 else one.view((1, *one.shape), (one.shape[0], *one.strides))
        right = two if two.ndim > 1 else two.view((*two.shape, 1), (*two.strides, 1))
        if left.shape[-1] != right.shape[-2]:
            raise ValueError("the inner sizes differ")
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        if right.ndim == 2 and left.ndim > 2:  # one tall product instead of many
            product = self.product(self._collapsed(left, left.shape[:-1], 1), right)
        elif batch:
            product = self.product(self._collapsed(left, batch, 2), self._collapsed(right, batch, 2))
        else:
            product = self.product(left, right)
        rows = left.shape[-2:-1] if one.ndim > 1 else ()
        columns = right.shape[-1:] if two.ndim > 1 else ()
        shape = (*batch, *rows, *columns)
        return product.view(shape, contiguous_strides(shape))

    def linear(
        self, input: StridedHandle, weight: StridedHandle, bias: StridedHandle | None
    ) -> StridedHandle:
        """Return input @ weight.T + bias in one call."""
        if (
            weight.ndim != 2
            or not input.ndim
            or (bias is not None and bias.shape not in ((weight.shape[0],), ()))
        ):
            raise ValueError("linear() with weights of other dimensions")  # the shape rule gives the details
        if input.shape[-1] != weight.shape[1]:
            raise ValueError("the inner sizes differ")
        turned = weight.view(weight.shape[::-1], weight.strides[::-1])
        rows = self._collapsed(input, input.shape[:-1], 1)
        product = self.product(rows, turned, bias)
        shape = (*input.shape[:-1], weight.shape[0])
        return product.view(shape, contiguous_strides(shape))

    def _collapsed(self, handle: StridedHandle, batch: Sequence[int], kept: int) -> StridedHandle:
        """Return a handle, broadcast to batches, with these as its one first dimension."""
        own = handle.ndim - kept
        strides = (0,) * (len(batch) - own) + tuple(
            0 if size == 1 else stride
            for size, stride in zip(handle.shape[:own], handle.strides[:own], strict=True)
        )
        inner, inner_strides = handle.shape[own:], handle.strides[own:]
        pairs = [(size, stride) for size, stride in zip(batch, strides, strict=True) if size != 1]
        joined = all(a[1] == b[1] * b[0] for a, b in pairwise(pairs))
        if not joined and 0 not in batch:
            handle = self.backend.clone(handle.view((*batch, *inner), (*strides, *inner_strides)))
            inner_strides, pairs = handle.strides[len(batch) :], [(0, prod(inner))]
        step = pairs[-1][1] if pairs and 0 not in batch else prod(inner)
        return handle.view((prod(batch), *inner), (step, *inner_strides))


def tables(backend: CudaBackend, cublaslt: CublasLt) -> list[KernelTable]:
    """Return the kernels over cuBLASLt."""
    table = KernelTable(device="cuda")
    products = Products(backend, cublaslt)
    options: dict[str, Any] = {
        "dtypes": tuple(DTYPES), "half": "native", "priority": 2, "available": cublaslt.problem, "by": "cuBLASLt",
    }  # fmt: skip

    @table.kernel("mm", **options)
    def mm(self: StridedHandle, mat2: StridedHandle) -> StridedHandle:
        _checked(self, mat2, 2)
        return products.product(self, mat2)

    @table.kernel("bmm", **options)
    def bmm(self: StridedHandle, mat2: StridedHandle) -> StridedHandle:
        _checked(self, mat2, 3)
        return products.product(self, mat2)

    @table.kernel("matmul", **options)
    def matmul(self: StridedHandle, other: StridedHandle) -> StridedHandle:
        return products.matmul(self, other)

    @table.kernel("addmm", **options)
    def addmm(
        self: StridedHandle, mat1: StridedHandle, mat2: StridedHandle, beta: Scalar, alpha: Scalar
    ) -> StridedHandle:
        _checked(mat1, mat2, 2)
        _fitting(self, (mat1.shape[0], mat2.shape[1]))
        return products.product(mat1, mat2, self, alpha, beta)

    # The cublaslt's activations are of real numbers.  Without it the composite serves.
    @table.kernel("_addmm_activation", **(options | {"dtypes": REAL}))
    def addmm_activation(
        self: StridedHandle,
        mat1: StridedHandle,
        mat2: StridedHandle,
        beta: Scalar,
        alpha: Scalar,
        use_gelu: bool,
    ) -> StridedHandle:
        _checked(mat1, mat2, 2)
        _fitting(self, (mat1.shape[0], mat2.shape[1]))
        return products.product(mat1, mat2, self, alpha, beta, "gelu" if use_gelu else "relu")

    _add_with_sum(table, products, **options)
    plain = KernelTable(device="cuda")
    # Composed of a product and a sum, half precision would be rounded twice.
    _add_with_sum(plain, Products(backend, None), dtypes="number", priority=1, by="CuPy")
    return [plain, table]


def _add_with_sum(table: KernelTable, products: Products, **options: Any) -> None:
    """Add the kernels of products to which something is added."""

    @table.kernel("baddbmm", **options)
    def baddbmm(
        self: StridedHandle, batch1: StridedHandle, batch2: StridedHandle, beta: Any, alpha: Any
    ) -> StridedHandle:
        _checked(batch1, batch2, 3)
        _fitting(self, (*batch1.shape[:2], batch2.shape[2]))
        if self.dtype.kind in "iu":
            beta, alpha = int(beta), int(alpha)
        return products.product(batch1, batch2, self, alpha, beta)

    @table.kernel("linear", **options)
    def linear(input: StridedHandle, weight: StridedHandle, bias: StridedHandle | None) -> StridedHandle:
        return products.linear(input, weight, bias)


def _fitting(added: StridedHandle, shape: tuple[int, ...]) -> None:
    """Refuse what does not broadcast to a shape."""
    if added.ndim > len(shape) or np.broadcast_shapes(added.shape, shape) != shape:
        raise ValueError("the added tensor does not fit the product")  # the shape rule gives the details


def _checked(one: StridedHandle, two: StridedHandle, ndim: int) -> None:
    """Refuse factors that do not fit each other."""
    if not one.ndim == two.ndim == ndim or one.shape[-1] != two.shape[-2] or one.shape[:-2] != two.shape[:-2]:
        raise ValueError("the product of other dimensions")  # the shape rule gives the details
