"""Densities, distribution functions, moments and entropies against SciPy's, and samples against them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import tt
from tests.api.distributions.cases import C, numbers
from tt import distributions as D

COUNT = 10_000
LEAST = 1e-4
"""The least probability of a statistic; seeds are fixed, so a test does not fail by chance."""


def of(name: str, *parameters: float, **others: float) -> Any:
    """Return a distribution of double precision."""
    return getattr(D, name)(
        *(tt.tensor(p, dtype=tt.float64) for p in parameters),
        **{k: tt.tensor(p, dtype=tt.float64) for k, p in others.items()},
    )


CONTINUOUS = [
    (of("Beta", 0.7, 2.3), stats.beta(0.7, 2.3)),
    (of("Beta", 5.0, 1.0), stats.beta(5.0, 1.0)),
    (of("Cauchy", 0.5, 2.0), stats.cauchy(0.5, 2.0)),
    (of("Chi2", 3.5), stats.chi2(3.5)),
    (of("Exponential", 2.5), stats.expon(scale=0.4)),
    (of("FisherSnedecor", 5.0, 9.0), stats.f(5, 9)),
    (of("Gamma", 0.3, 2.0), stats.gamma(0.3, scale=0.5)),
    (of("Gamma", 1.0, 2.0), stats.gamma(1.0, scale=0.5)),
    (of("Gamma", 7.5, 0.2), stats.gamma(7.5, scale=5.0)),
    (of("GeneralizedPareto", 1.0, 2.0, 0.3), stats.genpareto(0.3, 1.0, 2.0)),
    (of("GeneralizedPareto", 1.0, 2.0, 0.0), stats.genpareto(0.0, 1.0, 2.0)),
    (of("GeneralizedPareto", 1.0, 2.0, -0.4), stats.genpareto(-0.4, 1.0, 2.0)),
    (of("Gumbel", 0.5, 2.0), stats.gumbel_r(0.5, 2.0)),
    (of("HalfCauchy", 2.0), stats.halfcauchy(scale=2.0)),
    (of("HalfNormal", 2.0), stats.halfnorm(scale=2.0)),
    (of("InverseGamma", 3.5, 2.0), stats.invgamma(3.5, scale=2.0)),
    (of("Laplace", 0.5, 2.0), stats.laplace(0.5, 2.0)),
    (of("LogNormal", 0.5, 0.8), stats.lognorm(0.8, scale=math.exp(0.5))),
    (of("Normal", 0.5, 2.0), stats.norm(0.5, 2.0)),
    (of("Pareto", 1.5, 3.5), stats.pareto(3.5, scale=1.5)),
    (of("StudentT", 4.5, 0.5, 2.0), stats.t(4.5, 0.5, 2.0)),
    (of("Uniform", -1.0, 3.0), stats.uniform(-1.0, 4.0)),
    (of("VonMises", 0.5, 2.0), stats.vonmises(2.0, 0.5)),
    (of("VonMises", 0.0, 1e-3), stats.vonmises(1e-3, 0.0)),
    (of("VonMises", 0.0, 300.0), stats.vonmises(300.0, 0.0)),
    (of("Weibull", 2.0, 1.7), stats.weibull_min(1.7, scale=2.0)),
]
DISCRETE = [
    (of("Bernoulli", 0.3), stats.bernoulli(0.3)),
    (of("Binomial", 12.0, 0.3), stats.binom(12, 0.3)),
    (of("Categorical", [0.2, 0.5, 0.3]), stats.rv_discrete(values=([0, 1, 2], [0.2, 0.5, 0.3]))),
    (of("Geometric", 0.3), stats.geom(0.3, loc=-1)),
    (of("NegativeBinomial", 3.5, 0.4), stats.nbinom(3.5, 0.6)),
    (of("Poisson", 4.5), stats.poisson(4.5)),
    (of("Poisson", 0.2), stats.poisson(0.2)),
]


def _each(pairs):
    """Give a test a distribution and SciPy's; what SciPy's prints differs from one process to the next."""
    return pytest.mark.parametrize(("d", "reference"), pairs, ids=[repr(d) for d, _ in pairs])


names, continuous, discrete = _each([*CONTINUOUS, *DISCRETE]), _each(CONTINUOUS), _each(DISCRETE)


def implemented(d: Any, name: str) -> bool:
    return getattr(type(d), name) is not getattr(D.Distribution, name)


@continuous
def test_densities_functions_and_quantiles_agree_with_scipy(d, reference):
    x = reference.ppf(np.linspace(0.01, 0.99, 23))
    np.testing.assert_allclose(numbers(d.log_prob(tt.tensor(x))), reference.logpdf(x), rtol=1e-9, atol=1e-10)
    if implemented(d, "cdf") and not isinstance(d, D.InverseGamma):
        np.testing.assert_allclose(numbers(d.cdf(tt.tensor(x))), reference.cdf(x), rtol=1e-8, atol=1e-10)
    levels = np.linspace(0.01, 0.99, 23)
    if implemented(d, "icdf") and not isinstance(d, D.InverseGamma):
        np.testing.assert_allclose(
            numbers(d.icdf(tt.tensor(levels))), reference.ppf(levels), rtol=1e-8, atol=1e-9
        )


@discrete
def test_probabilities_agree_with_scipy(d, reference):
    k = np.arange(2.0 if isinstance(d, D.Bernoulli) else 3.0)
    np.testing.assert_allclose(numbers(d.log_prob(tt.tensor(k))), reference.logpmf(k), rtol=1e-9)


@names
def test_moments_and_entropies_agree_with_scipy(d, reference):
    if isinstance(d, (D.Categorical, D.VonMises)):
        return  # without moments, and with moments on the circle
    mean, variance = reference.stats("mv")
    for ours, theirs in ((d.mean, mean), (d.variance, variance)):
        if np.isfinite(theirs):
            np.testing.assert_allclose(numbers(ours), theirs, rtol=1e-9)
    if implemented(d, "entropy") and not isinstance(d, D.Poisson):  # which has none in closed form
        np.testing.assert_allclose(numbers(d.entropy()), reference.entropy(), rtol=1e-6)


@continuous
def test_samples_have_the_distribution_of_scipy(d, reference):
    tt.manual_seed(5)
    assert stats.kstest(numbers(d.sample((COUNT,))), reference.cdf).pvalue > LEAST


@discrete
def test_counts_have_the_probabilities_of_scipy(d, reference):
    tt.manual_seed(5)
    samples = numbers(d.sample((COUNT,))).astype(int)
    last = int(reference.ppf(1 - 20 / COUNT))
    observed = np.bincount(np.minimum(samples, last + 1), minlength=last + 2)
    expected = COUNT * np.append(reference.pmf(np.arange(last + 1)), reference.sf(last))
    kept = expected > 0
    assert (
        stats.chisquare(observed[kept], expected[kept] * observed.sum() / expected[kept].sum()).pvalue > LEAST
    )


def test_the_mode_of_kumaraswamy_has_the_largest_density():
    d = of("Kumaraswamy", 2.0, 5.0)
    x = tt.linspace(0.001, 0.999, 9_981, dtype=tt.float64)
    assert float(d.mode) == pytest.approx(float(x[d.log_prob(x).argmax()]), abs=1e-4)


# --- vectors ---------------------------------------------------------------------------------------------------


def test_vectors_agree_with_scipy():
    x = np.random.default_rng(0).normal(size=(5, 3))
    mean, covariance = np.array([0.1, -0.4, 1.0]), np.array(C)
    reference = stats.multivariate_normal(mean, covariance)
    d = of("MultivariateNormal", mean, covariance)
    np.testing.assert_allclose(numbers(d.log_prob(tt.tensor(x))), reference.logpdf(x), rtol=1e-10)
    assert float(d.entropy()) == pytest.approx(reference.entropy())
    low = of("LowRankMultivariateNormal", mean, [[1.0], [0.3], [-0.5]], [0.5, 1.0, 2.0])
    full = stats.multivariate_normal(mean, numbers(low.covariance_matrix))
    np.testing.assert_allclose(numbers(low.log_prob(tt.tensor(x))), full.logpdf(x), rtol=1e-10)
    np.testing.assert_allclose(numbers(low.precision_matrix @ low.covariance_matrix), np.eye(3), atol=1e-12)
    np.testing.assert_allclose(
        numbers(low.scale_tril @ low.scale_tril.mT), numbers(low.covariance_matrix), atol=1e-12
    )
    p = np.random.default_rng(1).dirichlet([2.0, 3.0, 4.0], 5)
    np.testing.assert_allclose(
        numbers(of("Dirichlet", [2.0, 3.0, 4.0]).log_prob(tt.tensor(p))),
        [stats.dirichlet([2, 3, 4]).logpdf(row) for row in p],
    )
    counts = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 6.0]])
    np.testing.assert_allclose(
        numbers(D.Multinomial(6, tt.tensor([0.2, 0.3, 0.5], dtype=tt.float64)).log_prob(tt.tensor(counts))),
        stats.multinomial(6, [0.2, 0.3, 0.5]).logpmf(counts),
    )
    wishart = of("Wishart", 4.5, covariance)
    np.testing.assert_allclose(
        numbers(wishart.log_prob(tt.tensor(covariance * 2))),
        stats.wishart(4.5, covariance).logpdf(covariance * 2),
    )
    assert float(wishart.entropy()) == pytest.approx(stats.wishart(4.5, covariance).entropy())


@pytest.mark.parametrize(
    "d",
    [
        of("MultivariateNormal", [0.1, -0.4, 1.0], C),
        of("MultivariateNormal", [0.1, -0.4, 1.0], precision_matrix=C),
        of("LowRankMultivariateNormal", [0.1, -0.4, 1.0], [[1.0], [0.3], [-0.5]], [0.5, 1.0, 2.0]),
    ],
    ids=["covariance", "precision", "low rank"],
)
def test_normal_vectors_have_the_mean_and_covariance(d):
    tt.manual_seed(3)
    x = numbers(d.sample((COUNT,)))
    whitened = np.linalg.solve(numbers(d.scale_tril), (x - numbers(d.mean)).T)
    assert all(stats.kstest(row, stats.norm.cdf).pvalue > LEAST for row in whitened)
    assert np.abs(np.cov(whitened) - np.eye(3)).max() < 0.05


@pytest.mark.parametrize(
    "d",
    [
        of("Dirichlet", [0.4, 1.0, 6.0]),
        of("OneHotCategorical", [0.2, 0.3, 0.5]),
        D.Multinomial(6, tt.tensor([0.2, 0.3, 0.5], dtype=tt.float64)),
        of("Wishart", 4.5, C),
        D.MixtureSameFamily(
            of("Categorical", [0.2, 0.3, 0.5]), of("Normal", [-3.0, 0.0, 5.0], [1.0, 0.5, 2.0])
        ),
    ],
    ids=lambda d: type(d).__name__,
)
def test_means_and_variances_of_samples_are_those_of_the_distribution(d):
    tt.manual_seed(4)
    x = numbers(d.sample((COUNT,)))
    mean, variance = numbers(d.mean), numbers(d.variance)
    assert (np.abs(x.mean(0) - mean) < 4.5 * np.sqrt(variance / COUNT)).all()
    np.testing.assert_allclose(x.var(0), variance, rtol=0.15)


def test_correlations_of_lkj_have_their_beta_distribution():
    tt.manual_seed(2)
    d = D.LKJCholesky(3, tt.tensor(1.5, dtype=tt.float64))
    factor = d.sample((COUNT,))
    matrix = numbers(factor @ factor.mT)
    marginal = stats.beta(1.5 - 1 + 1.5, 1.5 - 1 + 1.5)  # concentration - 1 + dim / 2, of (r + 1) / 2
    for i, j in ((1, 0), (2, 0), (2, 1)):
        assert stats.kstest((matrix[:, i, j] + 1) / 2, marginal.cdf).pvalue > LEAST


def test_relaxed_samples_fall_on_the_side_of_the_outcome_with_its_probability():
    tt.manual_seed(1)
    coins = D.RelaxedBernoulli(tt.tensor(0.3), tt.tensor(0.2)).sample((COUNT,))
    assert float((coins > 0.5).float().mean()) == pytest.approx(0.2, abs=0.02)
    choices = D.RelaxedOneHotCategorical(tt.tensor(0.3), tt.tensor([0.2, 0.3, 0.5])).sample((COUNT,))
    assert np.abs(np.bincount(numbers(choices.argmax(-1))) / COUNT - [0.2, 0.3, 0.5]).max() < 0.02


# --- gradients of samples --------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.02, 0.3, 1.0, 4.0, 50.0, 1e4])
def test_gamma_numbers_change_with_their_concentration_as_quantiles_do(alpha):
    levels = np.array([0.001, 0.1, 0.5, 0.9, 0.999])
    x = stats.gamma(alpha).ppf(levels)
    usual = x > 1e-250
    h = 1e-5 * alpha
    slope = (stats.gamma(alpha + h).ppf(levels) - stats.gamma(alpha - h).ppf(levels)) / (2 * h)
    found = tt._standard_gamma_grad(tt.full((5,), alpha, dtype=tt.float64), tt.tensor(x))
    np.testing.assert_allclose(numbers(found)[usual], slope[usual], rtol=2e-6)


@pytest.mark.parametrize("ab", [(0.1, 0.3), (0.7, 4.0), (4.0, 0.7), (1.0, 1.0), (30.0, 8.0), (2e3, 5e3)])
def test_beta_numbers_change_with_their_concentration_as_quantiles_do(ab):
    a, b = ab
    levels = np.array([0.01, 0.1, 0.5, 0.9, 0.99])
    x = stats.beta(a, b).ppf(levels)
    h = 1e-5 * a
    slope = (stats.beta(a + h, b).ppf(levels) - stats.beta(a - h, b).ppf(levels)) / (2 * h)
    alpha = tt.full((5,), a, dtype=tt.float64)
    found = numbers(tt._dirichlet_grad(tt.tensor(x), alpha, alpha + b)) * (1 - x)
    np.testing.assert_allclose(found, slope, rtol=1e-5, atol=1e-14)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "make",
    [
        lambda p: D.Gamma(p, 2.0), lambda p: D.Beta(p, 2.0), lambda p: D.StudentT(p + 5),
        lambda p: D.InverseGamma(p + 3, 2.0), lambda p: D.Chi2(p), lambda p: D.FisherSnedecor(3.0, p + 11),
        lambda p: D.Weibull(2.0, p), lambda p: D.Kumaraswamy(p, 2.0), lambda p: D.Laplace(1.0, p),
        lambda p: D.ContinuousBernoulli(p / 2), lambda p: D.GeneralizedPareto(0.0, 1.0, p / 8),
    ],
)  # fmt: skip
def test_the_gradient_of_the_mean_square_of_samples_is_that_of_the_moments(make):
    tt.manual_seed(0)
    parameter = tt.tensor(1.5, dtype=tt.float64, requires_grad=True)
    d = make(parameter)
    d.rsample((60_000,)).square().mean().backward()
    by_samples = float(parameter.grad)
    parameter.grad = None
    d = make(parameter)
    (d.mean.square() + d.variance).backward()
    assert by_samples == pytest.approx(float(parameter.grad), rel=0.12, abs=0.03)


def test_second_derivatives_of_gamma_numbers_agree_with_differences():
    a = tt.tensor([0.4, 1.7, 9.0], dtype=tt.float64, requires_grad=True)
    z = tt.tensor([0.2, 2.5, 6.0], dtype=tt.float64, requires_grad=True)
    assert tt.autograd.gradcheck(tt._standard_gamma_grad, (a, z))
    x = tt.tensor([0.2, 0.5, 0.9], dtype=tt.float64, requires_grad=True)
    assert tt.autograd.gradcheck(tt._dirichlet_grad, (x, a, (a + 1.5).detach().requires_grad_()))
