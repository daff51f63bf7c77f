"""Divergences between distributions of different families.

Besides the entropy of p, only the mean of log q is needed, which for most q takes one or two moments of p: for a normal
q mean and variance, for an exponential one the mean, for a gamma one also the mean of the logarithm, and so on. So one
function for each q serves all p; it is infinite where p has values outside of q's support.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tt
from tt.distributions.bernoulli import Bernoulli
from tt.distributions.beta import Beta
from tt.distributions.binomial import Binomial
from tt.distributions.continuous_bernoulli import ContinuousBernoulli
from tt.distributions.distribution import Distribution
from tt.distributions.exponential import Exponential
from tt.distributions.gamma import Gamma
from tt.distributions.gumbel import Gumbel
from tt.distributions.kl import Formula, register_kl
from tt.distributions.laplace import Laplace
from tt.distributions.normal import Normal
from tt.distributions.pareto import Pareto
from tt.distributions.poisson import Poisson
from tt.distributions.uniform import Uniform
from tt.distributions.utils import euler_constant

__all__: list[str] = []

# --- p has values that q never has -----------------------------------------------------------------------------


def _infinite(p: Distribution, q: Distribution) -> tt.Tensor:
    shape = tt.broadcast_shapes(p.batch_shape, q.batch_shape)
    return p.mean.new_full(shape, math.inf)


_BOUNDED = (Beta, ContinuousBernoulli, Pareto, Uniform)
_BELOW_ZERO = (*_BOUNDED, Exponential, Gamma)

_PAIRS: tuple[tuple[type, tuple[type, ...]], ...] = (
    (Beta, (Pareto,)),
    (ContinuousBernoulli, (Pareto,)),
    (Exponential, _BOUNDED),
    (Gamma, _BOUNDED),
    (Gumbel, _BELOW_ZERO),
    (Laplace, _BELOW_ZERO),
    (Normal, _BELOW_ZERO),
    (Pareto, (Beta, ContinuousBernoulli, Uniform)),
    (Poisson, (Bernoulli, Binomial)),
)
for _p, _qs in _PAIRS:
    for _q in _qs:
        register_kl(_p, _q)(_infinite)

# --- the parts of p that have no finite moments, or lie outside of q's support ---------------------------------


def _nothing(p: Distribution, q: Distribution) -> bool:
    return False


def _unless_positive(p: Uniform, q: Distribution) -> tt.Tensor:
    return p.low < 0


def _beyond_unit(p: Uniform, q: Distribution) -> tt.Tensor:
    return (p.high > 1) | (p.low < 0)


def _unless_within(p: Distribution, q: Uniform) -> tt.Tensor:
    return (q.low > 0) | (q.high < 1)


def _register(p: type, q: type, formula: Formula, outside: Callable[[Any, Any], Any] = _nothing) -> None:
    """Register a formula that is infinite where a condition holds."""

    def divergence(p: Distribution, q: Distribution) -> tt.Tensor:
        # KL(p, q) = -E_p[log q] - H(p), so that a formula says only what concerns q.
        result = formula(p, q) - p.entropy()
        return result if outside is _nothing else tt.where(outside(p, q), math.inf, result)

    register_kl(p, q)(divergence)


# --- minus the mean of log q, for each q -----------------------------------------------------------------------


def _to_normal(p: Distribution, q: Normal) -> tt.Tensor:
    squares = (p.variance + (p.mean - q.loc).square()) / q.scale.square()
    return 0.5 * (math.log(2 * math.pi) + squares) + q.scale.log()


for _type in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform):
    _register(_type, Normal, _to_normal)
# Below these values of alpha the second moment of p is infinite, and so is the divergence.
_register(Pareto, Normal, _to_normal, lambda p, q: p.alpha <= 2)


def _to_exponential(p: Distribution, q: Exponential) -> tt.Tensor:
    return q.rate * p.mean - q.rate.log()


for _p in (Beta, ContinuousBernoulli, Gamma):
    _register(_p, Exponential, _to_exponential)
_register(Pareto, Exponential, _to_exponential, lambda p, q: p.alpha <= 1)
_register(Uniform, Exponential, _to_exponential, _unless_positive)


def _to_continuous_bernoulli(p: Distribution, q: ContinuousBernoulli) -> tt.Tensor:
    return -p.mean * q.logits - tt.log1p(-q.probs) - q._log_norm()


_register(Beta, ContinuousBernoulli, _to_continuous_bernoulli)
_register(Uniform, ContinuousBernoulli, _to_continuous_bernoulli, _beyond_unit)


def _to_uniform(p: Distribution, q: Uniform) -> tt.Tensor:
    return tt.log(q.high - q.low)


_register(Beta, Uniform, _to_uniform, _unless_within)
_register(ContinuousBernoulli, Uniform, _to_uniform, _unless_within)

_LOGARITHM: dict[type, Callable[[Any], tt.Tensor]] = {
    Beta: lambda p: tt.digamma(p.concentration1) - tt.digamma(p.concentration1 + p.concentration0),
    Exponential: lambda p: -p.rate.log() - euler_constant,
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: (tt.xlogy(p.high, p.high) - tt.xlogy(p.low, p.low)) / (p.high - p.low) - 1,
}
"""The mean of the logarithm of p's values."""


