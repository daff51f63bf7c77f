"""Divergences between distributions of one family."""

from __future__ import annotations

import math

import tt
from tt.distributions._matrices import batch_mahalanobis, half_log_det
from tt.distributions._transforms_base import sum_rightmost
from tt.distributions.bernoulli import Bernoulli
from tt.distributions.beta import Beta
from tt.distributions.binomial import Binomial
from tt.distributions.categorical import Categorical
from tt.distributions.cauchy import Cauchy
from tt.distributions.continuous_bernoulli import ContinuousBernoulli
from tt.distributions.dirichlet import Dirichlet
from tt.distributions.distribution import Distribution
from tt.distributions.exp_family import ExponentialFamily, normalizer_with_gradients
from tt.distributions.exponential import Exponential
from tt.distributions.gamma import Gamma
from tt.distributions.geometric import Geometric
from tt.distributions.gumbel import Gumbel
from tt.distributions.half_normal import HalfNormal
from tt.distributions.independent import Independent
from tt.distributions.kl import kl_divergence, register_kl
from tt.distributions.laplace import Laplace
from tt.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal, low_rank_distance
from tt.distributions.multivariate_normal import MultivariateNormal
from tt.distributions.normal import Normal
from tt.distributions.one_hot_categorical import OneHotCategorical
from tt.distributions.pareto import Pareto
from tt.distributions.poisson import Poisson
from tt.distributions.transformed_distribution import TransformedDistribution
from tt.distributions.uniform import Uniform
from tt.distributions.utils import euler_constant
from tt.distributions.wishart import Wishart
from tt.nn.functional import softplus

__all__: list[str] = []

# --- distributions of distributions ----------------------------------------------------------------------------


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> tt.Tensor:
    """Return the Bregman divergence of the log normaliser, whose gradient autograd gives."""
    if type(p) is not type(q):
        raise tt.errors.UnsupportedError(
            f"no formula is known for the divergence of {type(p).__name__} from {type(q).__name__}, and that of "
            "exponential families needs two of one class"
        )
    params, of_p, gradients = normalizer_with_gradients(p)
    result = q._log_normalizer(*q._natural_params) - of_p
    events = len(q.event_shape)
    for before, after, gradient in zip(params, q._natural_params, gradients, strict=True):
        result = result - sum_rightmost((after - before) * gradient, events)
    return result


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> tt.Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise tt.errors.UnsupportedError(
            f"the divergence of Independent distributions with {p.reinterpreted_batch_ndims} and "
            f"{q.reinterpreted_batch_ndims} reinterpreted dimensions is not known"
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> tt.Tensor:
    # A bijection changes both densities by the same factor, which cancels.
    if p.transforms != q.transforms:
        raise tt.errors.UnsupportedError(
            "the divergence is known only of distributions with the same transforms"
        )
    if p.event_shape != q.event_shape:
        raise tt.errors.UnsupportedError(
            "the divergence is known only of distributions with the same event shape"
        )
    return kl_divergence(p.base_dist, q.base_dist)


# --- discrete --------------------------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> tt.Tensor:
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    # 0 log 0 is 0, also where q is 0; a value that p has and q has not makes the divergence infinite.
    ones = tt.where(p.probs == 0, 0.0, tt.where(q.probs == 0, math.inf, ones))
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zeros = tt.where(p.probs == 1, 0.0, tt.where(q.probs == 1, math.inf, zeros))
    return ones + zeros


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> tt.Tensor:
    if bool((q.total_count > p.total_count).any()):
        raise tt.errors.UnsupportedError("the divergence from a Binomial with more trials is not known")
    of_trial = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    # With more trials p has values that q never has.
    return tt.where(p.total_count > q.total_count, math.inf, p.total_count * of_trial)


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> tt.Tensor:
    terms = tt.where(q.probs == 0, math.inf, p.probs * (p.logits - q.logits))
    return tt.where(p.probs == 0, 0.0, terms).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: OneHotCategorical, q: OneHotCategorical) -> tt.Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> tt.Tensor:
    return -p.entropy() - tt.log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> tt.Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


# --- of numbers ------------------------------------------------------------------------------------------------


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> tt.Tensor:
    p1, p0, q1, q0 = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    log_q = tt.lgamma(q1) + tt.lgamma(q0) - tt.lgamma(q1 + q0)
    log_p = tt.lgamma(p1) + tt.lgamma(p0) - tt.lgamma(p1 + p0)
    powers = (p1 - q1) * tt.digamma(p1) + (p0 - q0) * tt.digamma(p0)
    return log_q - log_p + powers + (q1 + q0 - p1 - p0) * tt.digamma(p1 + p0)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> tt.Tensor:
    # Chyzak and Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy distributions".
    return ((p.scale + q.scale).square() + (p.loc - q.loc).square()).log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> tt.Tensor:
    of_p = p._log_norm() + tt.log1p(-p.probs)
    return p.mean * (p.logits - q.logits) + of_p - q._log_norm() - tt.log1p(-q.probs)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> tt.Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> tt.Tensor:
    powers = (
        q.concentration * (p.rate / q.rate).log() + tt.lgamma(q.concentration) - tt.lgamma(p.concentration)
    )
    slope = (p.concentration - q.concentration) * tt.digamma(p.concentration)
    return powers + slope + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> tt.Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc) / q.scale
    power = tt.exp(tt.lgamma(1 + ratio) - distance)
    return distance - ratio.log() + ratio * euler_constant + power - (1 + euler_constant)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> tt.Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> tt.Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return distance / q.scale + ratio * tt.exp(-distance / p.scale) - ratio.log() - 1


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> tt.Tensor:
    variances = (p.scale / q.scale).square()
    return 0.5 * (variances + ((p.loc - q.loc) / q.scale).square() - 1 - variances.log())


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> tt.Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return tt.where(p.scale < q.scale, math.inf, result)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> tt.Tensor:
    result = tt.log((q.high - q.low) / (p.high - p.low))
    return tt.where((q.low > p.low) | (q.high < p.high), math.inf, result)


