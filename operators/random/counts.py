"""Random counts: Poisson and binomial numbers.

Small means are inverted: the count is the first at which the sum of probabilities reaches a uniform number.  Large ones
are drawn by transformed rejection (Hörmann 1993, PTRS and BTRS); the elements that were rejected are drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import ValueRangeError
from tt.core.types.dtype import float64
from tt.operators.helpers import as_type, python_value

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

SMALL: Final = 10.0
"""The mean from which on numbers are drawn by rejection, whose constants hold from there."""
_STEPS: Final = 200
"""The largest count that is looked at for a small mean; greater ones are less likely than 2^-53."""


# --- both ------------------------------------------------------------------------------------------------------


def _minus(number: float, x: Tensor) -> Tensor:
    return ops.add(ops.neg(x), number)


def _choose(place: Tensor, new: Tensor, old: Tensor) -> Tensor:
    return ops.where.default(place, new, old)


def _uniform(like: Tensor, generator: Any) -> Tensor:
    return ops.rand(tuple(like.shape), generator=generator, dtype=float64, device=like.device)


def _where_true(place: Tensor) -> Tensor:
    return ops.reshape(ops.nonzero(place), (-1,))


def _picked(values: tuple[Any, ...], place: Tensor) -> tuple[Any, ...]:
    return tuple(ops.index_select(value, 0, place) for value in values)


def _any(place: Tensor) -> bool:
    return bool(python_value(ops.any.default(place)))


def _inverted(first: Tensor, ratio: Callable[[int], Any], generator: Any) -> Tensor:
    """Return counts by inversion, from the probability of 0 and the ratio of the probabilities of k and k - 1."""
    uniform, result = _uniform(first, generator), ops.zeros_like(first)
    probability = total = first
    # As many rounds as the largest count needs; elements that are done add nothing.
    for count in range(1, _STEPS):
        above = ops.gt(uniform, total)
        if not _any(above):
            break
        result = ops.add(result, as_type(above, float64))
        probability = ops.mul(probability, ratio(count))
        total = ops.add(total, probability)
    return result


def _drawn_until_accepted(attempt: Callable[..., tuple[Any, Any]], generator: Any, *parameters: Any) -> Any:
    """Return one number for each element of the parameters.

    An attempt takes elements of the parameters, and returns numbers and which of them are accepted.
    """
    result, accepted = attempt(generator, *parameters)
    pending = _where_true(ops.logical_not(accepted))
    while pending.numel():
        again, accepted = attempt(generator, *_picked(parameters, pending))
        result = ops.index_put(result, [pending], again)
        pending = ops.index_select(pending, 0, _where_true(ops.logical_not(accepted)))
    return result


def _by_size(mean: Tensor, small: Callable[..., Any], large: Callable[..., Any], *parameters: Any) -> Any:
    """Return numbers by one way for small means and by another one for large means."""
    few, many = ops.lt(mean, SMALL), ops.ge(mean, SMALL)
    if not _any(many):
        return small(*parameters)
    if not _any(few):
        return large(*parameters)
    result = mean
    for mask, draw in ((few, small), (many, large)):
        where = _where_true(mask)
        result = ops.index_put(result, [where], draw(*_picked(parameters, where)))
    return result


def _attempted(generator: Any, a: Tensor, b: Tensor, center: Tensor) -> tuple[Any, Any, Any]:
    """Return two uniform numbers, the first as its distance from the edge, and the count that they stand for."""
    first = ops.sub(_uniform(a, generator), 0.5)
    second = _uniform(a, generator)
    edge = _minus(0.5 + 2.0**-54, ops.abs(first))  # not 0
    slope = ops.add(ops.div.default(ops.mul(a, 2), edge), b)
    return edge, second, ops.floor(ops.add(ops.mul(slope, first), center))


def _accepted(
    edge: Tensor, second: Tensor, limit: Tensor, weight: Tensor, a: Tensor, b: Tensor, difference: Tensor
) -> Tensor:
    """Return which counts are accepted: at once, or by the difference of the logarithms of two probabilities."""
    at_once = ops.logical_and(ops.ge(edge, 0.07), ops.le(second, limit))
    area = ops.add(ops.div.default(a, ops.square(edge)), b)
    height = ops.log(ops.div.default(ops.mul(ops.add(second, 2.0**-54), weight), area))
    return ops.logical_or(at_once, ops.le(height, difference))


def _stirling_rest(k: Tensor) -> Tensor:
    """Return log(k!) less Stirling's (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2."""
    next_ = ops.add(k, 1)
    inverse = ops.reciprocal(ops.square(next_))
    series = _minus(1 / 12, ops.mul(_minus(1 / 360, ops.mul(inverse, 1 / 1260)), inverse))
    near = ops.clamp(next_, None, 10.0)
    exact = ops.sub(
        ops.lgamma(near),
        ops.sub(ops.mul(ops.sub(near, 0.5), ops.log(near)), ops.sub(near, math.log(2 * math.pi) / 2)),
    )
    return _choose(ops.lt(k, 9), exact, ops.div.default(series, next_))


# --- Poisson ---------------------------------------------------------------------------------------------------


@composite("poisson")
def poisson(self: Tensor, generator: Any) -> Tensor:
    rate = ops.reshape(as_type(self, float64), (-1,))
    if rate.numel() and not python_value(ops.all.default(ops.ge(rate, 0))):
        raise ValueRangeError("poisson(): the rates must be 0 or more, and some are negative or NaN")
    infinite = ops.eq(rate, math.inf)
    finite = _choose(infinite, ops.zeros_like(rate), rate)
    result = _by_size(
        finite,
        lambda r: _inverted(ops.exp(ops.neg(r)), lambda count: ops.div.default(r, count), generator),
        lambda r: _drawn_until_accepted(_poisson_attempt, generator, r),
        finite,
    )
    result = _choose(infinite, rate, result)
    return _laid_out(result, self)


