"""Composites that combine elements along dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import (
    DimensionCountError,
    DtypeError,
    ShapeError,
    ValueRangeError,
)
from tt.core.shapes.geometry import dims_to_reduce
from tt.core.types.dtype import bool_, float64, int64, uint8, uint64
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.freedom import degrees_of_freedom
from tt.core.types.promotion import get_default_dtype, promote_types
from tt.operators.helpers import as_type, check_shapes, number, widened, wrap

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

# --- over everything -------------------------------------------------------------------------------------------

composite("sum", lambda self, dtype: ops.sum.dim(self, None, False, dtype=dtype))
composite("mean", lambda self, dtype: ops.mean.dim(self, None, False, dtype=dtype))
composite("prod", lambda self, dtype: ops.prod.dim(ops.reshape(self, (-1,)), 0, False, dtype=dtype))
composite("all", lambda self: ops.all.dim(self, None, False))
composite("any", lambda self: ops.any.dim(self, None, False))
composite("max", lambda self: ops.amax(self, ()))
composite("min", lambda self: ops.amin(self, ()))
composite("count_nonzero", lambda self, dim: ops.sum.dim(ops.ne(self, 0), dim))


@composite("hash_tensor")
def hash_tensor(self: Tensor, dim: Sequence[int], keepdim: bool, mode: int) -> Tensor:
    check_shapes("hash_tensor", self, dim, keepdim, mode)
    dims = dims_to_reduce("hash_tensor", dim, self.ndim) if self.ndim else ()
    rest = [d for d in range(self.ndim) if d not in dims]
    bits = (
        ops.view.dtype(as_type(self, float64), int64)
        if self.dtype.is_floating_point
        else as_type(self, int64)
    )
    kept = tuple(self.shape[d] for d in rest)
    bits = ops.reshape(ops.permute(bits, (*rest, *dims)), (*kept, prod(self.shape[d] for d in dims)))
    axis, size = len(rest), bits.shape[-1]
    if size == 1:
        # The result must not be a view of the tensor.
        bits = ops.clone(bits)
    while size > 1:
        half = size // 2
        # XOR takes any order, so halves are folded: a logarithmic number of operations.
        low = ops.bitwise_xor(ops.slice(bits, axis, 0, half), ops.slice(bits, axis, half, 2 * half))
        bits = ops.cat((low, ops.slice(bits, axis, 2 * half, size)), axis) if size % 2 else low
        size -= half
    shape = tuple(1 if d in dims else n for d, n in enumerate(self.shape)) if keepdim else kept
    return as_type(ops.contiguous(ops.reshape(bits, shape)), uint64)


# --- along dimensions ------------------------------------------------------------------------------------------


def _count(op: str, self: Tensor, dim: Sequence[int] | None) -> int:
    """Return how many elements one result combines."""
    return prod(self.shape[d] for d in dims_to_reduce(op, dim, self.ndim)) if self.ndim else 1


@composite("mean.dim")
def mean(self: Tensor, dim: Sequence[int] | None, keepdim: bool, dtype: Dtype | None) -> Tensor:
    result_dtype = dtype or self.dtype
    if not (result_dtype.is_floating_point or result_dtype.is_complex):
        what, name = ("the input", self.dtype) if dtype is None else ("the requested dtype", dtype)
        raise DtypeError(
            f"mean(): means are floating point or complex numbers, and {what} is {name.name}\n"
            f"  try: dtype=tt.float32"
        )
    # Sums of half precision numbers may be beyond their dtype, where their mean is not.
    x = widened(self if dtype is None else as_type(self, dtype))
    return as_type(ops.div.default(ops.sum.dim(x, dim, keepdim), _count("mean", self, dim)), result_dtype)


def _orderable(self: Tensor) -> Tensor:
    # Bools have no argmax, in PyTorch neither.
    return as_type(self, uint8) if self.dtype is bool_ else self


@composite("max.dim")
def max_dim(self: Tensor, dim: int, keepdim: bool) -> tuple[Any, Any]:
    return ops.amax(self, dim, keepdim), ops.argmax(_orderable(self), dim, keepdim)


@composite("min.dim")
def min_dim(self: Tensor, dim: int, keepdim: bool) -> tuple[Any, Any]:
    return ops.amin(self, dim, keepdim), ops.argmin(_orderable(self), dim, keepdim)


@composite("aminmax")
def aminmax(self: Tensor, dim: int | None, keepdim: bool) -> tuple[Any, Any]:
    check_shapes("aminmax", self, dim, keepdim)
    dims = () if dim is None else dim
    return ops.amin(self, dims, keepdim), ops.amax(self, dims, keepdim)


@composite("trace")
def trace(self: Tensor) -> Tensor:
    check_shapes("trace", self)
    rows, columns = self.shape
    # In a row, the elements of the diagonal are one column and one place apart.
    end = min(rows, columns) * (columns + 1)
    return ops.sum(ops.slice(ops.reshape(self, (-1,)), 0, 0, end, columns + 1))


@composite("nansum")
def nansum(self: Tensor, dim: Sequence[int] | None, keepdim: bool, dtype: Dtype | None) -> Tensor:
    if self.dtype.is_complex:
        raise DtypeError("nansum(): complex numbers are not supported")
    return ops.sum.dim(_without_nan(self), dim, keepdim, dtype=dtype)


@composite("nanmean")
def nanmean(self: Tensor, dim: Sequence[int] | None, keepdim: bool, dtype: Dtype | None) -> Tensor:
    if not self.dtype.is_floating_point:
        raise DtypeError(f"nanmean(): expected input to have a floating point dtype, but got {self.dtype}")
    if dtype is not None and not dtype.is_floating_point:
        raise DtypeError(f"nanmean(): dtype must be a floating point one, got {dtype}")
    x = widened(self if dtype is None else as_type(self, dtype))
    count = ops.sum.dim(ops.eq(x, x), dim, keepdim)
    return as_type(ops.div.default(ops.sum.dim(_without_nan(x), dim, keepdim), count), dtype or self.dtype)


def _without_nan(self: Tensor) -> Tensor:
    """Return the elements with zeros instead of NaN."""
    return (
        ops.where.default(ops.ne(self, self), number(0, self), self) if self.dtype.is_floating_point else self
    )


# --- moments ---------------------------------------------------------------------------------------------------


@composite("var_mean")
def var_mean(self: Tensor, dim: Sequence[int] | None, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    # Two passes: the squares of the deviations lose no digits where the mean is large.
    x = widened(self)
    mean = ops.mean.dim(x, dim, True)
    deviation = ops.sub(x, mean)
    if x.dtype.is_complex:
        squares = ops.add(ops.square(ops.real(deviation)), ops.square(ops.imag(deviation)))
    else:
        squares = ops.square(deviation)
    freedom = degrees_of_freedom("var_mean", _count("var_mean", self, dim), correction)
    var = ops.div.default(ops.sum.dim(squares, dim, keepdim), freedom)
    if not keepdim:
        mean = ops.reshape(mean, tuple(var.shape))
    return as_type(var, self.dtype.to_real()), as_type(mean, self.dtype)


@composite("var")
def var(self: Tensor, dim: Sequence[int] | None, correction: Any, keepdim: bool) -> Tensor:
    return ops.var_mean(self, dim, correction=correction, keepdim=keepdim)[0]


@composite("std")
def std(self: Tensor, dim: Sequence[int] | None, correction: Any, keepdim: bool) -> Tensor:
    return ops.sqrt(ops.var(self, dim, correction=correction, keepdim=keepdim))


@composite("std_mean")
def std_mean(self: Tensor, dim: Sequence[int] | None, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    var, mean = ops.var_mean(widened(self), dim, correction=correction, keepdim=keepdim)
    return as_type(ops.sqrt(var), self.dtype.to_real()), as_type(mean, self.dtype)


@composite("logsumexp")
def logsumexp(self: Tensor, dim: Sequence[int], keepdim: bool) -> Tensor:
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        self = as_type(self, get_default_dtype())
    x = widened(self)
    if not _count("logsumexp", x, dim):
        return as_type(ops.log(ops.sum.dim(ops.exp(x), dim, keepdim)), self.dtype)
    # Detached, as the shift cancels in the derivative as it does in the value.
    largest = ops.detach(ops.amax(ops.real(x), dim, True))
    # The difference of equal infinities is NaN.
    largest = ops.where(ops.isfinite(largest), largest, 0.0)
    result = ops.log(ops.sum.dim(ops.exp(ops.sub(x, largest)), dim, keepdim))
    shift = largest if keepdim else ops.reshape(largest, tuple(result.shape))
    return as_type(ops.add(result, shift), self.dtype)


def softmax_parts(op: str, self: Tensor, dim: int) -> tuple[Any, Any]:
    """Return the differences from the largest element along a dimension, and their exponentials."""
    wrap(op, dim, self)
    shifted = ops.sub(self, ops.detach(ops.amax(self, dim, True))) if self.shape.numel() else self
    return shifted, ops.exp(shifted)


# --- variances, with a bool for the correction --------------------------------------------------------

composite("var.unbiased", lambda self, unbiased: ops.var.default(self, correction=int(unbiased)))
composite("std.unbiased", lambda self, unbiased: ops.std.default(self, correction=int(unbiased)))
composite("var_mean.unbiased", lambda self, unbiased: ops.var_mean.default(self, correction=int(unbiased)))
composite("std_mean.unbiased", lambda self, unbiased: ops.std_mean.default(self, correction=int(unbiased)))


@composite("var.unbiased_dim")
def var_unbiased(self: Tensor, dim: Sequence[int] | None, unbiased: bool, keepdim: bool) -> Tensor:
    return ops.var.default(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite("std.unbiased_dim")
def std_unbiased(self: Tensor, dim: Sequence[int] | None, unbiased: bool, keepdim: bool) -> Tensor:
    return ops.std.default(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite("var_mean.unbiased_dim")
def var_mean_unbiased(self: Tensor, dim: Sequence[int] | None, unbiased: bool, keepdim: bool) -> Any:
    return ops.var_mean.default(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite("std_mean.unbiased_dim")
def std_mean_unbiased(self: Tensor, dim: Sequence[int] | None, unbiased: bool, keepdim: bool) -> Any:
    return ops.std_mean.default(self, dim, correction=int(unbiased), keepdim=keepdim)


# --- norms of vectors ------------------------------------------------------------------------------------------


@composite("linalg_vector_norm")
def vector_norm(x: Tensor, ord: Any, dim: Sequence[int] | None, keepdim: bool, dtype: Dtype | None) -> Tensor:
    check_dtypes("linalg.vector_norm", x.dtype, dtype)
    return ops._vector_norm(x if dtype is None else as_type(x, dtype), ord, dim, keepdim)


def check_dtypes(op: str, found: Dtype, asked: Any) -> None:
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
def norm_of_order(self: Tensor, ord: Any, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    check_shapes("_vector_norm", self, ord, dim, keepdim)
    return as_type(_norm(widened(ops.abs(self)), ord, dim, keepdim), self.dtype.to_real())


def _norm(size: Tensor, order: float, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """Return the norm of vectors of absolute values."""
    dims = dims_to_reduce("vector_norm", dim, size.ndim)
    if order == 0:
        return ops.sum.dim(as_type(ops.ne(size, 0), size.dtype), dims, keepdim)
    if math.isinf(order):
        return (ops.amax if order > 0 else ops.amin)(size, dims, keepdim)
    # Without elements there is none that decides, and the sum of nothing is 0.
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
def norm(self: Tensor, p: Any, dim: Sequence[int] | None, keepdim: bool, dtype: Dtype | None) -> Tensor:
    return ops.linalg_vector_norm(self, 2 if p is None else p, dim, keepdim, dtype=dtype)


@composite("norm")
def named_norm(self: Tensor, p: str, dim: Sequence[int] | None, keepdim: bool, dtype: Dtype | None) -> Any:
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
def dist(self: Tensor, other: Tensor, p: Any) -> Tensor:
    difference = ops.sub(self, other)
    if not (difference.dtype.is_floating_point or difference.dtype.is_complex):
        raise DtypeError(f"dist(): expected floating point or complex tensors, got {difference.dtype}")
    return ops.linalg_vector_norm(difference, p)


# --- distances -------------------------------------------------------------------------------------------------


@composite("renorm")
def renorm(self: Tensor, p: Any, dim: int, maxnorm: Any) -> Tensor:
    if isinstance(p, complex) or isinstance(maxnorm, complex):
        raise ValueRangeError(f"renorm(): p and maxnorm are real, got p={p} and maxnorm={maxnorm}")
    if p <= 0:
        raise ValueRangeError(f"renorm(): non-positive norms are not supported, got p={p}")
    if not maxnorm >= 0:
        raise ValueRangeError(f"renorm(): maxnorm must not be negative, got {maxnorm}")
    if self.ndim < 2:
        raise DimensionCountError(f"renorm(): the input needs at least 2 dimensions, got {self.ndim}")
    kept = wrap("renorm", dim, self)
    others = [d for d in range(self.ndim) if d != kept]
    x = widened(self)
    norm = ops.linalg_vector_norm(x, p, others, True)
    longer = ops.gt(norm, maxnorm)
    # PyTorch's constant: the norm comes out just below the limit.
    scale = ops.div.default(maxnorm * ops.ones_like(norm), ops.add(norm, 1e-7))
    return as_type(ops.mul(x, ops.where.default(longer, scale, number(1, norm))), self.dtype)


@composite("sum_to_size")
def sum_to_size(self: Tensor, size: Sequence[int]) -> Tensor:
    shape, target = tuple(self.shape), tuple(size)
    more = len(shape) - len(target)
    if more < 0 or any(t not in (1, n) for t, n in zip(target, shape[more:], strict=True)):
        raise ShapeError(f"sum_to_size(): the size {list(target)} does not broadcast to {list(shape)}")
    if not target:
        return ops.sum(self)
    if shape == target:
        return self
    kept = [more + d for d, t in enumerate(target) if t == 1 and shape[more + d] != 1]
    result = ops.sum.dim(self, kept, True) if kept else self
    return ops.sum.dim(result, [*range(more)]) if more else result
