"""Beta: probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import tt
from tt.distributions import constraints
from tt.distributions.dirichlet import Dirichlet
from tt.distributions.distribution import Distribution
from tt.distributions.exp_family import ExponentialFamily
from tt.distributions.utils import broadcast_all

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    r"""The beta distribution, :math:`p(x) \propto x^{concentration1 - 1} (1 - x)^{concentration0 - 1}`.

    Samples are differentiable by both parameters, as those of `Dirichlet`.

    Parameters
    ----------
    concentration1, concentration0 : Tensor or float
        The concentrations at 1 and at 0.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.Beta(1.0, 3.0).mean
    tensor(0.2500)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        concentration1: float | tt.Tensor,
        concentration0: float | tt.Tensor,
        validate_args: bool | None = None,
    ) -> None:
        both = tt.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=False)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._get_checked_instance(self._owner(), _instance)
        new._dirichlet = self._dirichlet.expand(batch_shape)
        Distribution.__init__(new, batch_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def concentration1(self) -> tt.Tensor:
        """The concentration at 1."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> tt.Tensor:
        """The concentration at 0."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> tt.Tensor:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> tt.Tensor:
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> tt.Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.square() * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._dirichlet.log_prob(tt.stack([value, 1.0 - value], -1))

    def entropy(self) -> tt.Tensor:
        return self._dirichlet.entropy()

    @property
    def _natural_params(self) -> tuple[tt.Tensor, ...]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        return tt.lgamma(x) + tt.lgamma(y) - tt.lgamma(x + y)
