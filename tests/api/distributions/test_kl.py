"""Divergences: every pair of PyTorch's against PyTorch and against integrals, the registry, and refusals."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any, ClassVar

import numpy as np
import pytest

import tt
from tests.api.distributions.cases import CASES, make_torch, make_tt, numbers
from tt import distributions as D
from tt.distributions import Distribution, kl_divergence, register_kl

# --- against PyTorch -------------------------------------------------------------------------------------------


def first_cases() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for case in CASES:
        if not any(
            isinstance(value, float) for value in case.parameters.values()
        ):  # these are of single precision
            found.setdefault(case.name, []).append(case)
    return found


def pairs_of_torch() -> list[tuple[str, str]]:
    torch_kl = pytest.importorskip("torch.distributions.kl")
    return sorted((p.__name__, q.__name__) for p, q in torch_kl._KL_REGISTRY)


@pytest.mark.torch
def test_every_pair_of_pytorch_has_a_formula():
    for name_p, name_q in pairs_of_torch():
        assert tt.distributions.kl._formula_for(getattr(D, name_p), getattr(D, name_q)) is not None, (
            name_p,
            name_q,
        )


@pytest.mark.torch
@pytest.mark.sampled(6)
@pytest.mark.parametrize("part", range(6))
def test_pairs_agree_with_pytorch_in_values_and_gradients(part):
    torch = pytest.importorskip("torch")
    cases, compared = first_cases(), 0
    for name_p, name_q in pairs_of_torch()[part::6]:
        for case_p, case_q in itertools.product(cases.get(name_p, ())[:2], cases.get(name_q, ())[:2]):
            leaves: list[tuple[Any, Any]] = []
            made = []
            for case in (case_p, case_q):
                (mine, tensors), (other, others) = (
                    make_tt(case, gradients=True),
                    make_torch(case, gradients=True),
                )
                made.append((mine, other))
                leaves += zip(tensors, others, strict=True)
            (found_p, expected_p), (found_q, expected_q) = made
            try:
                expected = torch.distributions.kl_divergence(expected_p, expected_q)
            except (NotImplementedError, RuntimeError, ValueError):
                continue
            where = f"{case_p!r} {case_q!r}"
            found = kl_divergence(found_p, found_q)
            np.testing.assert_allclose(
                numbers(found), numbers(expected), rtol=1e-8, atol=1e-10, equal_nan=True, err_msg=where
            )
            compared += 1
            if not expected.requires_grad or not bool(torch.isfinite(expected).all()):
                continue
            found.sum().backward()
            expected.sum().backward()
            for mine, other in leaves:
                if other.grad is not None and mine.grad is not None:
                    np.testing.assert_allclose(
                        numbers(mine.grad), numbers(other.grad), rtol=1e-6, atol=1e-8, err_msg=where
                    )
    assert compared > 10


# --- without PyTorch -------------------------------------------------------------------------------------------

POINTS = np.linspace(0.0, 1.0, 400_001)[1:-1]


def of_quantiles(p: Any, q: Any) -> float:
    """Return the mean of log p - log q over the quantiles of p."""
    x = p.icdf(tt.tensor(POINTS))
    difference = p.log_prob(x) - q.log_prob(x)
    return float(difference.mean())


def d(name: str, *parameters: float) -> Any:
    """Return a distribution of double precision."""
    return getattr(D, name)(*(tt.tensor(p, dtype=tt.float64) for p in parameters))


PAIRS = [
    (d("Normal", 0.3, 1.2), d("Normal", -1.0, 0.8)),
    (d("Normal", 0.3, 1.2), d("Laplace", 0.5, 2.0)),
    (d("Normal", 0.3, 0.5), d("Gumbel", 0.5, 1.5)),
    (d("Laplace", 0.3, 0.7), d("Laplace", 1.0, 2.0)),
    (d("Laplace", 0.3, 0.7), d("Normal", 1.0, 2.0)),
    (d("Exponential", 2.0), d("Gamma", 1.5, 0.7)),
    (d("Exponential", 2.0), d("Gumbel", 0.2, 1.3)),
    (d("Exponential", 2.0), d("Normal", 0.2, 1.3)),
    (d("Gumbel", 0.2, 0.8), d("Gumbel", 0.5, 1.5)),
    (d("Uniform", 0.1, 0.7), d("Beta", 2.0, 3.0)),
    (d("Uniform", 0.1, 0.7), d("ContinuousBernoulli", 0.3)),
    (d("Uniform", 0.1, 0.7), d("Gamma", 2.0, 3.0)),
    (d("Uniform", 0.1, 0.7), d("Gumbel", 0.2, 1.3)),
    (d("Uniform", 1.5, 2.5), d("Pareto", 1.0, 3.0)),
    (d("Uniform", 0.1, 0.7), d("Exponential", 2.0)),
    (d("ContinuousBernoulli", 0.8), d("Normal", 0.2, 1.3)),
    (d("ContinuousBernoulli", 0.8), d("Exponential", 0.7)),
    (d("Cauchy", 0.0, 1.0), d("Cauchy", 0.5, 1.5)),
]


@pytest.mark.parametrize(("p", "q"), PAIRS, ids=lambda d: type(d).__name__)
def test_a_divergence_is_the_mean_of_the_difference_of_log_probabilities(p, q):
    assert float(kl_divergence(p, q)) == pytest.approx(of_quantiles(p, q), rel=2e-3, abs=1e-4)


def test_the_divergence_of_wishart_distributions_is_right():
    p, q = D.Wishart(5.0, tt.eye(2).double()), D.Wishart(7.0, tt.tensor([[1.0, 0.2], [0.2, 0.5]]).double())
    tt.manual_seed(1)
    x = p.sample((40_000,))
    expected = float((p.log_prob(x) - q.log_prob(x)).mean())
    assert float(kl_divergence(p, q)) == pytest.approx(expected, rel=0.03)


def test_exponential_families_of_one_class_need_no_formula():
    family = tt.distributions.kl._KL_REGISTRY[D.ExponentialFamily, D.ExponentialFamily]
    for p, q in ((D.Gamma(2.0, 1.0), D.Gamma(1.0, 3.0)), (D.Beta(2.0, 1.0), D.Beta(1.0, 3.0)),
                 (D.Bernoulli(0.3), D.Bernoulli(0.6)), (D.Normal(0.0, 1.0), D.Normal(1.0, 2.0))):  # fmt: skip
        assert float(family(p, q)) == pytest.approx(float(kl_divergence(p, q)), rel=1e-5)
        assert not family(p, q).requires_grad
    a, b = (tt.tensor([2.0, 1.0], dtype=tt.float64, requires_grad=True) for _ in range(2))
    by_family = D.ExponentialFamily.entropy(D.Gamma(a[0], a[1])) + family(
        D.Gamma(a[0], a[1]), D.Gamma(2.5, 0.5)
    )
    closed = D.Gamma(b[0], b[1])
    exact = closed.entropy() + kl_divergence(closed, D.Gamma(2.5, 0.5))
    assert float(by_family.detach()) == pytest.approx(float(exact.detach()))
    by_family.backward()
    exact.backward()
    np.testing.assert_allclose(numbers(a.grad), numbers(b.grad), rtol=1e-7)


def test_what_q_never_gives_is_infinitely_far():
    for p, q in (
        (D.Normal(0.0, 1.0), D.Exponential(1.0)),
        (D.Uniform(-1.0, 1.0), D.Gamma(1.0, 1.0)),
        (D.Uniform(0.0, 2.0), D.Uniform(0.0, 1.0)),
        (D.Categorical(tt.tensor([0.5, 0.5])), D.Categorical(tt.tensor([1.0, 0.0]))),
        (D.Poisson(1.0), D.Bernoulli(0.5)),
        (D.Pareto(1.0, 0.5), D.Exponential(1.0)),
    ):
        assert float(kl_divergence(p, q)) == math.inf


def test_pairs_without_a_formula_are_refused():
    with pytest.raises(NotImplementedError, match="p type Normal and q type Cauchy"):
        kl_divergence(D.Normal(0.0, 1.0), D.Cauchy(0.0, 1.0))
    with pytest.raises(NotImplementedError):
        kl_divergence(D.Gamma(1.0, 1.0), D.Dirichlet(tt.ones(2)))
    with pytest.raises(NotImplementedError, match="same transforms"):
        kl_divergence(D.LogNormal(0.0, 1.0), D.LogisticNormal(0.0, 1.0))
    with pytest.raises(ValueError, match="different event shapes"):
        kl_divergence(
            D.MultivariateNormal(tt.zeros(2), tt.eye(2)), D.MultivariateNormal(tt.zeros(3), tt.eye(3))
        )
    with pytest.raises(TypeError, match="two classes"):
        register_kl(D.Normal(0.0, 1.0), D.Normal)


def test_a_formula_may_be_registered_for_any_class():
    class Mixin:
        pass

    class Mixed(Mixin, D.Normal):
        pass

    register_kl(Mixin, D.Gamma)(lambda p, q: "mixin")
    assert kl_divergence(Mixed(0.0, 1.0), D.Gamma(1.0, 1.0)) == "mixin"


def test_the_closest_registered_classes_are_taken():
    class Base(Distribution):
        arg_constraints: ClassVar[Any] = {}

    class Derived(Base):
        pass

    register_kl(Base, Base)(lambda p, q: "base, base")
    assert kl_divergence(Derived(), Derived()) == "base, base"
    register_kl(Base, Derived)(lambda p, q: "base, derived")
    assert kl_divergence(Derived(), Derived()) == "base, derived"
    register_kl(Derived, Base)(lambda p, q: "derived, base")
    with pytest.warns(RuntimeWarning, match="Ambiguous kl_divergence"):
        assert kl_divergence(Derived(), Derived()) == "derived, base"
    register_kl(Derived, Derived)(lambda p, q: "derived, derived")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kl_divergence(Derived(), Derived()) == "derived, derived"