def _laid_out(found: Tensor, like: Tensor) -> Tensor:
    """Return flat numbers in the shape and dtype of a tensor, and in its order in memory."""
    shaped = as_type(ops.reshape(found, tuple(like.shape)), like.dtype)
    return shaped if like.is_contiguous() else ops.copy_(ops.empty_like(like), shaped)


def _poisson_attempt(generator: Any, rate: Tensor) -> tuple[Any, Any]:
    b = ops.add(ops.mul(ops.sqrt(rate), 2.53), 0.931)
    a = ops.add(ops.mul(b, 0.02483), -0.059)
    weight = ops.add(ops.mul(ops.reciprocal(ops.sub(b, 3.4)), 1.1328), 1.1239)
    limit = _minus(0.9277, ops.mul(ops.reciprocal(ops.sub(b, 2)), 3.6224))
    edge, second, k = _attempted(generator, a, b, ops.add(rate, 0.43))
    count = ops.clamp(k, 0, None)
    # The logarithm of the probability of k, written so that large rates do not cancel.
    next_ = ops.add(count, 1)
    apart = ops.sub(next_, rate)
    log_ratio = ops.log1p(ops.div.default(ops.neg(apart), next_))
    difference = ops.sub(
        ops.add(apart, ops.mul(count, log_ratio)),
        ops.add(ops.add(ops.mul(ops.log(next_), 0.5), math.log(2 * math.pi) / 2), _stirling_rest(count)),
    )
    accepted = _accepted(edge, second, limit, weight, a, b, difference)
    return k, ops.logical_and(accepted, ops.ge(k, 0))


# --- binomial --------------------------------------------------------------------------------------------------


@composite("binomial")
def binomial(count: Tensor, prob: Tensor, generator: Any) -> Tensor:
    counts, probs = ops.broadcast_tensors([count, prob])
    n = ops.floor(ops.reshape(as_type(counts, float64), (-1,)))
    p = ops.reshape(as_type(probs, float64), (-1,))
    # Of probabilities above one half the failures are counted.
    flipped = ops.gt(p, 0.5)
    rare = _choose(flipped, _minus(1, p), p)
    drawable = ops.logical_and(ops.logical_and(ops.gt(n, 0), ops.lt(n, math.inf)), ops.gt(rare, 0))
    trials = _choose(drawable, n, ops.zeros_like(n))
    rare = _choose(drawable, rare, ops.zeros_like(p))

    def small(n: Tensor, p: Tensor) -> Tensor:
        odds = ops.div.default(p, _minus(1, p))

        def ratio(count: int) -> Tensor:
            return ops.mul(odds, ops.div.default(ops.clamp(ops.sub(n, count - 1), 0, None), count))

        return _inverted(ops.exp(ops.mul(n, ops.log1p(ops.neg(p)))), ratio, generator)

    result = _by_size(
        ops.mul(trials, rare), small,
        lambda n, p: _drawn_until_accepted(_binomial_attempt, generator, n, p), trials, rare,
    )  # fmt: skip
    result = _choose(ops.logical_and(flipped, drawable), ops.sub(n, result), result)
    result = _choose(ops.logical_and(ops.ge(p, 1), ops.gt(n, 0)), n, result)  # the trials all succeed
    result = _choose(ops.logical_and(ops.eq(n, math.inf), ops.gt(p, 0)), n, result)
    result = _choose(ops.logical_or(ops.isnan(n), ops.isnan(p)), ops.add(n, p), result)
    return as_type(ops.reshape(result, tuple(counts.shape)), counts.dtype)


def _binomial_attempt(generator: Any, n: Tensor, p: Tensor) -> tuple[Any, Any]:
    failure = _minus(1, p)
    deviation = ops.sqrt(ops.mul(ops.mul(n, p), failure))
    b = ops.add(ops.mul(deviation, 2.53), 1.15)
    a = ops.add(ops.add(ops.mul(b, 0.0248), ops.mul(p, 0.01)), -0.0873)
    weight = ops.mul(ops.add(ops.mul(ops.reciprocal(b), 5.1), 2.83), deviation)
    limit = _minus(0.92, ops.mul(ops.reciprocal(b), 4.2))
    edge, second, k = _attempted(generator, a, b, ops.add(ops.mul(n, p), 0.5))
    count = ops.minimum(ops.clamp(k, 0, None), n)
    mode = ops.floor(ops.mul(ops.add(n, 1), p))
    odds = ops.div.default(p, failure)

    # The logarithm of the ratio of the probabilities of k and of the mode, of logarithms that are small near it.
    rest, rest_of_mode = ops.add(ops.sub(n, count), 1), ops.add(ops.sub(n, mode), 1)
    terms = (
        ops.mul(ops.add(n, 1), ops.log(ops.div.default(rest_of_mode, rest))),
        ops.mul(ops.add(count, 0.5), ops.log(ops.div.default(ops.mul(odds, rest), ops.add(count, 1)))),
        ops.mul(ops.add(mode, 0.5), ops.log(ops.div.default(ops.add(mode, 1), ops.mul(odds, rest_of_mode)))),
        ops.sub(_stirling_rest(mode), _stirling_rest(count)),
        ops.sub(_stirling_rest(ops.sub(n, mode)), _stirling_rest(ops.sub(n, count))),
    )
    accepted = _accepted(edge, second, limit, weight, a, b, reduce(ops.add, terms))
    inside = ops.logical_and(ops.ge(k, 0), ops.le(k, n))
    return k, ops.logical_and(accepted, inside)
