"""Absolute values of numbers whose distribution is symmetric about 0."""

from __future__ import annotations

import math

import tt
from tt.distributions import constraints
from tt.distributions.cauchy import Cauchy
from tt.distributions.normal import Normal
from tt.distributions.transformed_distribution import TransformedDistribution

__all__ = ["Folded"]


class Folded(TransformedDistribution):
    """The distribution of the absolute value of a number: twice the density, on one side."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Normal | Cauchy

    @property
    def scale(self) -> tt.Tensor:
        """The scale of the distribution that is folded."""
        return self.base_dist.scale

    @property
    def mode(self) -> tt.Tensor:
        return tt.zeros_like(self.scale)

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return tt.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: tt.Tensor) -> tt.Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> tt.Tensor:
        return self.base_dist.entropy() - math.log(2)
