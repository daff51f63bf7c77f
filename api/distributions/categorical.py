"""Categorical: one of several outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tt
from tt.distributions import constraints
from tt.distributions._probabilities import GivenProbabilities, enumerated, expect_one

__all__ = ["Categorical"]


class Categorical(GivenProbabilities):
    """The distribution of an index, with a probability for each.

    Parameters
    ----------
    probs : Tensor, optional
        Weights along the last dimension; they are divided by their sum.
    logits : Tensor, optional
        Logarithms of weights; one of the two is given.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.Categorical(tt.tensor([1.0, 1.0, 2.0]))
    >>> d.probs, d.log_prob(tt.tensor(2))
    (tensor([0.2500, 0.2500, 0.5000]), tensor(-0.6931))
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _binary = False
    _batched = {"probs": 1, "logits": 1}

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        expect_one(probs, logits)
        self._given = "probs" if logits is None else "logits"
        parameter = probs if logits is None else logits
        if not tt.is_tensor(parameter) or parameter.dim() < 1:
            raise tt.errors.ValueRangeError(f"`{self._given}` parameter must be at least one-dimensional.")
        if logits is None:
            # Normalised here, so that everything else may rely on it.
            self.probs = probs / probs.sum(-1, True)
        else:
            self.logits = logits - logits.logsumexp(-1, True)
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def _num_events(self) -> int:
        return int(self._param.shape[-1])

    @property
    def mean(self) -> tt.Tensor:
        return self._param.new_full(self._batch_shape, math.nan)

    @property
    def mode(self) -> tt.Tensor:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> tt.Tensor:
        return self._param.new_full(self._batch_shape, math.nan)

    def sample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        sample_shape = tt.Size(sample_shape)
        with tt.no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            if not rows.shape[0] or not sample_shape.numel():
                return tt.zeros(self._extended_shape(sample_shape), dtype=tt.int64, device=rows.device)
            # `multinomial` takes one row for each distribution, so samples are its columns.
            drawn = tt.multinomial(rows, sample_shape.numel(), True)
            return drawn.mT.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        index = value.long().unsqueeze(-1)
        index, log_probs = tt.broadcast_tensors(index, self.logits)
        return log_probs.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> tt.Tensor:
        logits = self.logits.clamp(
            min=tt.finfo(self.logits.dtype).min
        )  # 0 times minus infinity is not a number
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> tt.Tensor:
        return enumerated(self, self._num_events, expand, dtype=tt.int64)
