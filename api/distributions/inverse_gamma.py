"""InverseGamma: inverses of gamma numbers."""

from __future__ import annotations

import math

import tt
from tt.distributions import constraints
from tt.distributions.gamma import Gamma
from tt.distributions.transformed_distribution import TransformedDistribution
from tt.distributions.transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    r"""The distribution of the inverse of a gamma number, :math:`p(x) \propto x^{-concentration - 1} e^{-rate / x}`.

    Parameters
    ----------
    concentration, rate : Tensor or float
        The parameters of the gamma number.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.InverseGamma(3.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Gamma

    def __init__(
        self, concentration: float | tt.Tensor, rate: float | tt.Tensor, validate_args: bool | None = None
    ) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-tt.ones_like(base.rate)), validate_args=validate_args)

    @property
    def concentration(self) -> tt.Tensor:
        """The concentration of the gamma number."""
        return self.base_dist.concentration

    @property
    def rate(self) -> tt.Tensor:
        """The rate of the gamma number."""
        return self.base_dist.rate

    @property
    def mean(self) -> tt.Tensor:
        c = self.concentration
        return tt.where(c > 1, self.rate / tt.where(c > 1, c - 1, 1.0), math.inf)

    @property
    def mode(self) -> tt.Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> tt.Tensor:
        finite = self.concentration > 2
        c = tt.where(finite, self.concentration, 3.0)
        return tt.where(finite, self.rate.square() / ((c - 1).square() * (c - 2)), math.inf)

    def entropy(self) -> tt.Tensor:
        c = self.concentration
        return c + self.rate.log() + c.lgamma() - (1 + c) * c.digamma()
