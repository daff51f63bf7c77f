"""Parameters of every distribution, for tt and for PyTorch alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

import tt

A: Final = [[0.3, 1.7, 4.2], [2.6, 0.8, 1.1]]
"""Positive numbers."""
B: Final = [[1.4, 0.6, 2.3], [3.1, 0.9, 5.2]]
R: Final = [[-1.2, 0.4, 2.0], [0.1, -0.7, 3.3]]
"""Real numbers."""
P: Final = [[0.2, 0.5, 0.9], [0.35, 0.62, 0.08]]
"""Probabilities."""
S: Final = [[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]
"""Rows of probabilities."""
C: Final = [[2.0, 0.5, 0.3], [0.5, 1.5, -0.2], [0.3, -0.2, 1.1]]
"""A positive definite matrix."""
L: Final = [[1.2, 0.0, 0.0], [0.4, 0.9, 0.0], [-0.3, 0.2, 1.5]]
"""Its Cholesky factor, or that of another one."""
W: Final = [[1.0, 0.2], [-0.4, 0.7], [0.3, 0.5]]
BATCH_OF_C: Final = [C, [[1.0, 0.0, 0.1], [0.0, 2.0, 0.3], [0.1, 0.3, 3.0]]]


class Case(NamedTuple):
    """A distribution: its name, and its parameters as numbers, lists or functions of a library."""

    name: str
    parameters: dict[str, Any]

    def __repr__(self) -> str:
        return f"{self.name}-{'-'.join(self.parameters)}"


class Made(NamedTuple):
    """A parameter that is a distribution: a function of the module of distributions and of one that makes tensors."""

    function: Callable[[Any, Callable[[Any], Any]], Any]


def case(name: str, **parameters: Any) -> Case:
    return Case(name, parameters)


CASES: Final = [
    case("Bernoulli", probs=P),
    case("Bernoulli", logits=R),
    case("Beta", concentration1=A, concentration0=B),
    case("Binomial", total_count=7, probs=P),
    case("Binomial", total_count=[3.0, 5.0, 8.0], logits=R),
    case("Categorical", probs=A),
    case("Categorical", logits=R),
    case("Cauchy", loc=R, scale=A),
    case("Chi2", df=A),
    case("ContinuousBernoulli", probs=P),
    case("ContinuousBernoulli", logits=R),
    case("Dirichlet", concentration=A),
    case("Exponential", rate=A),
    case("FisherSnedecor", df1=A, df2=[[3.0, 4.5, 9.0], [1.0, 2.5, 6.0]]),
    case("Gamma", concentration=A, rate=B),
    case("GeneralizedPareto", loc=R, scale=A, concentration=[[0.2, 0.0, -0.3], [0.7, 1.2, -0.8]]),
    case("Geometric", probs=P),
    case("Geometric", logits=R),
    case("Gumbel", loc=R, scale=A),
    case("HalfCauchy", scale=A),
    case("HalfNormal", scale=A),
    case(
        "Independent", base_distribution=Made(lambda d, t: d.Normal(t(R), t(A))), reinterpreted_batch_ndims=1
    ),
    case("InverseGamma", concentration=A, rate=B),
    case("Kumaraswamy", concentration1=A, concentration0=B),
    case("LKJCholesky", dim=3, concentration=[0.5, 1.0, 2.5]),
    case("Laplace", loc=R, scale=A),
    case("LogNormal", loc=R, scale=P),
    case("LogisticNormal", loc=R, scale=A),
    case("LowRankMultivariateNormal", loc=R, cov_factor=W, cov_diag=A),
    case(
        "MixtureSameFamily",
        mixture_distribution=Made(lambda d, t: d.Categorical(t(S))),
        component_distribution=Made(lambda d, t: d.Normal(t(R), t(A))),
    ),
    case(
        "MixtureSameFamily",
        mixture_distribution=Made(lambda d, t: d.Categorical(t(S[0]))),
        component_distribution=Made(
            lambda d, t: d.MultivariateNormal(t([[0.0, 1.0]] * 3), t([[2.0, 0.5], [0.5, 1.0]]))
        ),
    ),
    case("Multinomial", total_count=6, probs=S),
    case("Multinomial", total_count=4, logits=R),
    case("MultivariateNormal", loc=R, covariance_matrix=C),
    case("MultivariateNormal", loc=R, precision_matrix=C),
    case("MultivariateNormal", loc=R[0], scale_tril=L),
    case("MultivariateNormal", loc=R[0], covariance_matrix=BATCH_OF_C),
    case("NegativeBinomial", total_count=[[3.0, 5.5, 0.7], [1.0, 2.0, 8.0]], probs=P),
    case("NegativeBinomial", total_count=4, logits=R),
    case("Normal", loc=R, scale=A),
    case("Normal", loc=0.5, scale=2.0),
    case("OneHotCategorical", probs=A),
    case("OneHotCategorical", logits=R),
    case("OneHotCategoricalStraightThrough", logits=R),
    case("Pareto", scale=A, alpha=B),
    case("Poisson", rate=A),
    case("RelaxedBernoulli", temperature=[0.7], probs=P),
    case("RelaxedBernoulli", temperature=[0.7], logits=R),
    case("RelaxedOneHotCategorical", temperature=[0.7], probs=S),
    case("RelaxedOneHotCategorical", temperature=[1.4], logits=R),
    case("StudentT", df=[[0.8, 1.7, 4.2], [2.6, 2.0, 9.0]], loc=R, scale=B),
    case(
        "TransformedDistribution",
        base_distribution=Made(lambda d, t: d.Normal(t(R), t(A))),
        transforms=Made(lambda d, t: [d.AffineTransform(t(R), -2.0), d.SigmoidTransform()]),
    ),
    case("Uniform", low=R, high=[[0.0, 0.95, 2.5], [4.0, 0.7, 3.4]]),
    case("VonMises", loc=P, concentration=A),
    case("Weibull", scale=A, concentration=B),
    case("Wishart", df=[3.5, 5.0], covariance_matrix=C),
    case("Wishart", df=4.0, scale_tril=L),
    case("Wishart", df=4.0, precision_matrix=C),
]
"""At least one for every distribution of PyTorch."""


def make_tt(case: Case, gradients: bool = False) -> tuple[Any, list[Any]]:
    """Return the distribution in tt, and its parameters that are tensors."""
    leaves: list[Any] = []

    def tensor(values: Any) -> Any:
        leaves.append(tt.tensor(values, dtype=tt.float64, requires_grad=gradients))
        return leaves[-1]

    return getattr(tt.distributions, case.name)(**_made(case, tt.distributions, tensor)), leaves


def make_torch(case: Case, gradients: bool = False) -> tuple[Any, list[Any]]:
    """Return the distribution in PyTorch, and its parameters that are tensors."""
    import torch
    import torch.distributions

    leaves: list[Any] = []

    def tensor(values: Any) -> Any:
        leaves.append(torch.tensor(values, dtype=torch.float64, requires_grad=gradients))
        return leaves[-1]

    return getattr(torch.distributions, case.name)(**_made(case, torch.distributions, tensor)), leaves


def _made(case: Case, library: Any, tensor: Callable[[Any], Any]) -> dict[str, Any]:
    made = {}
    for name, value in case.parameters.items():
        if isinstance(value, Made):
            made[name] = value.function(library, tensor)
        else:
            made[name] = tensor(value) if isinstance(value, list) else value
    return made


def numbers(value: Any) -> np.ndarray:
    """Return a tensor of either library as an array."""
    return np.array(value.detach().numpy())
