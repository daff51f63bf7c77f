"""RelaxedBernoulli: coins that are nearly 0 or 1, with gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import tt
from tt.distributions import constraints
from tt.distributions._probabilities import BinaryProbabilities
from tt.distributions._relaxed import Relaxed
from tt.distributions.transforms import SigmoidTransform
from tt.distributions.utils import broadcast_all, clamp_probs
from tt.nn.functional import logsigmoid

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(BinaryProbabilities):
    """The logits of `RelaxedBernoulli`.

    Parameters
    ----------
    temperature : Tensor or float
        The lower, the closer samples are to 0 and 1 after the logistic function.
    probs : Tensor or float, optional
        The probability of 1.
    logits : Tensor or float, optional
        The logarithm of its odds; one of the two is given.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.relaxed_bernoulli.LogitRelaxedBernoulli(tt.tensor(1.0), 0.5)
    >>> d.log_prob(tt.tensor(0.0))
    tensor(-1.3863)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        temperature: float | tt.Tensor,
        probs: float | tt.Tensor | None = None,
        logits: float | tt.Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_binary(probs, logits)
        self.temperature = temperature if tt.is_tensor(temperature) else self._param.new_tensor(temperature)
        super().__init__(self._param.shape, validate_args=validate_args)

    def _copy_from(self, other: Self) -> None:
        super()._copy_from(other)
        self.temperature = other.temperature

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        drawn = clamp_probs(tt.rand(shape, dtype=probs.dtype, device=probs.device))
        # The logit of a uniform number has the logistic distribution (Maddison et al., 2017).
        return (drawn.log() - (-drawn).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value * self.temperature
        return tt.log(self.temperature) + difference + 2 * logsigmoid(-difference)


class RelaxedBernoulli(Relaxed):
    """Numbers between 0 and 1 that are close to Bernoulli's and have gradients.

    Maddison, Mnih and Teh, "The concrete distribution", 2017; Jang, Gu and Poole, "Categorical reparameterization with
    Gumbel-softmax", 2017.

    Parameters
    ----------
    temperature : Tensor or float
        The lower, the closer samples are to 0 and 1.
    probs : Tensor or float, optional
        The probability of 1.
    logits : Tensor or float, optional
        The logarithm of its odds; one of the two is given.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.RelaxedBernoulli(tt.tensor(1.0), 0.5)
    >>> bool(0 < d.sample() < 1)
    True
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    def __init__(
        self,
        temperature: float | tt.Tensor,
        probs: float | tt.Tensor | None = None,
        logits: float | tt.Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)