def _to_gamma(p: Distribution, q: Gamma) -> tt.Tensor:
    log_norm = tt.lgamma(q.concentration) - q.concentration * q.rate.log()
    return log_norm - (q.concentration - 1) * _LOGARITHM[_family(p)](p) + q.rate * p.mean


def _family(p: Distribution) -> type:
    # A subclass such as Chi2 has the formula of its family.
    return next(cls for cls in type(p).__mro__ if cls in _LOGARITHM or cls in _LOG_MGF)


_register(Beta, Gamma, _to_gamma)
_register(Exponential, Gamma, _to_gamma)
_register(Pareto, Gamma, _to_gamma, lambda p, q: p.alpha <= 1)
_register(Uniform, Gamma, _to_gamma, _unless_positive)

_register(
    Uniform,
    Pareto,
    lambda p, q: (q.alpha + 1) * _LOGARITHM[Uniform](p) - q.alpha.log() - q.alpha * q.scale.log(),
    lambda p, q: p.low < q.scale,
)

_LOG_MGF: dict[type, Formula] = {
    Exponential: lambda p, t: -tt.log1p(-t / p.rate),
    Gamma: lambda p, t: -p.concentration * tt.log1p(-t / p.rate),
    Normal: lambda p, t: t * p.loc + 0.5 * (t * p.scale).square(),
    Uniform: lambda p, t: tt.log(tt.expm1(t * (p.high - p.low)) / (t * (p.high - p.low))) + t * p.low,
}
"""The logarithm of the mean of exp(t x)."""


def _to_gumbel(p: Distribution, q: Gumbel) -> tt.Tensor:
    power = tt.exp(q.loc / q.scale + _LOG_MGF[_family(p)](p, -q.scale.reciprocal()))
    return q.scale.log() + (p.mean - q.loc) / q.scale + power


for _p in _LOG_MGF:
    _register(_p, Gumbel, _to_gumbel)


@lambda formula: _register(Normal, Laplace, formula)
def _normal_to_laplace(p: Normal, q: Laplace) -> tt.Tensor:
    distance = p.loc - q.loc
    standard = distance / p.scale
    bell = math.sqrt(2 / math.pi) * p.scale * tt.exp(-0.5 * standard.square())
    return (bell + distance * tt.erf(math.sqrt(0.5) * standard)) / q.scale + tt.log(2 * q.scale)


@lambda formula: _register(Uniform, Beta, formula, _beyond_unit)
def _uniform_to_beta(p: Uniform, q: Beta) -> tt.Tensor:
    q1, q0 = q.concentration1, q.concentration0
    other = (tt.xlogy(1 - p.low, 1 - p.low) - tt.xlogy(1 - p.high, 1 - p.high)) / (p.high - p.low) - 1
    log_norm = tt.lgamma(q1) + tt.lgamma(q0) - tt.lgamma(q1 + q0)
    return log_norm - (q1 - 1) * _LOGARITHM[Uniform](p) - (q0 - 1) * other


_register(Bernoulli, Poisson, lambda p, q: q.rate - p.probs * q.rate.log())