# --- of vectors and matrices -----------------------------------------------------------------------------------


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> tt.Tensor:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    log_norms = tt.lgamma(q.concentration) - tt.lgamma(p.concentration)
    slope = tt.digamma(p.concentration) - tt.digamma(total_p).unsqueeze(-1)
    powers = (p.concentration - q.concentration) * slope
    return tt.lgamma(total_p) - tt.lgamma(total_q) + (log_norms + powers).sum(-1)


def _expect_size(p: Distribution, q: Distribution) -> int:
    if p.event_shape != q.event_shape:
        raise tt.errors.ValueRangeError(
            f"KL-divergence between two {type(p).__name__}s with different event shapes, {tuple(p.event_shape)} and "
            f"{tuple(q.event_shape)}, cannot be computed"
        )
    return int(p.event_shape[0])


def _solved(factor: tt.Tensor, matrix: tt.Tensor) -> tt.Tensor:
    """Return the sum of squares of L^-1 M."""
    batch = tt.broadcast_shapes(tuple(factor.shape[:-2]), tuple(matrix.shape[:-2]))
    factor, matrix = (m.expand((*batch, -1, -1)) for m in (factor, matrix))
    return _squares(tt.linalg.solve_triangular(factor, matrix, upper=False))


def _squares(matrix: tt.Tensor) -> tt.Tensor:
    return matrix.square().sum(-1).sum(-1)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: MultivariateNormal, q: MultivariateNormal) -> tt.Tensor:
    n = _expect_size(p, q)
    trace = _solved(q._unbroadcasted_scale_tril, p._unbroadcasted_scale_tril)
    distance = batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    return (
        half_log_det(q._unbroadcasted_scale_tril)
        - half_log_det(p._unbroadcasted_scale_tril)
        + 0.5 * (trace + distance - n)
    )


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_to_full(p: LowRankMultivariateNormal, q: MultivariateNormal) -> tt.Tensor:
    n = _expect_size(p, q)
    factor, diag = p._given
    trace = _solved(q._unbroadcasted_scale_tril, factor) + _solved(
        q._unbroadcasted_scale_tril, diag.sqrt().diag_embed()
    )
    distance = batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    return half_log_det(q._unbroadcasted_scale_tril) + 0.5 * (trace + distance - n - p._log_det())


def _from_low_rank(q: LowRankMultivariateNormal, loc: tt.Tensor, *factors: tt.Tensor) -> tt.Tensor:
    """Return the trace of Q^-1 times the sum of all F F^T, and the distance of a mean; Q is of low rank."""
    factor, diag = q._given
    scaled = factor.mT / diag.unsqueeze(-2)
    # Woodbury: (W W^T + D)^-1 = D^-1 - P^T P with P = C^-1 W^T D^-1, where C is the factor of the
    # capacitance.
    projection = tt.linalg.solve_triangular(q._wide(scaled), scaled, upper=False)
    distance = low_rank_distance(factor, diag, q._capacitance_tril, q.loc - loc)
    for f in factors:
        distance = distance + _squares(f / diag.sqrt().unsqueeze(-1)) - _squares(projection @ f)
    return distance


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _full_to_low_rank(p: MultivariateNormal, q: LowRankMultivariateNormal) -> tt.Tensor:
    n = _expect_size(p, q)
    return 0.5 * (q._log_det() + _from_low_rank(q, p.loc, p._unbroadcasted_scale_tril) - n) - half_log_det(
        p._unbroadcasted_scale_tril
    )


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p: LowRankMultivariateNormal, q: LowRankMultivariateNormal) -> tt.Tensor:
    n = _expect_size(p, q)
    factor, diag = p._given
    both = _from_low_rank(q, p.loc, factor, diag.sqrt().diag_embed())
    return 0.5 * (q._log_det() - p._log_det() + both - n)


@register_kl(Wishart, Wishart)
def _wishart(p: Wishart, q: Wishart) -> tt.Tensor:
    size = _expect_size(p, q)
    half_p, half_q = p.df / 2, q.df / 2
    row = tt.arange(size, dtype=half_p.dtype, device=half_p.device)
    slope = tt.digamma(half_p.unsqueeze(-1) - row / 2).sum(-1)
    log_norms = tt.mvlgamma(half_q, size) - tt.mvlgamma(half_p, size)
    determinants = q.df * (
        half_log_det(q._unbroadcasted_scale_tril) - half_log_det(p._unbroadcasted_scale_tril)
    )
    trace = _solved(q._unbroadcasted_scale_tril, p._unbroadcasted_scale_tril) - size
    return determinants + half_p * trace + log_norms + (half_p - half_q) * slope
