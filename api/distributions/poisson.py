"""Poisson: how many events in a time."""

from __future__ import annotations

from collections.abc import Sequence

import tt
from tt.distributions import constraints
from tt.distributions.exp_family import ExponentialFamily
from tt.distributions.utils import broadcast_all

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    r"""The Poisson distribution, :math:`p(k) = rate^k e^{-rate} / k!`.

    Parameters
    ----------
    rate : Tensor or float
        The mean.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.Poisson(2.0).log_prob(tt.tensor(0.0))
    tensor(-2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _batched = {"rate": 0}

    def __init__(self, rate: float | tt.Tensor, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> tt.Tensor:
        return self.rate

    @property
    def mode(self) -> tt.Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> tt.Tensor:
        return self.rate

    def sample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        with tt.no_grad():
            return tt.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return tt.xlogy(value, self.rate) - self.rate - tt.lgamma(value + 1)

    @property
    def _natural_params(self) -> tuple[tt.Tensor, ...]:
        return (self.rate.log(),)

    def _log_normalizer(self, x: tt.Tensor) -> tt.Tensor:
        return tt.exp(x)
