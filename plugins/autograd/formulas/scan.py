"""Formulas of what accumulates along a dimension.  g is the gradient of the result."""

from __future__ import annotations

from typing import Any

from tt.core.library import Tensor, ops
from tt.plugins.autograd.formulas.helpers import cast, conj
from tt.plugins.autograd.formulas.table import Formulas

d = Formulas()

# --- sums ------------------------------------------------------------------------------------------------------


def sum_from_here(g: Tensor, dim: int) -> Tensor:
    """Return the sums of g from each position to the end."""
    return ops.flip(ops.cumsum(ops.flip(g, (dim,)), dim), (dim,)) if g.ndim else g


d.of("cumsum", self=sum_from_here)

# --- products and exponentials ---------------------------------------------------------------------------------


def weighted_sum_from_here(g: Tensor, factor: Tensor, dim: int) -> Tensor:
    """Return s with s[k] = g[k] + factor[k] s[k + 1], where `factor` is one shorter than g along the dimension.

    Nothing is divided, so zeros do no harm.  The recurrence is solved by doubling: after each step, s and the factors
    speak of twice as many places.
    """
    size = g.shape[dim]
    # O(n log n) products instead of n, but log n operations on whole tensors instead of n.
    s, step = g, 1
    while step < size:
        later = ops.slice(s, dim, step, size, 1)
        head = ops.slice(s, dim, 0, size - step, 1) + factor * later
        s = ops.cat([head, ops.slice(s, dim, size - step, size, 1)], dim)
        left = factor.shape[dim]
        if left > step:
            factor = ops.slice(factor, dim, 0, left - step, 1) * ops.slice(factor, dim, step, left, 1)
        step *= 2
    return s


def cumprod_self(g: Tensor, self: Tensor, result: Tensor, dim: int) -> Any:
    """The product of all before, times g and what of it comes back from behind."""
    if not self.ndim:
        return g
    size = self.shape[dim]
    if not size:
        return g
    x = cast(self, result.dtype)
    behind = weighted_sum_from_here(g, conj(ops.slice(x, dim, 1, size, 1)), dim)
    one = ops.ones_like(ops.slice(result, dim, 0, 1, 1))
    return behind * conj(ops.cat([one, ops.slice(result, dim, 0, size - 1, 1)], dim))


def logcumsumexp_self(g: Tensor, self: Tensor, result: Tensor, dim: int) -> Any:
    """The sums of g exp(self - result) from here, in which no exponential overflows."""
    if not self.ndim or not self.shape[dim]:
        return g
    size = result.shape[dim]
    growth = difference(ops.slice(result, dim, 0, size - 1, 1), ops.slice(result, dim, 1, size, 1))
    return weighted_sum_from_here(g, conj(ops.exp(growth)), dim) * conj(ops.exp(difference(self, result)))


def difference(a: Tensor, b: Tensor) -> Tensor:
    """Return a - b, 0 for equal infinities."""
    return ops.where(a == b, 0, a - b)


d.of("cumprod", self=cumprod_self)
d.of("logcumsumexp", self=logcumsumexp_self)

# --- extremes --------------------------------------------------------------------------------------------------


def to_places(g: Tensor, indices: Tensor, dim: int) -> Tensor:
    """Add g at the places from which the extremes came."""
    return ops.scatter_add(ops.zeros_like(g), dim, indices, g) if g.ndim else g


d.of("cummax", self=to_places)
d.of("cummin", self=to_places)
