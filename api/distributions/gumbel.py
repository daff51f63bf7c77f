"""Gumbel: largest values."""

from __future__ import annotations

import math

import tt
from tt.distributions import constraints
from tt.distributions.transformed_distribution import TransformedDistribution
from tt.distributions.transforms import AffineTransform, ExpTransform
from tt.distributions.uniform import Uniform
from tt.distributions.utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    r"""The Gumbel distribution of largest values, with the distribution function :math:`\exp(-e^{-(x - loc) / scale})`.

    Parameters
    ----------
    loc, scale : Tensor or float
        The mode and the width.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _batched = {"loc": 0, "scale": 0}

    def __init__(
        self, loc: float | tt.Tensor, scale: float | tt.Tensor, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = tt.finfo(self.loc.dtype)
        # Both logarithms of the inverse are finite between these.
        low, high = tt.full_like(self.loc, info.tiny), tt.full_like(self.loc, 1 - info.eps)
        # -log(-log u) for a uniform u, then scaled and shifted.
        transforms = [
            ExpTransform().inv,
            AffineTransform(0, -tt.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(self.loc, -self.scale),
        ]
        super().__init__(Uniform(low, high, validate_args=False), transforms, validate_args=validate_args)

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def cdf(self, value: tt.Tensor) -> tt.Tensor:
        # Of all values, also of those that round to 0 or 1, which the base refuses.
        return tt.exp(-tt.exp((self.loc - value) / self.scale))

    @property
    def mean(self) -> tt.Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> tt.Tensor:
        return self.loc

    @property
    def stddev(self) -> tt.Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> tt.Tensor:
        return self.stddev.square()

    def entropy(self) -> tt.Tensor:
        return self.scale.log() + (1 + euler_constant)
