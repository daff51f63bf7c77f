"""tt.distributions: probability distributions, transforms of them, constraints, and divergences.

Examples
--------
>>> import tt
>>> p, q = tt.distributions.Normal(0.0, 1.0), tt.distributions.Normal(1.0, 1.0)
>>> tt.distributions.kl_divergence(p, q)
tensor(0.5000)
"""

from __future__ import annotations

from tt.distributions import constraint_registry, constraints, kl, transforms, utils
from tt.distributions.bernoulli import Bernoulli
from tt.distributions.beta import Beta
from tt.distributions.binomial import Binomial
from tt.distributions.categorical import Categorical
from tt.distributions.cauchy import Cauchy
from tt.distributions.chi2 import Chi2
from tt.distributions.constraint_registry import biject_to, transform_to
from tt.distributions.continuous_bernoulli import ContinuousBernoulli
from tt.distributions.dirichlet import Dirichlet
from tt.distributions.distribution import Distribution
from tt.distributions.exp_family import ExponentialFamily
from tt.distributions.exponential import Exponential
from tt.distributions.fishersnedecor import FisherSnedecor
from tt.distributions.gamma import Gamma
from tt.distributions.generalized_pareto import GeneralizedPareto
from tt.distributions.geometric import Geometric
from tt.distributions.gumbel import Gumbel
from tt.distributions.half_cauchy import HalfCauchy
from tt.distributions.half_normal import HalfNormal
from tt.distributions.independent import Independent
from tt.distributions.inverse_gamma import InverseGamma
from tt.distributions.kl import kl_divergence, register_kl
from tt.distributions.kumaraswamy import Kumaraswamy
from tt.distributions.laplace import Laplace
from tt.distributions.lkj_cholesky import LKJCholesky
from tt.distributions.log_normal import LogNormal
from tt.distributions.logistic_normal import LogisticNormal
from tt.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from tt.distributions.mixture_same_family import MixtureSameFamily
from tt.distributions.multinomial import Multinomial
from tt.distributions.multivariate_normal import MultivariateNormal
from tt.distributions.negative_binomial import NegativeBinomial
from tt.distributions.normal import Normal
from tt.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from tt.distributions.pareto import Pareto
from tt.distributions.poisson import Poisson
from tt.distributions.relaxed_bernoulli import RelaxedBernoulli
from tt.distributions.relaxed_categorical import RelaxedOneHotCategorical
from tt.distributions.studentT import StudentT
from tt.distributions.transformed_distribution import TransformedDistribution
from tt.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from tt.distributions.uniform import Uniform
from tt.distributions.von_mises import VonMises
from tt.distributions.weibull import Weibull
from tt.distributions.wishart import Wishart

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "constraint_registry",
    "constraints",
    "identity_transform",
    "kl",
    "kl_divergence",
    "register_kl",
    "transform_to",
    "transforms",
    "utils",
]
