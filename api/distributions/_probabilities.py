"""Distributions that are given by probabilities or by their logits."""

from __future__ import annotations

from typing import Any, Self

import tt
from tt.distributions.distribution import Distribution
from tt.distributions.utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["BinaryProbabilities", "GivenProbabilities", "enumerated", "expect_one"]


def expect_one(probs: object, logits: object) -> None:
    """Raise unless just one of two is given."""
    if (probs is None) == (logits is None):
        raise tt.errors.ValueRangeError("Either `probs` or `logits` must be specified, but not both.")


class GivenProbabilities(Distribution):
    """Holds one of `probs` and `logits`; the other one is computed when needed."""

    _binary = True  # whether a probability is that of one of two outcomes
    _given: str

    @lazy_property
    def logits(self) -> tt.Tensor:
        """The logits: logarithms of probabilities, or of odds."""
        return probs_to_logits(self.probs, is_binary=self._binary)

    @lazy_property
    def probs(self) -> tt.Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=self._binary)

    @property
    def param_shape(self) -> tt.Size:
        """The shape of the parameter that was given."""
        return self._param.shape

    @property
    def _param(self) -> tt.Tensor:
        return self.probs if self._given == "probs" else self.logits

    def _copy_from(self, other: Self) -> None:
        self._given = other._given


class BinaryProbabilities(GivenProbabilities):
    """Probabilities of one of two outcomes, and further parameters of the same shape."""

    _batched = {"probs": 0, "logits": 0}

    def _set_binary(
        self, probs: float | tt.Tensor | None, logits: float | tt.Tensor | None, *others: Any
    ) -> tuple[tt.Tensor, ...]:
        """Store the parameter that is given, broadcast with others, and return these."""
        expect_one(probs, logits)
        self._given = "probs" if logits is None else "logits"
        parameter, *broadcast = broadcast_all(probs if logits is None else logits, *others)
        setattr(self, self._given, parameter)
        return tuple(broadcast)


def enumerated(
    distribution: GivenProbabilities, count: int, expand: bool, dtype: tt.dtype | None = None
) -> tt.Tensor:
    """Return the numbers before a count along a first dimension, one for each distribution of the batch."""
    param = distribution._param
    batch = distribution.batch_shape
    values = tt.arange(count, dtype=param.dtype if dtype is None else dtype, device=param.device)
    values = values.reshape((count, *(1,) * len(batch)))
    return values.expand((count, *batch)) if expand else values
