"""GeneralizedPareto: excesses over a threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tt
from tt.distributions import constraints
from tt.distributions.distribution import Distribution
from tt.distributions.utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    r"""The generalised Pareto distribution of excesses over a high threshold.

    With :math:`z = (x - loc) / scale`, a sample is above x with the probability
    :math:`(1 + concentration\, z)^{-1 / concentration}`, which is :math:`e^{-z}` for concentration 0.

    Parameters
    ----------
    loc, scale : Tensor or float
        The least value and the width.
    concentration : Tensor or float
        How heavy the tail is; samples are bounded if it is negative.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.GeneralizedPareto(0.0, 1.0, 0.0)
    >>> d.log_survival_function(tt.tensor(2.0))
    tensor(-2.)
    """

    arg_constraints = {
        "loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real,
    }  # fmt: skip
    has_rsample = True
    _batched = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(
        self,
        loc: float | tt.Tensor,
        scale: float | tt.Tensor,
        concentration: float | tt.Tensor,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        # Support ends only for negative concentrations; -1 keeps the division of the others finite.
        end = self.loc - self.scale / tt.where(self.concentration < 0, self.concentration, -1.0)
        return constraints.interval(self.loc, tt.where(self.concentration < 0, end, math.inf))

    def _exponential(self) -> tuple[tt.Tensor, tt.Tensor]:
        """Return where the concentration is 0, and a concentration to divide by."""
        # The limit for concentration 0 is the exponential distribution; the formulas divide by it.
        zero = tt.isclose(self.concentration, tt.zeros_like(self.concentration))
        return zero, tt.where(zero, 1.0, self.concentration)

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(tt.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        zero, c = self._exponential()
        power = tt.special.xlog1py(1 / c + 1, c * z)
        return -self.scale.log() - tt.where(zero, z, power)

    def log_survival_function(self, value: tt.Tensor) -> tt.Tensor:
        """Return the logarithm of the probability that a sample is above a value."""
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        zero, c = self._exponential()
        return tt.where(zero, -z, -tt.log1p(c * z) / c)

    def log_cdf(self, value: tt.Tensor) -> tt.Tensor:
        """Return the logarithm of the distribution function."""
        return tt.log1p(-tt.exp(self.log_survival_function(value)))

    def cdf(self, value: tt.Tensor) -> tt.Tensor:
        return tt.exp(self.log_cdf(value))

    def icdf(self, value: tt.Tensor) -> tt.Tensor:
        zero, c = self._exponential()
        # By the logarithm of the tail, which is exact for small probabilities.
        log_above = tt.log1p(-value)
        heavy = self.scale / c * tt.expm1(-c * log_above)
        return self.loc + tt.where(zero, -self.scale * log_above, heavy)

    @property
    def mean(self) -> tt.Tensor:
        exists = self.concentration < 1
        c = tt.where(exists, self.concentration, 0.5)
        return tt.where(exists, self.loc + self.scale / (1 - c), math.nan)

    @property
    def variance(self) -> tt.Tensor:
        exists = self.concentration < 0.5
        c = tt.where(exists, self.concentration, 0.25)
        return tt.where(exists, self.scale.square() / ((1 - c).square() * (1 - 2 * c)), math.nan)

    @property
    def mode(self) -> tt.Tensor:
        return self.loc

    def entropy(self) -> tt.Tensor:
        return self.scale.log() + self.concentration + 1
