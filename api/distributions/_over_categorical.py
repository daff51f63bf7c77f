"""Distributions of vectors that are given by the probabilities of several outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import tt
from tt.distributions import constraints
from tt.distributions.categorical import Categorical
from tt.distributions.distribution import Distribution

__all__ = ["OverCategorical"]


class OverCategorical(Distribution):
    """Holds the `Categorical` of the outcomes; a sample has one element for each of them."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _batched = {"probs": 1, "logits": 1}

    def _set_outcomes(
        self, probs: tt.Tensor | None, logits: tt.Tensor | None, validate_args: bool | None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        outcomes = self._categorical.param_shape[-1:]
        Distribution.__init__(self, self._categorical.batch_shape, outcomes, validate_args=validate_args)

    def _expand_attributes(self, new: Self, shape: Sequence[int]) -> None:
        super()._expand_attributes(new, shape)
        new._categorical = self._categorical.expand(shape)

    @property
    def probs(self) -> tt.Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> tt.Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> tt.Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape
