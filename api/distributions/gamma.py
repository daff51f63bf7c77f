"""Gamma: sums of exponential numbers."""

from __future__ import annotations

from collections.abc import Sequence

import tt
from tt.distributions import constraints
from tt.distributions.exp_family import ExponentialFamily
from tt.distributions.utils import broadcast_all

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    r"""The gamma distribution, :math:`p(x) \propto x^{concentration - 1} e^{-rate\, x}`.

    Samples are differentiable by both parameters: for the concentration, by implicit reparametrisation (Figurnov,
    Mohamed and Mnih, "Implicit reparameterization gradients", 2018).

    Parameters
    ----------
    concentration : Tensor or float
        The shape; the mean is this divided by the rate.
    rate : Tensor or float
        The inverse of the scale.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.Gamma(3.0, 2.0)
    >>> d.mean, d.mode
    (tensor(1.5000), tensor(1.))
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = {"concentration": 0, "rate": 0}

    def __init__(
        self, concentration: float | tt.Tensor, rate: float | tt.Tensor, validate_args: bool | None = None
    ) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self) -> tt.Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> tt.Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> tt.Tensor:
        return self.concentration / self.rate.square()

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = tt._standard_gamma(self.concentration.expand(shape)) / self.rate
        return drawn.clamp(min=tt.finfo(drawn.dtype).tiny)  # a sample of 0 would have an infinite log_prob

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        scaled = tt.xlogy(self.concentration, self.rate) - tt.lgamma(self.concentration)
        return scaled + tt.xlogy(self.concentration - 1, value) - self.rate * value

    def cdf(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return tt.igamma(self.concentration, self.rate * value)

    def entropy(self) -> tt.Tensor:
        c = self.concentration
        return c - self.rate.log() + tt.lgamma(c) + (1.0 - c) * tt.digamma(c)

    @property
    def _natural_params(self) -> tuple[tt.Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        return tt.lgamma(x + 1) - (x + 1) * tt.log(-y)
