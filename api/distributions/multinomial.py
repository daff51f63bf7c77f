"""Multinomial: how often each of several outcomes occurs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import tt
from tt.distributions import constraints
from tt.distributions._over_categorical import OverCategorical
from tt.distributions.binomial import Binomial
from tt.distributions.utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(OverCategorical):
    """The multinomial distribution of how often each outcome occurs in `total_count` trials.

    Parameters
    ----------
    total_count : int
        The number of trials.
    probs : Tensor, optional
        Weights along the last dimension; they are divided by their sum.
    logits : Tensor, optional
        Logarithms of weights; one of the two is given.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.Multinomial(4, tt.tensor([1.0, 1.0]))
    >>> d.mean, d.log_prob(tt.tensor([2.0, 2.0])).exp()
    (tensor([2., 2.]), tensor(0.3750))
    """

    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: tt.Tensor | None = None,
        logits: tt.Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise tt.errors.UnsupportedError(
                f"Multinomial has one total_count for all, an int, not {type(total_count).__name__}"
            )
        self.total_count = total_count
        self._set_outcomes(probs, logits, validate_args)
        self._binomial = Binomial(total_count, self.probs)

    def _expand_attributes(self, new: Self, shape: Sequence[int]) -> None:
        super()._expand_attributes(new, shape)
        new.total_count = self.total_count
        new._binomial = self._binomial.expand((*shape, *self._event_shape))

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> tt.Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> tt.Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape)).unsqueeze(-1)
        dtype = self._categorical._param.dtype
        counts = drawn.new_zeros(self._extended_shape(sample_shape), dtype=dtype)
        with tt.no_grad():
            drawn = drawn.movedim(0, -1).reshape((*counts.shape[:-1], self.total_count))
            return counts.scatter_add(-1, drawn, tt.ones_like(drawn, dtype=dtype))

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        # An outcome that is impossible and did not occur has no part in it.
        powers = tt.where((value == 0) & (logits == -math.inf), 0.0, logits) * value
        return tt.lgamma(value.sum(-1) + 1) - tt.lgamma(value + 1).sum(-1) + powers.sum(-1)

    def entropy(self) -> tt.Tensor:
        n = tt.tensor(float(self.total_count), dtype=self.probs.dtype, device=self.probs.device)
        # Without 0, for which lgamma(1) = 0.
        counts = self._binomial.enumerate_support(expand=False)[1:]
        # The counts of each outcome are binomial, and the mean of a sum needs no more.
        expected = tt.exp(self._binomial.log_prob(counts)) * tt.lgamma(counts + 1)
        return n * self._categorical.entropy() - tt.lgamma(n + 1) + expected.sum(0).sum(-1)
