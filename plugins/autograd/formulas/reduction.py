"""Formulas of reductions and scans.  g is the gradient of the result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tt.core.library import Tensor, ops
from tt.plugins.autograd.formulas.helpers import any_true, cast, conj, normal_dims, restore_dims, size_of
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

Dims = int | Sequence[int] | None

# --- sums ------------------------------------------------------------------------------------------------------


def spread(g: Tensor, shape: Sequence[int], dim: Dims, keepdim: bool) -> Tensor:
    """Give each element that was summed the gradient of its sum."""
    return ops.expand(restore_dims(g, dim, keepdim, len(shape)), tuple(shape))


def logsumexp_self(g: Tensor, self: Tensor, result: Tensor, dim: Dims, keepdim: bool) -> Any:
    """g softmax(self); a result of -inf has -inf summands only, whose gradient is 0."""
    result = restore_dims(result, dim, keepdim, self.ndim)
    finite = ops.where(result == -math.inf, 0, result)
    return restore_dims(g, dim, keepdim, self.ndim) * conj(ops.exp(self - finite))


# An expanded gradient takes no memory; whoever writes to it copies first.
d.of("sum", self=lambda g, self_shape: ops.expand(g, self_shape))
d.of("sum.dim", self=lambda g, self_shape, dim, keepdim: spread(g, self_shape, dim, keepdim))
# Divided after the expansion, as PyTorch does: the gradient has memory of its own, so that it can be written.
d.of("mean", self=lambda g, self_shape: ops.expand(g, self_shape) / size_of(self_shape, None))
d.of("mean.dim", self=lambda g, self_shape, dim, keepdim:
     spread(g, self_shape, dim, keepdim) / size_of(self_shape, dim))  # fmt: skip
d.of("logsumexp", self=logsumexp_self)


def trace_self(g: Tensor, self_shape: Sequence[int]) -> Tensor:
    """g on the diagonal, and zeros beside it also if it is infinite."""
    rows, columns = self_shape
    return ops.where(ops.ne(ops.eye(rows, columns, device=g.device), 0), g, 0)


d.of("trace", self=trace_self)

# --- products --------------------------------------------------------------------------------------------------


def product_of_others(self: Any, dim: int) -> Any:
    """Return for each element the product of the others along a dim; right also where some are zero."""
    if self.dtype.itemsize == 2:  # products of some elements overflow where that of all does not
        return product_of_others(self.float(), dim).to(self.dtype)
    size = self.shape[dim]
    one = ops.ones_like(ops.slice(self, dim, 0, min(size, 1), 1))
    # Exclusive products from both sides: O(n), and no division by zero.
    before = ops.cumprod(ops.cat([one, ops.slice(self, dim, 0, size - 1, 1)], dim), dim) if size else self
    behind = ops.cat([one, ops.flip(ops.slice(self, dim, 1, size, 1), (dim,))], dim) if size else self
    return before * ops.flip(ops.cumprod(behind, dim), (dim,))


def prod_self(g: Tensor, self: Tensor, result: Tensor) -> Any:
    """g times the product of the other elements."""
    if not self.ndim:
        return g
    return prod_dim_self(g, ops.reshape(self, (-1,)), result, 0, False).reshape(tuple(self.shape))


def prod_dim_self(g: Tensor, self: Tensor, result: Tensor, dim: int, keepdim: bool) -> Any:
    """g times the product of the other elements: result / self where nothing is zero."""
    if not self.ndim:
        return g
    g, result = restore_dims(g, dim, keepdim, self.ndim), restore_dims(result, dim, keepdim, self.ndim)
    self = cast(self, result.dtype)
    # The quotient is one operation, the way around zeros about six.
    if any_true(self == 0) is not False:  # tensors without data may have some, too
        return g * conj(product_of_others(self, dim))
    return g * conj(result / self)


d.of("prod", self=prod_self)
d.of("prod.dim", self=prod_dim_self)

# --- variance --------------------------------------------------------------------------------------------------


def var_self(g: Tensor, self: Tensor, dim: Dims, correction: Any, keepdim: bool) -> Tensor:
    """2 (self - mean) / (n - correction)."""
    g = restore_dims(g, dim, keepdim, self.ndim)
    freedom = size_of(self.shape, dim) - (1 if correction is None else correction)
    # A number is its own mean; by subtraction NaN stays NaN.
    centred = self - ops.mean.dim(self, normal_dims(dim, self.ndim), True) if self.ndim else self - self
    return g * (2 / freedom if freedom > 0 else math.nan) * centred


def var_mean_self(
    gs: Sequence[Tensor | None], self: Tensor, dim: Dims, correction: Any, keepdim: bool
) -> Any:
    """The sum of the gradients through the variance and through the mean."""
    variance = None if gs[0] is None else var_self(gs[0], self, dim, correction, keepdim)
    if gs[1] is None:
        return variance
    mean = spread(gs[1], self.shape, dim, keepdim) / size_of(self.shape, dim)
    return mean if variance is None else variance + mean


def std_self(g: Tensor, self: Tensor, result: Tensor, dim: Dims, correction: Any, keepdim: bool) -> Tensor:
    """Through the variance; 0 where the deviation is 0."""
    # Infinity instead of 0, so that the derivative of the quotient is a number, too.
    slope = g / ops.where(result == 0, math.inf, result * 2)
    return var_self(slope, self, dim, correction, keepdim)


def std_mean_self(
    gs: Sequence[Tensor | None], self: Tensor, result: Tensor, dim: Dims, correction: Any, keepdim: bool
) -> Any:
    """The sum of the gradients through the deviation and through the mean."""
    deviation = None if gs[0] is None else std_self(gs[0], self, result, dim, correction, keepdim)
    if gs[1] is None:
        return deviation
    mean = spread(gs[1], self.shape, dim, keepdim) / size_of(self.shape, dim)
    return mean if deviation is None else deviation + mean


d.of("var", self=var_self)
d.of("std", self=std_self)
d.of("var_mean", self=var_mean_self)
d.of("std_mean", self=std_mean_self)

# --- extremes --------------------------------------------------------------------------------------------------


def share_evenly(g: Tensor, self: Tensor, result: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """Split g evenly among the elements that are the extreme; nan where the extreme is nan."""
    chosen = (self == restore_dims(result, dim, keepdim, self.ndim)).to(g.dtype)
    count = ops.sum.dim(chosen, normal_dims(dim, self.ndim), True) if self.ndim else 1
    return restore_dims(g, dim, keepdim, self.ndim) * (chosen / count)


def share_among_all(g: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """Split g evenly among the elements that are the extreme; where it is nan, among those that are nan."""
    chosen = (self == result) | (ops.isnan(self) & ops.isnan(result))
    return ops.where(chosen, g / ops.sum(chosen.to(g.dtype)), 0)


def at_index(g: Tensor, indices: Tensor, self_shape: Sequence[int], dim: int, keepdim: bool) -> Tensor:
    """Put g at the positions that a reduction along one dim chose."""
    ndim = len(self_shape)
    g, indices = restore_dims(g, dim, keepdim, ndim), restore_dims(indices, dim, keepdim, ndim)
    return ops.scatter_add(ops.new_zeros(g, self_shape), dim, indices, g)


def aminmax_self(
    gs: Sequence[Tensor | None], self: Tensor, min: Tensor, max: Tensor, dim: int | None, keepdim: bool
) -> Tensor:
    """The sum of the gradients through the smallest and the largest."""
    dims = () if dim is None else dim
    parts = [
        share_evenly(g, self, r, dims, keepdim) for g, r in zip(gs, (min, max), strict=True) if g is not None
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


d.of("aminmax", self=aminmax_self)
for _op in ("max", "min"):
    d.of(_op, self=share_among_all)
    d.of(f"a{_op}", self=share_evenly)
    d.of(f"{_op}.dim", self=at_index)


def direction(x: Tensor) -> Tensor:
    """Return x / |x|, 0 for 0."""
    if not x.dtype.is_complex:
        return ops.sign(x)
    size = ops.abs(x)
    zero = size == 0
    return ops.where(zero, 0, x / ops.where(zero, 1, size))


def vector_norm_self(
    g: Tensor, self: Tensor, result: Tensor, ord: Any, dim: Sequence[int] | None, keepdim: bool
) -> Tensor:
    """g (|x| / norm)^(ord - 1) in the direction of self; 0 where the norm is, or where the derivative is infinite."""
    g, result = restore_dims(g, dim, keepdim, self.ndim), restore_dims(result, dim, keepdim, self.ndim)
    if ord == 0:
        # A count is flat; the product with g lets NaN and infinity show.
        return ops.zeros_like(self) * g
    if ord == 1:
        return g * direction(self)
    if math.isinf(ord):
        return direction(self) * shared(g, ops.abs(self), result, dim)
    none = result == 0
    norm = ops.where(none, 1, result)
    if ord == 2:
        return ops.where(none, 0, g / norm) * self
    size = ops.abs(self)
    # Where self is 0, a power below 2 has no (second) derivative.
    flat = ops.logical_or(none, size == 0) if ord < 2 else none
    ratio = ops.where(flat, 1, size / norm)
    return ops.where(flat, 0, g * ratio ** (ord - 1)) * direction(self)


def shared(g: Tensor, size: Tensor, result: Tensor, dim: Any) -> Tensor:
    """Split g evenly among the elements whose absolute value is the norm; among those that are nan where it is."""
    chosen = (size == result) | ((size != size) & (result != result))
    count = ops.sum.dim(chosen, normal_dims(dim, size.ndim), True) if size.ndim else 1
    return g * (chosen / count)


d.of("_vector_norm", self=vector_norm_self)
