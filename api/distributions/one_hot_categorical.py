"""OneHotCategorical: one of several outcomes, as a vector of zeros and a single 1."""

from __future__ import annotations

from collections.abc import Sequence

import tt
from tt.distributions import constraints
from tt.distributions._over_categorical import OverCategorical
from tt.nn.functional import one_hot

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OverCategorical):
    """The distribution of a vector of zeros and a single 1, with a probability for each place.

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
    >>> d = tt.distributions.OneHotCategorical(tt.tensor([1.0, 3.0]))
    >>> d.mean, d.mode
    (tensor([0.2500, 0.7500]), tensor([0., 1.]))
    """

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self,
        probs: tt.Tensor | None = None,
        logits: tt.Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_outcomes(probs, logits, validate_args)

    @property
    def mean(self) -> tt.Tensor:
        return self.probs

    @property
    def mode(self) -> tt.Tensor:
        return one_hot(self._categorical.mode, self._event_shape[0]).to(self.probs.dtype)

    @property
    def variance(self) -> tt.Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        indices = self._categorical.sample(sample_shape)
        return one_hot(indices, self._event_shape[0]).to(self._categorical._param.dtype)

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> tt.Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> tt.Tensor:
        n = self._event_shape[0]
        values = tt.eye(n, dtype=self.probs.dtype, device=self.probs.device)
        values = values.reshape((n, *(1,) * len(self._batch_shape), n))
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose samples have the gradient of the probabilities.

    Bengio, Leonard and Courville, "Estimating or propagating gradients through stochastic neurons for conditional
    computation", 2013.

    Examples
    --------
    >>> import tt
    >>> logits = tt.zeros(2, requires_grad=True)
    >>> sample = tt.distributions.OneHotCategoricalStraightThrough(logits=logits).rsample()
    >>> sample[0].backward()
    >>> logits.grad
    tensor([ 0.2500, -0.2500])
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        # The value of the sample, and the gradient of the probabilities (Bengio et al., 2013).
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
