"""Gamma and Dirichlet numbers, and how they change with their parameters.

The derivative of a sample x by a parameter a of its distribution function F is -(dF/da) / (dF/dx): at the same
quantile, another parameter gives another x.  dF/da is an integral over the values below x, or with the other sign over
those above; on the side that is taken, the integrand has one sign, falls from its start, and is integrated by the
double exponential rule (Takahasi and Mori, 1974), to the last digits for all but tiny parameters.  The CPU has native
kernels for these derivatives (`sample_gradients.h`), whose own derivatives go through the composites.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.tensor.common_dtype import common_dtype
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import finfo, float64
from tt.operators.helpers import as_type, number, python_value

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

# --- samples ---------------------------------------------------------------------------------------------------


def _attempt(alpha: Tensor, generator: Any) -> tuple[Any, Any]:
    """Return logarithms of gamma numbers, and which of them are accepted.

    For parameters from 1 on: Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
    """
    like = {"generator": generator, "dtype": float64, "device": alpha.device}
    x = ops.randn(tuple(alpha.shape), **like)
    u = ops.add(ops.rand(tuple(alpha.shape), **like), 2.0**-54)  # its logarithm is finite
    d = ops.sub(alpha, 1 / 3)
    root = ops.add(ops.mul(x, ops.rsqrt(ops.mul(d, 9))), 1)
    positive = ops.gt(root, 0)
    log_v = ops.mul(ops.log(ops.where(positive, root, number(1, root))), 3)
    bound = ops.add(ops.mul(ops.square(x), 0.5), ops.mul(d, ops.sub(log_v, ops.expm1(log_v))))
    return ops.add(ops.log(d), log_v), ops.logical_and(positive, ops.lt(ops.log(u), bound))


def _log_gamma_numbers(self: Tensor, generator: Any) -> Tensor:
    """Return logarithms of gamma numbers, which do not underflow for small parameters."""
    alpha = ops.reshape(as_type(self, float64), (-1,))
    usual = ops.logical_and(ops.gt(alpha, 0), ops.lt(alpha, math.inf))
    a = ops.where(usual, alpha, number(1, alpha))
    small = ops.lt(a, 1)
    boosted = ops.where(small, ops.add(a, 1), a)
    log_numbers, accepted = _attempt(boosted, generator)
    while python_value(ops.all(accepted)) is False:
        rest = ops.reshape(ops.nonzero(ops.logical_not(accepted)), (-1,))
        again, fine = _attempt(ops.index_select(boosted, 0, rest), generator)
        log_numbers, accepted = (
            ops.index_copy(log_numbers, 0, rest, again),
            ops.index_copy(accepted, 0, rest, fine),
        )
    # A number of parameter a + 1, times a uniform one to the power of 1 / a, is a number of parameter a.
    u = ops.rand(tuple(a.shape), generator=generator, dtype=float64, device=a.device)
    power = ops.div.default(ops.log(ops.add(u, 2.0**-54)), a)
    log_numbers = ops.where(small, ops.add(log_numbers, power), log_numbers)
    # The limits are sure numbers: the logarithm of 0 for 0, infinity for infinity, NaN for the rest.
    return ops.reshape(ops.where(usual, log_numbers, ops.log(alpha)), tuple(self.shape))


@composite("_standard_gamma")
def standard_gamma(self: Tensor, generator: Any) -> Tensor:
    return as_type(ops.exp(_log_gamma_numbers(self, generator)), self.dtype)


@composite("_sample_dirichlet")
def sample_dirichlet(self: Tensor, generator: Any) -> Tensor:
    shares = ops.softmax(_log_gamma_numbers(self, generator), -1)
    info = finfo(self.dtype)
    return ops.clamp(as_type(shares, self.dtype), float(info.tiny), 1 - float(info.eps) / 2)


# --- derivatives -----------------------------------------------------------------------------------------------

FINE: Final = (0.1, -4.0, 82)
"""The distance of the nodes v of the rule, the first and their number; the integrand is taken at exp(v - exp(-v))."""
COARSE: Final = (0.2, -3.6, 37)
"""Those for results of single precision: the error is 2e-6."""
LARGEST: Final = 1 << 18
"""Elements of the arrays in which several nodes are computed at once."""


def _nodes(like: Tensor, dtype: Dtype) -> Iterator[tuple[Any, Any]]:
    """Yield nodes and weights of the rule for the half-line along a last dimension, in pieces."""
    step, first, nodes = FINE if dtype is float64 else COARSE
    count = max(1, min(nodes, LARGEST // max(like.numel(), 1)))
    for start in range(0, nodes, count):
        index = ops.arange(start, min(start + count, nodes), dtype=float64, device=like.device)
        v = ops.add(ops.mul(index, step), first)
        decay = ops.exp(ops.neg(v))
        node = ops.exp(ops.sub(v, decay))
        yield node, ops.mul(ops.mul(node, ops.add(decay, 1)), step)


def _integral(integrand: Callable[[Any], Any], width: Tensor, dtype: Dtype) -> Tensor:
    """Return the integral from 0 to infinity of a function that falls within about a width."""
    total: Any = 0
    scale = ops.unsqueeze(width, -1)
    for node, weight in _nodes(width, dtype):
        total = ops.add(ops.sum.dim(ops.mul(integrand(ops.mul(scale, node)), weight), [-1]), total)
    return ops.mul(total, width)


def _width(slope: Tensor, curvature: Tensor) -> Tensor:
    """Return where slope * s + curvature * s ** 2 / 2 reaches 1."""
    slope, curvature = ops.clamp(slope, 0), ops.clamp(curvature, 0)
    root = ops.sqrt(ops.add(ops.square(slope), ops.mul(curvature, 2)))
    return ops.div.default(number(2, slope), ops.clamp(ops.add(slope, root), 1e-300))


def _decay(exponent: Tensor) -> Tensor:
    """Return exp of numbers that are not positive, except for rounding."""
    return ops.exp(ops.clamp(exponent, None, 0))


def _positive(x: Tensor) -> Tensor:
    """Return which numbers are positive and finite."""
    return ops.logical_and(ops.gt(x, 0), ops.lt(x, math.inf))


TERMS: Final = 16
"""Terms of the series for small gamma numbers."""


def _small_gamma(a: Tensor, z: Tensor) -> Tensor:
    """Return the derivative for z below 1/2 by the series of the distribution function in z."""
    series = ops.ones_like(z)
    slope = ops.zeros_like(z)
    power = series
    for n in range(1, TERMS):
        power = ops.mul(power, ops.div.default(ops.neg(z), n))
        part = ops.reciprocal(ops.add(a, n))
        series = ops.add(series, ops.mul(power, ops.mul(a, part)))
        slope = ops.add(slope, ops.mul(power, ops.mul(ops.square(part), n)))
    inner = ops.add(ops.mul(ops.sub(ops.log(z), ops.digamma(ops.add(a, 1))), series), slope)
    return ops.neg(ops.mul(ops.div.default(ops.mul(z, ops.exp(z)), a), inner))


HUGE: Final = 1e25
"""Concentrations beyond which only the exponent of the distribution counts, to all digits."""


def _huge_gamma(ratio: Tensor) -> Tensor:
    """Return the derivative where a * (r - 1 - log r) stays the same, for the ratio r of the number to a."""
    one = number(1, ratio)
    inside = ops.logical_and(ops.gt(ratio, 0), ops.ne(ratio, 1))
    r = ops.where(inside, ratio, number(2, ratio))
    slope = ops.div.default(ops.mul(r, ops.log(r)), ops.sub(r, one))
    return ops.where(inside, slope, ops.clamp(ratio, None, 1))


@composite("_standard_gamma_grad")
def standard_gamma_grad(self: Tensor, output: Tensor) -> Tensor:
    dtype = common_dtype(self, output)
    a, z = ops.broadcast_tensors([as_type(self, float64), as_type(output, float64)])
    one, half = number(1, z), number(0.5, z)
    fine = ops.logical_and(_positive(a), ops.logical_or(_positive(z), ops.eq(z, 0)))
    a, z = ops.where(fine, a, one), ops.clamp(ops.where(fine, z, one), 1e-300)
    huge = ops.gt(a, HUGE)
    limit = _huge_gamma(ops.div.default(z, a))
    a, z = ops.where(huge, one, a), ops.where(huge, one, z)
    small = ops.logical_and(ops.lt(z, 0.5), ops.lt(a, 1))
    series = _small_gamma(ops.where(small, a, one), ops.where(small, z, half))
    z = ops.where(small, one, z)  # of no account from here on
    log_z, center = ops.log(z), ops.digamma(a)
    below = ops.lt(log_z, center)  # there the values z exp(-s) are integrated over, else the values z + s
    wide = [ops.unsqueeze(v, -1) for v in (a, z, ops.sub(center, log_z), below)]

    def integrand(s: Tensor) -> Tensor:
        wide_a, wide_z, rest, is_below = wide
        log_ratio = ops.log1p(ops.div.default(s, wide_z))
        falling = ops.neg(ops.add(ops.mul(s, wide_a), ops.mul(wide_z, ops.expm1(ops.neg(s)))))
        rising = ops.sub(ops.mul(log_ratio, ops.sub(wide_a, 1)), s)
        distance = ops.where(is_below, ops.add(s, rest), ops.sub(log_ratio, rest))
        return ops.mul(distance, _decay(ops.where(is_below, falling, rising)))

    ratio = ops.div.default(ops.clamp(ops.sub(a, 1), 0), z)
    slope = ops.where(below, ops.sub(a, z), ops.rsub(ratio, 1.0))
    curvature = ops.where(below, z, ops.div.default(ratio, z))
    result = ops.mul(_integral(integrand, _width(slope, curvature), dtype), ops.where(below, z, one))
    result = ops.where(huge, limit, ops.where(small, series, result))
    return as_type(ops.where(fine, result, number(math.nan, z)), dtype)


@composite("_dirichlet_grad")
def dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    dtype = common_dtype(common_dtype(x, alpha), total)
    x, a, t = ops.broadcast_tensors([as_type(v, float64) for v in (x, alpha, total)])
    fine = ops.logical_and(_positive(a), ops.logical_and(_positive(ops.sub(t, a)), ops.lt(t, math.inf)))
    fine = ops.logical_and(fine, ops.logical_and(ops.ge(x, 0), ops.le(x, 1)))
    x, a, t = (ops.where(fine, v, number(k, v)) for v, k in ((x, 0.5), (a, 1), (t, 2)))
    x = ops.clamp(x, 1e-300, 1 - 2.0**-53)
    b, other = ops.sub(t, a), ops.rsub(x, 1.0)
    rest = ops.sub(ops.sub(ops.digamma(a), ops.digamma(t)), ops.log(x))
    # Below, the values x exp(-s) are integrated over, and else 1 - (1 - x) exp(-s): the same with 1 - x and b.
    below = ops.gt(rest, 0)
    here, there = ops.where(below, x, other), ops.where(below, other, x)
    p, q = ops.where(below, a, b), ops.where(below, b, a)
    wide = [ops.unsqueeze(v, -1) for v in (ops.div.default(here, there), p, ops.sub(q, 1), rest, below)]

    def integrand(s: Tensor) -> Tensor:
        odds, wide_p, power, wide_rest, is_below = wide
        log_ratio = ops.log1p(ops.neg(ops.mul(odds, ops.expm1(ops.neg(s)))))
        distance = ops.where(is_below, ops.add(s, wide_rest), ops.sub(log_ratio, wide_rest))
        return ops.mul(distance, _decay(ops.sub(ops.mul(log_ratio, power), ops.mul(s, wide_p))))

    ratio = ops.div.default(ops.mul(ops.clamp(ops.sub(q, 1), 0), here), there)
    width = _width(ops.sub(p, ratio), ops.div.default(ratio, there))
    slope = ops.mul(_integral(integrand, width, dtype), here)
    return as_type(ops.where(fine, ops.div.default(slope, other), number(math.nan, x)), dtype)
