"""RelaxedOneHotCategorical: vectors that are nearly one-hot, with gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import tt
from tt.distributions import constraints
from tt.distributions._over_categorical import OverCategorical
from tt.distributions._relaxed import Relaxed
from tt.distributions.transforms import ExpTransform
from tt.distributions.utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OverCategorical):
    """The logarithms of `RelaxedOneHotCategorical`, which do not underflow.

    Parameters
    ----------
    temperature : Tensor or float
        The lower, the closer samples are to one-hot vectors after exp.
    probs : Tensor, optional
        Weights along the last dimension; they are divided by their sum.
    logits : Tensor, optional
        Logarithms of weights; one of the two is given.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.relaxed_categorical.ExpRelaxedCategorical(tt.tensor(1.0), tt.ones(2))
    >>> tt.allclose(d.sample().exp().sum(), tt.tensor(1.0))
    True
    """

    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: float | tt.Tensor,
        probs: tt.Tensor | None = None,
        logits: tt.Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_outcomes(probs, logits, validate_args)
        param = self._categorical._param
        self.temperature = temperature if tt.is_tensor(temperature) else param.new_tensor(temperature)

    def _copy_from(self, other: Self) -> None:
        super()._copy_from(other)
        self.temperature = other.temperature

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = clamp_probs(tt.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        # -log(-log u) has the Gumbel distribution (Maddison et al., 2017).
        scores = (self.logits - (-drawn.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, True)

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self._event_shape[-1]
        logits, value = broadcast_all(self.logits, value)
        scores = logits - value * self.temperature
        scores = (scores - scores.logsumexp(-1, True)).sum(-1)
        return scores + math.lgamma(n) + (n - 1) * tt.log(self.temperature)


class RelaxedOneHotCategorical(Relaxed):
    """Vectors of probabilities that are close to one-hot ones and have gradients.

    Maddison, Mnih and Teh, "The concrete distribution", 2017; Jang, Gu and Poole, "Categorical reparameterization with
    Gumbel-softmax", 2017.

    Parameters
    ----------
    temperature : Tensor or float
        The lower, the closer samples are to one-hot vectors.
    probs : Tensor, optional
        Weights along the last dimension; they are divided by their sum.
    logits : Tensor, optional
        Logarithms of weights; one of the two is given.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.RelaxedOneHotCategorical(tt.tensor(1.0), tt.ones(3))
    >>> tt.allclose(d.sample().sum(), tt.tensor(1.0))
    True
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex

    def __init__(
        self,
        temperature: float | tt.Tensor,
        probs: tt.Tensor | None = None,
        logits: tt.Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
