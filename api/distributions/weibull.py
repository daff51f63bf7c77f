"""Weibull: times until something fails."""

from __future__ import annotations

import tt
from tt.distributions import constraints
from tt.distributions.exponential import Exponential
from tt.distributions.transformed_distribution import TransformedDistribution
from tt.distributions.transforms import AffineTransform, PowerTransform
from tt.distributions.utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    r"""The Weibull distribution of lifetimes; :math:`e^{-(x / scale)^{concentration}}` is the chance to exceed x.

    Parameters
    ----------
    scale : Tensor or float
        The width.
    concentration : Tensor or float
        The shape; with 1, failures are as likely at any age.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _batched = {"scale": 0, "concentration": 0}

    def __init__(
        self, scale: float | tt.Tensor, concentration: float | tt.Tensor, validate_args: bool | None = None
    ) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(tt.ones_like(self.scale), validate_args=False)
        # (x / scale)^concentration is an exponential number.
        transforms = [PowerTransform(self.concentration.reciprocal()), AffineTransform(0, self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @property
    def mean(self) -> tt.Tensor:
        return self.scale * tt.exp(tt.lgamma(1 + self.concentration.reciprocal()))

    @property
    def mode(self) -> tt.Tensor:
        c = self.concentration
        return self.scale * ((c - 1) / c).pow(c.reciprocal())

    @property
    def variance(self) -> tt.Tensor:
        inverse = self.concentration.reciprocal()
        moments = tt.exp(tt.lgamma(1 + 2 * inverse)) - tt.exp(2 * tt.lgamma(1 + inverse))
        return self.scale.square() * moments

    def entropy(self) -> tt.Tensor:
        inverse = self.concentration.reciprocal()
        return euler_constant * (1 - inverse) + tt.log(self.scale * inverse) + 1
