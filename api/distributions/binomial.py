"""Binomial: successes of several trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tt
from tt.distributions import constraints
from tt.distributions._probabilities import BinaryProbabilities, enumerated
from tt.nn.functional import logsigmoid

__all__ = ["Binomial"]


class Binomial(BinaryProbabilities):
    r"""The binomial distribution of successes in `total_count` independent trials.

    Parameters
    ----------
    total_count : Tensor or int
        The number of trials.
    probs : Tensor or float, optional
        The probability of success.
    logits : Tensor or float, optional
        The logarithm of its odds; one of the two is given.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.Binomial(4, 0.5)
    >>> d.mean, d.log_prob(tt.tensor(2.0)).exp()
    (tensor(2.), tensor(0.3750))
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _batched = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(
        self,
        total_count: float | tt.Tensor = 1,
        probs: float | tt.Tensor | None = None,
        logits: float | tt.Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        (count,) = self._set_binary(probs, logits, total_count)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> tt.Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> tt.Tensor:
        return tt.minimum(((self.total_count + 1) * self.probs).floor(), self.total_count)

    @property
    def variance(self) -> tt.Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        shape = self._extended_shape(sample_shape)
        with tt.no_grad():
            return tt.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        choices = tt.lgamma(n + 1) - tt.lgamma(value + 1) - tt.lgamma(n - value + 1)
        # From logits: log(1 - p) is exact there for p close to 1.
        return choices + value * self.logits + n * logsigmoid(-self.logits)

    def entropy(self) -> tt.Tensor:
        if not bool((self.total_count == self.total_count.max()).all()):
            raise tt.errors.UnsupportedError("the entropy of Binomial needs the same total_count for all")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(tt.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> tt.Tensor:
        count = int(self.total_count.max())
        if not bool((self.total_count == count).all()):
            raise tt.errors.UnsupportedError(
                "enumerate_support of Binomial needs the same total_count for all"
            )
        return enumerated(self, count + 1, expand)
