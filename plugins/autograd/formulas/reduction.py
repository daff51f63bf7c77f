"""Formulas of reductions and scans.  g is the gradient of the result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tt.core.library import ops
from tt.plugins.autograd.formulas.helpers import conj, normal_dims, restore_dims, size_of
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

Dims = int | Sequence[int] | None

# --- sums ------------------------------------------------------------------------------------------------------


def spread(g: Any, shape: Sequence[int], dim: Dims, keepdim: bool) -> Any:
    """Give each element that was summed the gradient of its sum."""
    return ops.expand(restore_dims(g, dim, keepdim, len(shape)), tuple(shape))


d.of("sum", self=lambda g, self_shape, dim, keepdim: spread(g, self_shape, dim, keepdim))
d.of("mean", self=lambda g, self_shape, dim, keepdim: spread(g / size_of(self_shape, dim), self_shape, dim, keepdim))
d.of("nansum", self=lambda g, self, dim, keepdim: spread(g, self.shape, dim, keepdim) * ~ops.isnan(self))
d.of("logsumexp", self=lambda g, self, result, dim, keepdim: restore_dims(g, dim, keepdim, self.ndim)
     * ops.exp(self - finite(restore_dims(result, dim, keepdim, self.ndim))))  # fmt: skip


def finite(result: Any) -> Any:
    """Return the result with 0 for -inf, so that exp(-inf - result) is 0 where all summands are -inf."""
    return ops.where(result == -math.inf, ops.zeros_like(result), result)


# --- products --------------------------------------------------------------------------------------------------


def product_of_others(self: Any, dim: int) -> Any:
    """Return for each element the product of the others along a dim; right also where some are zero."""
    if not self.ndim:
        return ops.ones_like(self)
    ones = ops.ones_like(ops.narrow(self, dim, 0, min(1, self.shape[dim])))
    count = max(self.shape[dim] - 1, 0)
    before = ops.cumprod(ops.cat([ones, ops.narrow(self, dim, 0, count)], dim), dim)
    flipped = ops.flip(self, (dim,))
    after = ops.flip(ops.cumprod(ops.cat([ones, ops.narrow(flipped, dim, 0, count)], dim), dim), (dim,))
    return before * after


def prod_self(g: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    """g times the product of the other elements."""
    if dim is None:
        return g * ops.reshape(conj(product_of_others(ops.reshape(self, (-1,)), 0)), tuple(self.shape))
    dim = dim[0] if isinstance(dim, tuple | list) else dim
    return restore_dims(g, dim, keepdim, self.ndim) * conj(product_of_others(self, dim))


d.of("prod", self=prod_self)

# --- variance --------------------------------------------------------------------------------------------------


def var_self(g: Any, self: Any, dim: Dims, correction: Any, keepdim: bool) -> Any:
    """2 (self - mean) / (n - correction)."""
    g = restore_dims(g, dim, keepdim, self.ndim)
    freedom = size_of(self.shape, dim) - (1 if correction is None else correction)
    return g * (2 / freedom if freedom > 0 else math.nan) * (self - ops.mean(self, normal_dims(dim, self.ndim), True))


def var_mean_self(gs: Any, self: Any, dim: Dims, correction: Any, keepdim: bool) -> Any:
    """The sum of the gradients through the variance and through the mean."""
    variance = None if gs[0] is None else var_self(gs[0], self, dim, correction, keepdim)
    if gs[1] is None:
        return variance
    mean = spread(gs[1] / size_of(self.shape, dim), self.shape, dim, keepdim)
    return mean if variance is None else variance + mean


def std_self(g: Any, self: Any, result: Any, dim: Dims, correction: Any, keepdim: bool) -> Any:
    """Through the variance; 0 where the deviation is 0."""
    slope = g / (result * 2)
    return var_self(ops.where(result == 0, ops.zeros_like(slope), slope), self, dim, correction, keepdim)


def std_mean_self(gs: Any, self: Any, std: Any, dim: Dims, correction: Any, keepdim: bool) -> Any:
    """The sum of the gradients through the deviation and through the mean."""
    deviation = None if gs[0] is None else std_self(gs[0], self, std, dim, correction, keepdim)
    if gs[1] is None:
        return deviation
    mean = spread(gs[1] / size_of(self.shape, dim), self.shape, dim, keepdim)
    return mean if deviation is None else deviation + mean


d.of("var", self=var_self)
d.of("std", self=std_self)
d.of("var_mean", self=var_mean_self)

# --- extremes --------------------------------------------------------------------------------------------------


def share_evenly(g: Any, self: Any, result: Any, dim: Dims, keepdim: bool) -> Any:
    """Split g evenly among the elements that are the extreme."""
    chosen = (self == restore_dims(result, dim, keepdim, self.ndim)).to(g.dtype)
    count = ops.sum(chosen, normal_dims(dim, self.ndim), True)
    return restore_dims(g, dim, keepdim, self.ndim) * chosen / count


def at_index(g: Any, indices: Any, shape: Sequence[int], dim: int, keepdim: bool) -> Any:
    """Put g at the positions that a reduction along one dim chose."""
    g, indices = restore_dims(g, dim, keepdim, len(shape)), restore_dims(indices, dim, keepdim, len(shape))
    return ops.scatter_add(ops.new_zeros(g, tuple(shape)), dim, indices, g)


def aminmax_self(gs: Any, self: Any, min: Any, max: Any, dim: Any, keepdim: bool) -> Any:
    """The sum of both sides."""
    low = None if gs[0] is None else share_evenly(gs[0], self, min, dim, keepdim)
    high = None if gs[1] is None else share_evenly(gs[1], self, max, dim, keepdim)
    return high if low is None else low if high is None else low + high


d.of("max", self=lambda g, self, result: share_evenly(g, self, result, None, False))
d.of("min", self=lambda g, self, result: share_evenly(g, self, result, None, False))
d.of("amax", self=share_evenly)
d.of("amin", self=share_evenly)
d.of("aminmax", self=aminmax_self)
for _op in ("max.dim", "min.dim"):
    d.of(_op, self=lambda g, indices, self_shape, dim, keepdim: at_index(g, indices, self_shape, dim, keepdim))

# --- scans -----------------------------------------------------------------------------------------------------


def sum_from_here(g: Any, dim: int) -> Any:
    """Return the sums of g from each position to the end."""
    return ops.flip(ops.cumsum(ops.flip(g, (dim,)), dim), (dim,)) if g.ndim else g


def cumprod_self(g: Any, self: Any, dim: int) -> Any:
    """Sum over all products that an element is part of; right also where some elements are zero.

    d result[k] / d self[i] is the product of all self[j], j <= k, j != i.  Row i of `without` holds self with a 1
    at place i, so that its running product gives these for all k at once.
    """
    if not self.ndim:
        return g
    ndim, size = self.ndim, self.shape[dim]
    dim = dim % ndim
    moved, moved_g = ops.movedim(self, dim, -1), ops.movedim(g, dim, -1)
    eye = ops.eye(size, dtype=self.dtype, device=self.device)
    without = ops.unsqueeze(moved, -2) * (1 - eye) + eye
    upper = ops.triu(ops.ones_like(eye))
    slopes = ops.cumprod(without, -1) * upper
    return ops.movedim(ops.sum(ops.unsqueeze(moved_g, -2) * conj(slopes), (-1,)), -1, dim)


d.of("cumsum", self=lambda g, dim: sum_from_here(g, dim))
d.of("cumprod", self=cumprod_self)
d.of("logcumsumexp", self=lambda g, self, result, dim: logcumsumexp_self(g, self, result, dim))
for _op in ("cummax", "cummin"):
    d.of(_op, self=lambda g, indices, self_shape, dim: ops.scatter_add(ops.new_zeros(g, self_shape), dim, indices, g))


def logcumsumexp_self(g: Any, self: Any, result: Any, dim: int) -> Any:
    """exp(self) times the sums of g exp(-result), of positive and negative g apart and in logarithms."""
    if not self.ndim:
        return g
    zero = ops.zeros_like(g)
    low = ops.full_like(g, -math.inf)
    positive = ops.where(g > 0, ops.log(ops.where(g > 0, g, zero + 1)), low)
    negative = ops.where(g < 0, ops.log(ops.where(g < 0, -g, zero + 1)), low)

    def back(logarithm: Any) -> Any:
        return ops.flip(ops.logcumsumexp(ops.flip(logarithm - result, (dim,)), dim), (dim,))

    return ops.exp(back(positive) + self) - ops.exp(back(negative) + self)
