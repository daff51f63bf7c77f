"""MixtureSameFamily: one of several distributions of a kind, drawn for each sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import tt
from tt.distributions import constraints
from tt.distributions.categorical import Categorical
from tt.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last batch dimension of another one.

    Parameters
    ----------
    mixture_distribution : Categorical
        The probability of each component.
    component_distribution : Distribution
        The components; its last batch dimension is that of the mixture.
    validate_args : bool, optional
        See `Distribution`.

    Raises
    ------
    ValueError
        If the batches do not fit, or the mixture is not categorical.

    Examples
    --------
    >>> import tt
    >>> from tt.distributions import Categorical, MixtureSameFamily, Normal
    >>> d = MixtureSameFamily(Categorical(tt.ones(2)), Normal(tt.tensor([-1.0, 1.0]), 1.0))
    >>> d.mean, d.variance
    (tensor(0.), tensor(2.))
    """

    arg_constraints: Any = {}

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise tt.errors.ValueRangeError("The mixture distribution needs to be an instance of Categorical")
        if not isinstance(component_distribution, Distribution):
            raise tt.errors.ValueRangeError(
                "The component distribution needs to be an instance of Distribution"
            )
        mixture, components = mixture_distribution.batch_shape, component_distribution.batch_shape
        if not components:
            raise tt.errors.ValueRangeError(
                "the components need a batch dimension, along which they are mixed"
            )
        for i, j in zip(reversed(mixture), reversed(components[:-1]), strict=False):
            if i != 1 and j != 1 and i != j:
                raise tt.errors.ValueRangeError(
                    f"`mixture_distribution.batch_shape` ({tuple(mixture)}) is not compatible with "
                    f"`component_distribution.batch_shape` ({tuple(components)})"
                )
        if mixture_distribution._num_events != components[-1]:
            raise tt.errors.ValueRangeError(
                f"the mixture has {mixture_distribution._num_events} probabilities for {components[-1]} components"
            )
        self._mixture = mixture_distribution
        self._component = component_distribution
        super().__init__(components[:-1], component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._get_checked_instance(self._owner(), _instance)
        new._mixture = self._mixture.expand(batch_shape)
        new._component = self._component.expand((*batch_shape, self._mixture._num_events))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component.support)

    @property
    def mixture_distribution(self) -> Any:
        """The probabilities of the components."""
        return self._mixture

    @property
    def component_distribution(self) -> Any:
        """The components."""
        return self._component

    def _weights(self) -> tt.Tensor:
        """Return the probabilities, with the dimensions of one sample after that of the components."""
        probs = self._mixture.probs
        return probs.reshape((*probs.shape, *(1,) * len(self._event_shape)))

    def _averaged(self, values: tt.Tensor) -> tt.Tensor:
        return (self._weights() * values).sum(-1 - len(self._event_shape))

    @property
    def mean(self) -> tt.Tensor:
        return self._averaged(self._component.mean)

    @property
    def variance(self) -> tt.Tensor:
        """The mean of the variances and the variance of the means."""
        distance = self._component.mean - self._spread(self.mean)
        return self._averaged(self._component.variance) + self._averaged(distance.square())

    def _spread(self, value: tt.Tensor) -> tt.Tensor:
        """Return values with a dimension for the components."""
        return value.unsqueeze(-1 - len(self._event_shape))

    def cdf(self, value: tt.Tensor) -> tt.Tensor:
        of_components = self._component.cdf(self._spread(value))
        return (of_components * self._mixture.probs).sum(-1)

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        of_components = self._component.log_prob(self._spread(value))
        # Probabilities far from all components underflow; their logarithms do not.
        return tt.logsumexp(of_components + tt.log_softmax(self._mixture.logits, -1), -1)

    def sample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        with tt.no_grad():
            chosen = self._mixture.expand(self._batch_shape).sample(sample_shape)
            # All components are drawn, and one is picked: no loop over the batch. Which one has no
            # gradient, so there is no `rsample`.
            samples = self._component.sample(sample_shape)
            dim = len(sample_shape) + len(self._batch_shape)
            events = tuple(self._event_shape)
            index = chosen.reshape((*chosen.shape, 1, *(1,) * len(events)))
            return samples.gather(dim, index.expand((*chosen.shape, 1, *events))).squeeze(dim)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n  {self._mixture!r},\n  {self._component!r})"
