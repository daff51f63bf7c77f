"""Kumaraswamy: close to Beta, with a distribution function in closed form."""

from __future__ import annotations

import math

import tt
from tt.distributions import constraints
from tt.distributions.transformed_distribution import TransformedDistribution
from tt.distributions.transforms import AffineTransform, PowerTransform
from tt.distributions.uniform import Uniform
from tt.distributions.utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    r"""The Kumaraswamy distribution, whose distribution function has a closed form.

    It is :math:`1 - (1 - x^{concentration1})^{concentration0}`.

    Parameters
    ----------
    concentration1, concentration0 : Tensor or float
        The first and the second shape, as those of `Beta`.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _batched = {"concentration1": 0, "concentration0": 0}

    def __init__(
        self,
        concentration1: float | tt.Tensor,
        concentration0: float | tt.Tensor,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        c0 = self.concentration0
        base = Uniform(tt.zeros_like(c0), tt.ones_like(c0), validate_args=validate_args)
        # The inverse of the distribution function 1 - (1 - x^a)^b.
        transforms = [
            PowerTransform(c0.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n: int) -> tt.Tensor:
        """Return the mean of the n-th power: b times the beta function of 1 + n / a and b."""
        a, b = self.concentration1, self.concentration0
        first = 1 + n / a
        return b * tt.exp(tt.lgamma(first) + tt.lgamma(b) - tt.lgamma(first + b))

    @property
    def mean(self) -> tt.Tensor:
        return self._moment(1)

    @property
    def mode(self) -> tt.Tensor:
        a, b = self.concentration1, self.concentration0
        result = ((a - 1) / (a * b - 1)).pow(a.reciprocal())
        return tt.where((a < 1) | (b < 1), math.nan, result)

    @property
    def variance(self) -> tt.Tensor:
        return self._moment(2) - self.mean.square()

    def entropy(self) -> tt.Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = tt.digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - tt.log(a) - tt.log(b)
