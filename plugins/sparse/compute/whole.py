"""Reductions that are everybody's operators, of sparse tensors: written over tensors, so that results may be dense."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tt.core.library import Scalar, Tensor, errors, handle_of, ops, to_dtype
from tt.core.library import dtype as Dtype
from tt.plugins.sparse.compute.reduction import normal_dims

__all__ = ["kernels_of_reductions", "sum_dims"]


def _once(self: Tensor) -> Tensor:
    """Return a tensor each of whose elements is stored once."""
    return ops.sparse.coalesce(self) if self.layout.name == "sparse_coo" else self


def _in_dtype(self: Tensor, dtype: Dtype | None) -> Tensor:
    """Return a tensor in the dtype in which it is summed."""
    if dtype is None and not (self.dtype.is_floating_point or self.dtype.is_complex):
        dtype = to_dtype("int64")
    return self if dtype is None or dtype is self.dtype else ops._to_copy(self, dtype=dtype)


def sum_dims(self: Tensor, dim: int | Sequence[int] | None, keepdim: bool) -> Tensor:
    """Add elements along dimensions: dense where no sparse dimension is left."""
    ends = self.ndim - handle_of(self).dense_dim
    dims = normal_dims(dim, self.ndim)
    left = [d for d in range(ends) if d not in dims]
    return (ops.sparse.sum_dims if left else ops.sparse.sum_to_dense)(self, list(dims), keepdim)


def sum_dim(self: Tensor, dim: Sequence[int] | None, keepdim: bool, dtype: Dtype | None) -> Tensor:
    """Add along dimensions; the result is sparse unless no sparse dimension is left."""
    handle: Any = handle_of(self)
    if self.layout.name != "sparse_coo":
        dims = normal_dims(dim, self.ndim)
        if (
            self.layout.name != "sparse_csr"
            or not keepdim
            or handle.batch_ndim
            or handle.dense_dim
            or not dims
        ):
            raise errors.LayoutError(
                f"sum(): reduction operations on {self.layout} tensors are for matrices of the layout tt.sparse_csr "
                "with keepdim=True\n  try: self.to_sparse().sum(dim)"
            )
        return ops.sparse.sum_dims(_in_dtype(self, dtype), list(dims), True)
    return sum_dims(_in_dtype(self, dtype), dim, keepdim)


def vector_norm(
    x: Tensor, ord: Scalar, dim: int | Sequence[int] | None, keepdim: bool, dtype: Dtype | None
) -> Tensor:
    """Return the norm of all elements."""
    if isinstance(ord, complex):
        raise errors.DtypeError(f"linalg_vector_norm(): the order of a norm must be a real number, got {ord}")
    if len(normal_dims(dim, x.ndim)) != x.ndim:
        raise errors.LayoutError(
            "linalg_vector_norm(): the norm of a sparse tensor covers all its elements, so dim cannot select some\n"
            "  try: x.to_dense()"
        )
    values = ops.reshape(ops.sparse.values(_once(x)), (-1,))
    # A negative order looks for the smallest element: a zero, where one is not stored.
    if not values.numel() or (ord < 0 and values.numel() < x.numel()):
        norm = ops.linalg_vector_norm(ops.new_zeros(values, (1,)), ord if ord >= 0 else 1, dtype=dtype)
    else:
        norm = ops.linalg_vector_norm(values, ord, dtype=dtype)
    return ops.reshape(norm, (1,) * x.ndim) if keepdim else norm


def any_(self: Tensor) -> Tensor:
    """Return whether a stored element is not zero."""
    return ops.any(ops.sparse.values(_once(self)))


def all_(self: Tensor) -> Tensor:
    """Return whether all elements are stored and none is zero."""
    values = ops.sparse.values(_once(self))
    # An element that is not stored is zero.
    if values.numel() < self.numel():
        return ops.zeros_like(ops.any(values))
    return ops.all(values)


def mean(self: Tensor, dtype: Dtype | None) -> Tensor:
    """Divide the sum by the number of all elements, stored or not."""
    kind = to_dtype(dtype or self.dtype).kind
    if kind not in ("floating", "complex"):
        raise errors.DtypeError(
            f"mean(): expected floating point or complex numbers, got {dtype or self.dtype}"
        )
    return ops.div(ops.sum(self, dtype=dtype), self.numel())


def nonzero(self: Tensor) -> Tensor:
    """Return the coordinates of the elements that are not zero."""
    whole = _once(self)
    if self.layout.name != "sparse_coo":
        whole = ops.sparse.coalesce(ops.sparse.to_layout(self, "sparse_coo"))
    handle: Any = handle_of(whole)
    if handle.dense_dim:
        return ops.nonzero(ops.sparse.to_dense(whole))
    mask = ops.ne(ops.sparse.values(whole), 0)
    return ops.index(ops.transpose(ops.sparse.indices(whole), 0, 1), [mask])


def kernels_of_reductions() -> dict[str, tuple[Callable[..., Tensor], tuple[str, ...]]]:
    """Return the kernels over tensors: op -> (function, the arguments that it takes)."""
    return {
        "sum.dim": (sum_dim, ("self", "dim", "keepdim", "dtype")),
        "linalg_vector_norm": (vector_norm, ("x", "ord", "dim", "keepdim", "dtype")),
        "any": (any_, ("self",)),
        "all": (all_, ("self",)),
        "mean": (mean, ("self", "dtype")),
        "nonzero": (nonzero, ("self",)),
    }
