"""Composites that combine elements along dimensions."""

from __future__ import annotations

from math import prod
from typing import Any, Final

from tt.core.composites.helpers import as_type, check_shapes, number, widened, wrap
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DtypeError
from tt.core.shapes.geometry import dims_to_reduce
from tt.core.types.dtype import bool_, float64, int64, uint8, uint64
from tt.core.types.freedom import degrees_of_freedom
from tt.core.types.promotion import get_default_dtype

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
def hash_tensor(self: Any, dim: Any, keepdim: bool, mode: int) -> Any:
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
        bits = ops.clone(bits)
    while size > 1:
        half = size // 2
        low = ops.bitwise_xor(ops.slice(bits, axis, 0, half), ops.slice(bits, axis, half, 2 * half))
        bits = ops.cat((low, ops.slice(bits, axis, 2 * half, size)), axis) if size % 2 else low
        size -= half
    shape = tuple(1 if d in dims else n for d, n in enumerate(self.shape)) if keepdim else kept
    return as_type(ops.contiguous(ops.reshape(bits, shape)), uint64)


# --- along dimensions ------------------------------------------------------------------------------------------


def _count(op: str, self: Any, dim: Any) -> int:
    """Return how many elements one result combines."""
    return prod(self.shape[d] for d in dims_to_reduce(op, dim, self.ndim)) if self.ndim else 1


@composite("mean.dim")
def mean(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    found = dtype or self.dtype
    if not (found.is_floating_point or found.is_complex):
        what, name = ("the input", self.dtype) if dtype is None else ("the requested dtype", dtype)
        raise DtypeError(
            f"mean(): means are floating point or complex numbers, and {what} is {name.name}\n"
            f"  try: dtype=tt.float32"
        )
    # Sums of half precision numbers may be beyond their dtype, where their mean is not.
    x = widened(self if dtype is None else as_type(self, dtype))
    return as_type(ops.div.default(ops.sum.dim(x, dim, keepdim), _count("mean", self, dim)), found)


def _orderable(self: Any) -> Any:
    return as_type(self, uint8) if self.dtype is bool_ else self


@composite("max.dim")
def max_dim(self: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    return ops.amax(self, dim, keepdim), ops.argmax(_orderable(self), dim, keepdim)


@composite("min.dim")
def min_dim(self: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    return ops.amin(self, dim, keepdim), ops.argmin(_orderable(self), dim, keepdim)


@composite("aminmax")
def aminmax(self: Any, dim: int | None, keepdim: bool) -> tuple[Any, Any]:
    check_shapes("aminmax", self, dim, keepdim)
    dims = () if dim is None else dim
    return ops.amin(self, dims, keepdim), ops.amax(self, dims, keepdim)


@composite("trace")
def trace(self: Any) -> Any:
    check_shapes("trace", self)
    rows, columns = self.shape
    # In a row, the elements of the diagonal are one column and one place apart.
    end = min(rows, columns) * (columns + 1)
    return ops.sum(ops.slice(ops.reshape(self, (-1,)), 0, 0, end, columns + 1))


@composite("nansum")
def nansum(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if self.dtype.is_complex:
        raise DtypeError("nansum(): complex numbers are not supported")
    return ops.sum.dim(_without_nan(self), dim, keepdim, dtype=dtype)


@composite("nanmean")
def nanmean(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if not self.dtype.is_floating_point:
        raise DtypeError(f"nanmean(): expected input to have a floating point dtype, but got {self.dtype}")
    if dtype is not None and not dtype.is_floating_point:
        raise DtypeError(f"nanmean(): dtype must be a floating point one, got {dtype}")
    x = widened(self if dtype is None else as_type(self, dtype))
    count = ops.sum.dim(ops.eq(x, x), dim, keepdim)
    return as_type(ops.div.default(ops.sum.dim(_without_nan(x), dim, keepdim), count), dtype or self.dtype)


def _without_nan(self: Any) -> Any:
    """Return the elements with zeros instead of NaN."""
    return (
        ops.where.default(ops.ne(self, self), number(0, self), self) if self.dtype.is_floating_point else self
    )


# --- moments ---------------------------------------------------------------------------------------------------


@composite("var_mean")
def var_mean(self: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
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
def var(self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    return ops.var_mean(self, dim, correction=correction, keepdim=keepdim)[0]


@composite("std")
def std(self: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    return ops.sqrt(ops.var(self, dim, correction=correction, keepdim=keepdim))


@composite("std_mean")
def std_mean(self: Any, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, Any]:
    var, mean = ops.var_mean(widened(self), dim, correction=correction, keepdim=keepdim)
    return as_type(ops.sqrt(var), self.dtype.to_real()), as_type(mean, self.dtype)


@composite("logsumexp")
def logsumexp(self: Any, dim: Any, keepdim: bool) -> Any:
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        self = as_type(self, get_default_dtype())
    x = widened(self)
    if not _count("logsumexp", x, dim):
        return as_type(ops.log(ops.sum.dim(ops.exp(x), dim, keepdim)), self.dtype)
    largest = ops.detach(ops.amax(ops.real(x), dim, True))
    largest = ops.where(ops.isfinite(largest), largest, 0.0)
    result = ops.log(ops.sum.dim(ops.exp(ops.sub(x, largest)), dim, keepdim))
    shift = largest if keepdim else ops.reshape(largest, tuple(result.shape))
    return as_type(ops.add(result, shift), self.dtype)


def softmax_parts(op: str, self: Any, dim: int) -> tuple[Any, Any]:
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
def var_unbiased(self: Any, dim: Any, unbiased: bool, keepdim: bool) -> Any:
    return ops.var.default(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite("std.unbiased_dim")
def std_unbiased(self: Any, dim: Any, unbiased: bool, keepdim: bool) -> Any:
    return ops.std.default(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite("var_mean.unbiased_dim")
def var_mean_unbiased(self: Any, dim: Any, unbiased: bool, keepdim: bool) -> Any:
    return ops.var_mean.default(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite("std_mean.unbiased_dim")
def std_mean_unbiased(self: Any, dim: Any, unbiased: bool, keepdim: bool) -> Any:
    return ops.std_mean.default(self, dim, correction=int(unbiased), keepdim=keepdim)
