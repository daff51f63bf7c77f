"""Composites of norms and distances."""

from __future__ import annotations

import math
from typing import Any, Final

from tt.core.composites.helpers import as_type, check_shapes, number, widened, wrap
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.dispatch.resolve.dtypes import common_dtype
from tt.core.errors import DimensionCountError, DtypeError, ShapeError, ValueRangeError
from tt.core.shapes.geometry import dims_to_reduce
from tt.core.types.promotion import promote_types

composites: Final = CompositeTable()
composite = composites.composite

# --- norms of vectors ------------------------------------------------------------------------------------------


@composite("linalg_vector_norm")
def vector_norm(x: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    check_dtypes("linalg.vector_norm", x.dtype, dtype)
    return ops._vector_norm(x if dtype is None else as_type(x, dtype), ord, dim, keepdim)


def check_dtypes(op: str, found: Any, asked: Any) -> None:
    """Raise unless a norm exists for a dtype and is computed in one that holds all its values."""
    if not (found.is_floating_point or found.is_complex):
        raise DtypeError(f"{op}(): the input must have a floating point or complex dtype, not {found}")
    if asked is None:
        return
    if asked.is_complex != found.is_complex or not (asked.is_floating_point or asked.is_complex):
        kind = "complex" if found.is_complex else "real floating point"
        raise DtypeError(f"{op}(): dtype should be {kind}, as the input ({found}) is, but got {asked}")
    if promote_types(found, asked) is not asked:
        raise DtypeError(
            f"{op}(): the dtype of the input ({found}) should be convertible without narrowing to {asked}"
        )


@composite("_vector_norm")
def norm_of_order(self: Any, ord: Any, dim: Any, keepdim: bool) -> Any:
    check_shapes("_vector_norm", self, ord, dim, keepdim)
    return as_type(_norm(widened(ops.abs(self)), ord, dim, keepdim), self.dtype.to_real())


def _norm(size: Any, order: Any, dim: Any, keepdim: bool) -> Any:
    """Return the norm of vectors of absolute values."""
    dims = dims_to_reduce("vector_norm", dim, size.ndim)
    if order == 0:
        return ops.sum.dim(as_type(ops.ne(size, 0), size.dtype), dims, keepdim)
    if math.isinf(order):
        return (ops.amax if order > 0 else ops.amin)(size, dims, keepdim)
    if order == 1 or any(size.shape[d] == 0 for d in dims):
        return ops.sum.dim(size, dims, keepdim)
    # Divided by the element that decides, no power overflows, and none that matters underflows.
    scale = (ops.amax if order > 0 else ops.amin)(size, dims, True)
    usable = ops.logical_and(ops.gt(scale, 0), ops.isfinite(scale))
    scale = ops.where.default(usable, scale, ops.ones_like(scale))
    scaled = ops.div.default(size, scale)
    if order == 2:
        root = ops.sqrt(ops.sum.dim(ops.square(scaled), dims, keepdim))
    else:
        root = ops.pow.default(ops.sum.dim(ops.pow.default(scaled, order), dims, keepdim), 1 / order)
    return ops.mul(root, ops.reshape(scale, tuple(root.shape)))


# --- under PyTorch's older names -------------------------------------------------------------------------------


@composite("norm.Scalar")
def norm(self: Any, p: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    return ops.linalg_vector_norm(self, 2 if p is None else p, dim, keepdim, dtype=dtype)


@composite("norm")
def named_norm(self: Any, p: str, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if p == "fro" and (dim is None or len(dim) <= 2):
        return ops.linalg_vector_norm(self, 2, dim, keepdim, dtype=dtype)
    if p not in ("fro", "nuc"):
        raise ValueRangeError(f"norm(): the order must be a number, 'fro' or 'nuc', got {p!r}")
    return _nuclear_norm(self, tuple(range(self.ndim)) if dim is None else dim, keepdim, dtype)


def _nuclear_norm(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """Return the sums of the singular values of the matrices in two dimensions."""
    check_dtypes("norm", self.dtype, dtype)
    if self.ndim < 2:
        raise DimensionCountError(f"norm(): a matrix has at least 2 dimensions, the input has {self.ndim}")
    if len(dim) != 2:
        raise ShapeError(f"norm(): dim must name the 2 dimensions of a matrix, got {list(dim)}")
    dims = dims_to_reduce("norm", dim, self.ndim)
    x = widened(self if dtype is None else as_type(self, dtype))
    matrices = ops.permute(x, (*(d for d in range(x.ndim) if d not in dims), *dims))
    result = ops.sum.dim(ops.linalg_svd(matrices, False)[1], -1)
    if keepdim:
        result = ops.reshape(result, tuple(1 if d in dims else n for d, n in enumerate(self.shape)))
    return as_type(result, (dtype or self.dtype).to_real())


@composite("dist")
def dist(self: Any, other: Any, p: Any) -> Any:
    difference = ops.sub(self, other)
    if not (difference.dtype.is_floating_point or difference.dtype.is_complex):
        raise DtypeError(f"dist(): expected floating point or complex tensors, got {difference.dtype}")
    return ops.linalg_vector_norm(difference, p)


# --- distances -------------------------------------------------------------------------------------------------


@composite("pairwise_distance")
def pairwise_distance(x1: Any, x2: Any, p: float, eps: float, keepdim: bool) -> Any:
    dtype = common_dtype(x1, x2, 1.0)
    difference = ops.add(widened(as_type(ops.sub(x1, x2), dtype)), eps)
    return as_type(ops.linalg_vector_norm(difference, p, -1, keepdim), dtype.to_real())


@composite("pdist")
def pdist(self: Any, p: float) -> Any:
    if self.ndim != 2:
        raise DimensionCountError(
            f"pdist(): the rows of a matrix are compared, but the input has {self.ndim} dimensions"
        )
    if not self.dtype.is_floating_point:
        raise DtypeError(f"pdist(): expected a floating point input, got {self.dtype}")
    if not p >= 0:
        raise ValueRangeError(f"pdist(): p must not be negative, got {p}")
    rows = self.shape[0]
    first, second = ops.unbind(ops.triu_indices(rows, rows, 1, device=self.device), 0)
    distances = ops.cdist(self, self, p, "donot_use_mm_for_euclid_dist")
    place = ops.add(ops.mul(first, rows), second)
    return ops.index_select(ops.reshape(distances, (-1,)), 0, place)


@composite("renorm")
def renorm(self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    if isinstance(p, complex) or isinstance(maxnorm, complex):
        raise ValueRangeError(f"renorm(): p and maxnorm are real, got p={p} and maxnorm={maxnorm}")
    if p <= 0:
        raise ValueRangeError(f"renorm(): non-positive norms are not supported, got p={p}")
    if not maxnorm >= 0:
        raise ValueRangeError(f"renorm(): maxnorm must not be negative, got {maxnorm}")
    if self.ndim < 2:
        raise DimensionCountError(f"renorm(): the input needs at least 2 dimensions, got {self.ndim}")
    place = wrap("renorm", dim, self)
    others = [d for d in range(self.ndim) if d != place]
    x = widened(self)
    norm = ops.linalg_vector_norm(x, p, others, True)
    longer = ops.gt(norm, maxnorm)
    scale = ops.div.default(maxnorm * ops.ones_like(norm), ops.add(norm, 1e-7))
    return as_type(ops.mul(x, ops.where.default(longer, scale, number(1, norm))), self.dtype)
