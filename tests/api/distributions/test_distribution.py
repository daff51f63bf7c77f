"""The base class: checks of parameters and samples, expansion, subclasses; laziness; other backends; whole programs."""

from __future__ import annotations

import copy
import math
import subprocess
import sys
from typing import Any, ClassVar

import numpy as np
import pytest

import tt
from tests.api.distributions.cases import CASES, make_tt, numbers
from tt import distributions as D
from tt import nn
from tt.distributions import constraints

# --- parameters and samples ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: D.Normal(tt.zeros(2), -1.0), r"parameter scale \(Tensor of shape \(2,\)\) of distribution Normal"),
        (lambda: D.Gamma(1.0, 0.0), r"rate .* to satisfy the constraint GreaterThan\(lower_bound=0.0\)"),
        (lambda: D.Uniform(1.0, 0.0), r"parameter low .* LessThan\(upper_bound=0.0\)"),
        (lambda: D.Bernoulli(1.5), r"parameter probs .* Interval\(lower_bound=0.0, upper_bound=1.0\)"),
        (lambda: D.Bernoulli(), "Either `probs` or `logits` must be specified, but not both"),
        (lambda: D.Bernoulli(0.5, 0.0), "Either `probs` or `logits` must be specified, but not both"),
        (lambda: D.Categorical(tt.tensor(1.0)), "`probs` parameter must be at least one-dimensional"),
        (lambda: D.Categorical(logits=0.0), "`logits` parameter must be at least one-dimensional"),
        (lambda: D.Categorical(tt.tensor([-1.0, 2.0])), r"parameter probs .* Simplex\(\)"),
        (lambda: D.Dirichlet(tt.tensor(1.0)), "`concentration` parameter must be at least one-dimensional"),
        (lambda: D.Geometric(0.0), "parameter probs .* to be positive"),
        (lambda: D.LKJCholesky(1), "dim to be an integer greater than or equal to 2"),
        (lambda: D.MultivariateNormal(tt.zeros(2)), "Exactly one of covariance_matrix or precision_matrix"),
        (lambda: D.MultivariateNormal(tt.tensor(0.0), tt.eye(1)), "loc must be at least one-dimensional"),
        (lambda: D.MultivariateNormal(tt.zeros(2), tt.ones(2)), "covariance_matrix must be at least two-dimensional"),
        (lambda: D.MultivariateNormal(tt.zeros(2), -tt.eye(2)), r"covariance_matrix .* PositiveDefinite\(\)"),
        (lambda: D.LowRankMultivariateNormal(tt.zeros(2), tt.zeros(3, 1), tt.ones(2)), "cov_factor must be a batch"),
        (lambda: D.LowRankMultivariateNormal(tt.zeros(2), tt.zeros(2, 1), tt.ones(3)), "cov_diag must be a batch"),
        (lambda: D.LowRankMultivariateNormal([0.0], [1.0], [1.0]), "loc is a tensor, not list"),
        (lambda: D.Wishart(0.5, tt.eye(2)), "expected to be greater than ndim - 1"),
        (lambda: D.Independent(D.Normal(0.0, 1.0), 1), "Expected reinterpreted_batch_ndims <="),
        (lambda: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(tt.zeros(2), 1.0)), "instance of Categorical"),
        (lambda: D.MixtureSameFamily(D.Categorical(tt.ones(3)), D.Normal(tt.zeros(2), 1.0)), "3 probabilities for 2"),
        (lambda: D.MixtureSameFamily(D.Categorical(tt.ones(3)), D.Normal(0.0, 1.0)), "need a batch dimension"),
        (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), 3), "must be a Transform or a list"),
        (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform()), "at least 1 dim"),
        (lambda: D.Normal("a", 1.0), "tensors or numbers, not str"),
        (lambda: D.Normal(0.0, 1.0).log_prob(1.0), "must be a Tensor, not float"),
        (lambda: D.Normal(tt.zeros(2), 1.0).log_prob(tt.zeros(3)), r"not broadcastable .*: \(3,\) vs \(2,\)"),
        (lambda: D.Dirichlet(tt.ones(3)).log_prob(tt.ones(2) / 2), r"must match event_shape: \(2,\) vs \(3,\)"),
        (lambda: D.Distribution.set_default_validate_args(3), "takes True or False"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert isinstance(caught.value, tt.errors.TTError)


@pytest.mark.parametrize(
    "make",
    [
        lambda: D.Multinomial(tt.tensor([1, 2]), tt.ones(2)),
        lambda: D.Cauchy(0.0, 1.0).enumerate_support(),
        lambda: D.Gamma(1.0, 1.0).icdf(tt.tensor(0.5)),
        lambda: D.Poisson(1.0).rsample(),
        lambda: D.Binomial(tt.tensor([1.0, 2.0]), tt.tensor([0.5, 0.5])).entropy(),
        lambda: D.Binomial(tt.tensor([1.0, 2.0]), tt.tensor([0.5, 0.5])).enumerate_support(),
        lambda: D.Independent(D.Bernoulli(tt.ones(2) / 2), 1).enumerate_support(),
        lambda: D.Distribution(validate_args=False).mean,
    ],
)
def test_what_a_distribution_lacks_is_named(make):
    with pytest.raises(NotImplementedError, match=r"\w"):
        make()


def test_checks_can_be_switched_off():
    D.Normal(0.0, -1.0, validate_args=False).log_prob(tt.tensor(math.nan))
    D.Distribution.set_default_validate_args(False)
    try:
        D.Normal(0.0, -1.0)
        with pytest.raises(ValueError, match="scale"):
            D.Normal(0.0, -1.0, validate_args=True)
    finally:
        D.Distribution.set_default_validate_args(True)


def test_values_that_cannot_be_seen_are_not_checked():
    inside = tt.func.vmap(lambda loc, x: D.Normal(loc, 1.0).log_prob(x))(tt.zeros(3), tt.ones(3))
    np.testing.assert_allclose(numbers(inside), numbers(D.Normal(0.0, 1.0).log_prob(tt.ones(3))))
    for d in (
        D.Normal(tt.zeros(2, device="meta"), 1.0),
        D.Gamma(tt.zeros(2, device="meta"), 1.0),
        D.MultivariateNormal(tt.zeros(2, device="meta"), tt.zeros(2, 2, device="meta")),
    ):
        assert d.rsample((3,)).shape == (3, 2) and d.rsample().device.type == "meta"


def test_temperatures_may_be_numbers():
    for d in (D.RelaxedBernoulli(0.5, 0.3), D.RelaxedOneHotCategorical(0.5, tt.ones(3))):
        assert bool(tt.isfinite(d.log_prob(d.sample((4,)))).all())


def test_the_shape_of_samples_is_a_tuple():
    with pytest.raises(TypeError, match=r"sample_shape is a tuple, as in sample\(\(3,\)\), not int"):
        D.Normal(0.0, 1.0).sample(3)


def test_checks_of_cdf_values():
    with pytest.raises(ValueError, match="support"):
        D.Exponential(1.0).cdf(tt.tensor(-1.0))


def test_a_distribution_without_constraints_or_support_warns():
    class Bare(D.Distribution):
        def log_prob(self, value: Any) -> Any:
            self._validate_sample(value)
            return value

    with pytest.warns(UserWarning, match="arg_constraints"):
        bare = Bare()
    with pytest.warns(UserWarning, match="support"):
        bare.log_prob(tt.tensor(1.0))
    with pytest.raises(NotImplementedError, match="Bare does not implement expand"):
        bare.expand((2,))
    with pytest.warns(FutureWarning, match="sample_n"):
        D.Normal(0.0, 1.0).sample_n(2)


def test_a_subclass_with_an_init_of_its_own_must_expand_itself():
    class Unit(D.Normal):
        def __init__(self) -> None:
            super().__init__(0.0, 1.0)

    class Plain(D.Normal):
        pass

    assert type(Plain(0.0, 1.0).expand((2,))) is Plain
    with pytest.raises(NotImplementedError, match="Unit has an __init__ that Normal does not know"):
        Unit().expand((2,))
    with pytest.raises(NotImplementedError):
        type("Own", (D.LogNormal,), {"__init__": Unit.__init__})._get_checked_instance(Unit(), D.Normal)


def test_numbers_and_tensors_broadcast_and_keep_dtype_and_device():
    d = D.Normal(tt.zeros(3, 1, dtype=tt.float64), tt.ones(2, dtype=tt.float64))
    assert d.batch_shape == (3, 2) and d.sample().dtype is tt.float64
    assert D.Normal(tt.zeros(2, dtype=tt.float64), 2.0).scale.dtype is tt.float64
    assert D.Normal(0, 1).loc.dtype is tt.get_default_dtype()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_copies_sample_alike(case):
    d = make_tt(case)[0]
    tt.manual_seed(3)
    first = d.sample((2,))
    tt.manual_seed(3)
    np.testing.assert_array_equal(numbers(copy.deepcopy(d).sample((2,))), numbers(first))


def test_single_precision_samples_have_finite_densities():
    tt.manual_seed(0)
    for d in (
        D.Gamma(0.01, 1.0), D.Beta(0.01, 0.01), D.Dirichlet(tt.full((3,), 0.01)), D.Laplace(0.0, 1.0),
        D.Gumbel(0.0, 1.0), D.Exponential(1.0), D.Chi2(0.02), D.ContinuousBernoulli(0.999), D.Cauchy(0.0, 1.0),
        D.RelaxedBernoulli(tt.tensor(0.5), 0.5),
    ):  # fmt: skip
        x = d.sample((20_000,))
        assert x.dtype is tt.float32
        assert bool(tt.isfinite(d.log_prob(x)).all()), d


def test_importing_tt_does_not_load_distributions():
    code = (
        "import sys, tt; assert 'tt.distributions' not in sys.modules; tt.distributions.Normal; print('late')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "late"


# --- programs --------------------------------------------------------------------------------------------------


def test_reinforce_learns_the_better_arm():
    tt.manual_seed(0)
    logits = tt.zeros(3, requires_grad=True)
    optimizer = tt.optim.Adam([logits], lr=0.2)
    rewards = tt.tensor([0.1, 0.9, 0.3])
    for _ in range(60):
        policy = D.Categorical(logits=logits)
        actions = policy.sample((16,))
        reward = D.Bernoulli(rewards[actions]).sample()
        loss = -(policy.log_prob(actions) * (reward - reward.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert int(D.Categorical(logits=logits).mode) == 1
    assert D.Categorical(logits=logits).probs[1].item() > 0.8


def test_a_variational_autoencoder_learns():
    tt.manual_seed(0)
    angles = D.Uniform(0.0, 2 * math.pi).sample((256,))
    data = tt.stack([angles.cos(), angles.sin(), angles.cos() * 0.5], -1)

    class Vae(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 4))
            self.decoder = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 3))

        def forward(self, x: Any) -> Any:
            mean, width = self.encoder(x).chunk(2, -1)
            posterior = D.Independent(D.Normal(mean, nn.functional.softplus(width) + 1e-3), 1)
            prior = D.Independent(D.Normal(tt.zeros(2), tt.ones(2)), 1)
            likelihood = D.Independent(D.Normal(self.decoder(posterior.rsample()), 0.3), 1)
            return likelihood.log_prob(x) - D.kl_divergence(posterior, prior)

    model = Vae()
    optimizer = tt.optim.Adam(model.parameters(), lr=0.02)
    bounds = []
    for _ in range(80):
        bound = model(data).mean()
        optimizer.zero_grad()
        (-bound).backward()
        optimizer.step()
        bounds.append(bound.item())
    assert np.mean(bounds[-10:]) > np.mean(bounds[:3]) + 1.0


def test_parameters_of_gamma_are_found_by_maximum_likelihood():
    tt.manual_seed(0)
    data = D.Gamma(3.0, 2.0).sample((2_000,))
    free = tt.zeros(2, requires_grad=True)
    to_positive = D.transform_to(constraints.positive)
    optimizer = tt.optim.LBFGS([free], max_iter=50, line_search_fn="strong_wolfe")

    def closure() -> Any:
        optimizer.zero_grad()
        loss = -D.Gamma(*to_positive(free)).log_prob(data).mean()
        loss.backward()
        return loss

    optimizer.step(closure)
    np.testing.assert_allclose(numbers(to_positive(free)), [3.0, 2.0], rtol=0.1)


# --- subclasses with other bases, or with attributes of PyTorch's ---

LIBRARIES = ["tt", pytest.param("torch", marks=pytest.mark.torch)]


def _library(name):
    return tt if name == "tt" else pytest.importorskip("torch")


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("first", [True, False])
def test_a_distribution_or_a_transform_may_be_a_module_too(library, first):
    module = _library(library)
    for base in (module.distributions.Distribution, module.distributions.Transform):

        class Mixed(*((base, module.nn.Module) if first else (module.nn.Module, base))):
            arg_constraints: ClassVar[Any] = {}

            def __init__(self, base=base):
                base.__init__(self)
                if not first:  # a base that ends the chain cannot have initialised the module
                    module.nn.Module.__init__(self)
                self.weight = module.nn.Parameter(module.ones(2))

        assert list(Mixed().state_dict()) == ["weight"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_subclass_may_compute_the_factors_of_its_covariance(library):
    module = _library(library)
    d, eye, zeros = module.distributions, module.eye(2), module.zeros(2)

    def computed(value):
        return property(lambda self: value, lambda self, other: None)

    class Normal(d.MultivariateNormal):
        _unbroadcasted_scale_tril = computed(2 * eye)

    class Wishart(d.Wishart):
        _unbroadcasted_scale_tril = computed(2 * eye)

    class LowRank(d.LowRankMultivariateNormal):
        _unbroadcasted_cov_factor = computed(module.zeros(2, 1))
        _unbroadcasted_cov_diag = computed(module.full((2,), 4.0))

    def close(a, b):
        assert module.allclose(a, b, atol=1e-5)

    for changed in (Normal(zeros, scale_tril=eye), LowRank(zeros, module.ones(2, 1), module.ones(2))):
        plain = d.MultivariateNormal(zeros, 4 * eye)
        close(changed.covariance_matrix, plain.covariance_matrix)
        close(changed.precision_matrix, plain.precision_matrix)
        close(changed.variance, plain.variance)
    close(Normal(zeros, eye).log_prob(zeros + 1), plain.log_prob(zeros + 1))
    close(Normal(zeros, eye).entropy(), plain.entropy())
    close(d.kl_divergence(Normal(zeros, eye), plain), module.tensor(0.0))
    three = module.tensor(3.0)
    close(Wishart(three, eye).log_prob(eye), d.Wishart(three, 4 * eye).log_prob(eye))
    close(Wishart(three, scale_tril=eye).covariance_matrix, 4 * eye)
