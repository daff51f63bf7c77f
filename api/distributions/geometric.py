"""Geometric: failures before the first success."""

from __future__ import annotations

from collections.abc import Sequence

import tt
from tt.distributions import constraints
from tt.distributions._probabilities import BinaryProbabilities
from tt.distributions.utils import broadcast_all
from tt.nn.functional import binary_cross_entropy_with_logits

__all__ = ["Geometric"]


class Geometric(BinaryProbabilities):
    r"""The geometric distribution of failures before the first success, :math:`p(k) = (1 - probs)^k probs`.

    Parameters
    ----------
    probs : Tensor or float, optional
        The probability of success, which is not 0.
    logits : Tensor or float, optional
        The logarithm of its odds; one of the two is given.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.Geometric(0.25)
    >>> d.mean, d.variance
    (tensor(3.), tensor(12.))
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(
        self,
        probs: float | tt.Tensor | None = None,
        logits: float | tt.Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_binary(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not bool((self.probs > 0).all()):
            raise tt.errors.ValueRangeError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution {self!r} "
                f"to be positive but found invalid values:\n{self.probs}"
            )

    @property
    def mean(self) -> tt.Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> tt.Tensor:
        return tt.zeros_like(self.probs)

    @property
    def variance(self) -> tt.Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        shape = self._extended_shape(sample_shape)
        with tt.no_grad():
            u = tt.rand(shape, dtype=self.probs.dtype, device=self.probs.device)
            # The logarithm of 0 would be an infinite count.
            u = u.clamp(min=tt.finfo(self.probs.dtype).tiny)
            return (u.log() / (-self.probs.expand(shape)).log1p()).floor()

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        probs, value = broadcast_all(self.probs, value)
        # 0 log 0 is 0: with probability 1 the first try is a success.
        sure = (probs == 1) & (value == 0)
        return value * (-tt.where(sure, 0.0, probs)).log1p() + self.probs.log()

    def entropy(self) -> tt.Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
