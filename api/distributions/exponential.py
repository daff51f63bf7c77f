"""Exponential: times between independent events."""

from __future__ import annotations

from collections.abc import Sequence

import tt
from tt.distributions import constraints
from tt.distributions.exp_family import ExponentialFamily
from tt.distributions.utils import broadcast_all

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    r"""The exponential distribution, :math:`p(x) = rate\, e^{-rate\, x}` for positive x.

    Parameters
    ----------
    rate : Tensor or float
        The inverse of the mean.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.Exponential(2.0)
    >>> d.mean, d.entropy()
    (tensor(0.5000), tensor(0.3069))
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = {"rate": 0}

    def __init__(self, rate: float | tt.Tensor, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> tt.Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> tt.Tensor:
        return tt.zeros_like(self.rate)

    @property
    def stddev(self) -> tt.Tensor:
        return self.rate.reciprocal()

    @property
    def variance(self) -> tt.Tensor:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 1 - tt.exp(-self.rate * value)

    def icdf(self, value: tt.Tensor) -> tt.Tensor:
        return -tt.log1p(-value) / self.rate

    def entropy(self) -> tt.Tensor:
        return 1.0 - self.rate.log()

    @property
    def _natural_params(self) -> tuple[tt.Tensor, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: tt.Tensor) -> tt.Tensor:
        return -tt.log(-x)
