"""Continuous distributions near discrete ones, by a transform of their logits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tt
from tt.distributions.transformed_distribution import TransformedDistribution

if TYPE_CHECKING:
    from tt.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
    from tt.distributions.relaxed_categorical import ExpRelaxedCategorical

__all__ = ["Relaxed"]


class Relaxed(TransformedDistribution):
    """Shows the parameters of the distribution that is transformed."""

    has_rsample = True
    base_dist: LogitRelaxedBernoulli | ExpRelaxedCategorical

    @property
    def temperature(self) -> tt.Tensor:
        """The temperature: the lower, the closer samples are to discrete ones."""
        return self.base_dist.temperature

    @property
    def logits(self) -> tt.Tensor:
        """The logits of the outcomes."""
        return self.base_dist.logits

    @property
    def probs(self) -> tt.Tensor:
        """The probabilities of the outcomes."""
        return self.base_dist.probs
