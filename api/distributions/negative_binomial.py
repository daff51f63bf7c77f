"""NegativeBinomial: successes before a number of failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tt
from tt.distributions import constraints
from tt.distributions._probabilities import BinaryProbabilities
from tt.distributions.gamma import Gamma
from tt.distributions.utils import lazy_property
from tt.nn.functional import logsigmoid

__all__ = ["NegativeBinomial"]


class NegativeBinomial(BinaryProbabilities):
    """The negative binomial distribution of successes before `total_count` failures.

    Parameters
    ----------
    total_count : Tensor or float
        The number of failures at which trials end; it need not be an integer.
    probs : Tensor or float, optional
        The probability of success, less than 1.
    logits : Tensor or float, optional
        The logarithm of its odds; one of the two is given.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.NegativeBinomial(2.0, tt.tensor(0.5)).mean
    tensor(2.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _batched = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(
        self,
        total_count: float | tt.Tensor,
        probs: float | tt.Tensor | None = None,
        logits: float | tt.Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        (count,) = self._set_binary(probs, logits, total_count)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> tt.Tensor:
        return self.total_count * tt.exp(self.logits)

    @property
    def mode(self) -> tt.Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> tt.Tensor:
        return self.mean / tt.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Any:
        """The distribution of the rates of the Poisson numbers that samples are."""
        # A Poisson number whose rate is a gamma number is a negative binomial one.
        return Gamma(self.total_count, tt.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        with tt.no_grad():
            return tt.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        powers = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        choices = tt.lgamma(n + value) - tt.lgamma(1.0 + value) - tt.lgamma(n)
        # No failures and no successes: lgamma(0) - lgamma(0) is inf - inf.
        return powers + tt.where(n + value == 0.0, 0.0, choices)
