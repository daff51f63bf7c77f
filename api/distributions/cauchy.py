"""Cauchy: the quotient of two normal numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import tt
from tt.distributions import constraints
from tt.distributions.distribution import Distribution
from tt.distributions.utils import broadcast_all

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    r"""The Cauchy or Lorentz distribution, which has no mean and no variance.

    Its density is :math:`p(x) = 1 / (\pi\, scale\, (1 + ((x - loc) / scale)^2))`.

    Parameters
    ----------
    loc : Tensor or float
        The median.
    scale : Tensor or float
        Half the width at half of the maximum.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.Cauchy(0.0, 1.0).cdf(tt.tensor(1.0))
    tensor(0.7500)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _batched = {"loc": 0, "scale": 0}

    def __init__(
        self, loc: float | tt.Tensor, scale: float | tt.Tensor, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> tt.Tensor:
        return tt.full_like(self.loc, math.nan)

    @property
    def mode(self) -> tt.Tensor:
        return self.loc

    @property
    def variance(self) -> tt.Tensor:
        return tt.full_like(self.loc, math.inf)

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        shape = self._extended_shape(sample_shape)
        return self.loc + self.loc.new_empty(shape).cauchy_() * self.scale

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - distance.square().log1p()

    def cdf(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return tt.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: tt.Tensor) -> tt.Tensor:
        return tt.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> tt.Tensor:
        return math.log(4 * math.pi) + self.scale.log()
