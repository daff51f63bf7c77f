"""ContinuousBernoulli: numbers between 0 and 1 with the density of Bernoulli's distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import tt
from tt.distributions import constraints
from tt.distributions._probabilities import BinaryProbabilities
from tt.distributions.exp_family import ExponentialFamily
from tt.distributions.utils import broadcast_all, clamp_probs
from tt.nn.functional import binary_cross_entropy_with_logits

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(BinaryProbabilities, ExponentialFamily):
    r"""The continuous Bernoulli distribution, :math:`p(x) \propto probs^x (1 - probs)^{1 - x}` for x between 0 and 1.

    Loaiza-Ganem and Cunningham, "The continuous Bernoulli: fixing a pervasive error in variational autoencoders",
    2019.

    Parameters
    ----------
    probs : Tensor or float, optional
        The parameter of the density, between 0 and 1.
    logits : Tensor or float, optional
        The logarithm of its odds; one of the two is given.
    lims : pair of float
        Between these probabilities, formulas that divide by 1 - 2 probs are replaced by Taylor series.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: float | tt.Tensor | None = None,
        logits: float | tt.Tensor | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._set_binary(probs, logits)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)
        if logits is None:
            self.probs = clamp_probs(self.probs)

    def _copy_from(self, other: Self) -> None:
        super()._copy_from(other)
        self._lims = other._lims

    def _stable(self) -> tuple[tt.Tensor, tt.Tensor]:
        """Return where the closed formulas hold, and probabilities for them."""
        # At 1/2 the formulas are 0/0; near it a Taylor series takes their place.
        outside = (self.probs <= self._lims[0]) | (self.probs > self._lims[1])
        return outside, tt.where(outside, self.probs, self._lims[0])

    def _log_norm(self) -> tt.Tensor:
        """Return the logarithm of the density's normaliser."""
        outside, cut = self._stable()
        # Both branches of a `where` have gradients, so each gets an argument at which its own is finite.
        below = tt.where(cut <= 0.5, cut, 0.0)
        above = tt.where(cut >= 0.5, cut, 1.0)
        log_difference = tt.where(cut <= 0.5, tt.log1p(-2.0 * below), tt.log(2.0 * above - 1.0))
        closed = tt.log(tt.abs(tt.log1p(-cut) - tt.log(cut))) - log_difference
        x = (self.probs - 0.5).square()
        return tt.where(outside, closed, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> tt.Tensor:
        outside, cut = self._stable()
        closed = cut / (2.0 * cut - 1.0) + 1.0 / (tt.log1p(-cut) - tt.log(cut))
        x = self.probs - 0.5
        return tt.where(outside, closed, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.square()) * x)

    @property
    def variance(self) -> tt.Tensor:
        outside, cut = self._stable()
        closed = cut * (cut - 1.0) / (1.0 - 2.0 * cut).square()
        closed = closed + 1.0 / (tt.log1p(-cut) - tt.log(cut)).square()
        x = (self.probs - 0.5).square()
        return tt.where(outside, closed, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def sample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        with tt.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(tt.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return self._log_norm() - binary_cross_entropy_with_logits(logits, value, reduction="none")

    def cdf(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        outside, cut = self._stable()
        closed = (cut.pow(value) * (1.0 - cut).pow(1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        inner = tt.where(outside, closed, value)
        return tt.where(value <= 0.0, 0.0, tt.where(value >= 1.0, 1.0, inner))

    def icdf(self, value: tt.Tensor) -> tt.Tensor:
        outside, cut = self._stable()
        log_other = tt.log1p(-cut)
        closed = (tt.log1p(-cut + value * (2.0 * cut - 1.0)) - log_other) / (tt.log(cut) - log_other)
        return tt.where(outside, closed, value)

    def entropy(self) -> tt.Tensor:
        log_other = tt.log1p(-self.probs)
        return self.mean * (log_other - tt.log(self.probs)) - self._log_norm() - log_other

    @property
    def _natural_params(self) -> tuple[tt.Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: tt.Tensor) -> tt.Tensor:
        """Return the logarithm of (exp(x) - 1) / x."""
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = tt.where(outside, x, self._lims[0] - 0.5)
        closed = tt.log(tt.abs(tt.expm1(cut))) - tt.log(tt.abs(cut))
        return tt.where(outside, closed, 0.5 * x + x.square() / 24.0 - x.pow(4) / 2880.0)
