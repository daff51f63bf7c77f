"""Bernoulli: a coin."""

from __future__ import annotations

import math
from collections.abc import Sequence

import tt
from tt.distributions import constraints
from tt.distributions._probabilities import BinaryProbabilities, enumerated
from tt.distributions.exp_family import ExponentialFamily
from tt.distributions.utils import broadcast_all
from tt.nn.functional import binary_cross_entropy_with_logits, logsigmoid

__all__ = ["Bernoulli"]


class Bernoulli(BinaryProbabilities, ExponentialFamily):
    """The Bernoulli distribution: 1 with a probability, else 0.

    Parameters
    ----------
    probs : Tensor or float, optional
        The probability of 1.
    logits : Tensor or float, optional
        The logarithm of its odds; one of the two is given.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.Bernoulli(0.25)
    >>> d.log_prob(tt.tensor(1.0)).exp(), d.variance
    (tensor(0.2500), tensor(0.1875))
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: float | tt.Tensor | None = None,
        logits: float | tt.Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_binary(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> tt.Tensor:
        return self.probs

    @property
    def mode(self) -> tt.Tensor:
        # With equal chances both values are modes; PyTorch says nan.
        return tt.where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs.dtype))

    @property
    def variance(self) -> tt.Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        with tt.no_grad():
            return tt.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> tt.Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> tt.Tensor:
        return enumerated(self, 2, expand)

    @property
    def _natural_params(self) -> tuple[tt.Tensor, ...]:
        return (tt.logit(self.probs),)

    def _log_normalizer(self, x: tt.Tensor) -> tt.Tensor:
        return -logsigmoid(-x)
