"""Dirichlet: vectors of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tt
from tt.distributions import constraints
from tt.distributions.exp_family import ExponentialFamily
from tt.nn.functional import one_hot

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    r"""The Dirichlet distribution of vectors of probabilities, :math:`p(x) \propto \prod_i x_i^{concentration_i - 1}`.

    Samples are differentiable, by implicit reparametrisation of the marginal beta distributions (Figurnov, Mohamed
    and Mnih, "Implicit reparameterization gradients", 2018).

    Parameters
    ----------
    concentration : Tensor
        Positive numbers along the last dimension.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.Dirichlet(tt.tensor([1.0, 3.0]))
    >>> d.mean, tt.allclose(d.sample().sum(), tt.tensor(1.0))
    (tensor([0.2500, 0.7500]), True)
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _batched = {"concentration": 1}

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if not tt.is_tensor(concentration) or concentration.dim() < 1:
            raise tt.errors.ValueRangeError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        return tt._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        c = self.concentration
        powers = tt.xlogy(c - 1.0, value).sum(-1)
        return powers + tt.lgamma(c.sum(-1)) - tt.lgamma(c).sum(-1)

    @property
    def mean(self) -> tt.Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> tt.Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        # If all concentrations are below 1, the density is infinite in every corner; the first one is returned.
        corner = (self.concentration < 1).all(-1, True)
        vertex = one_hot(above.argmax(-1), self._event_shape[-1]).to(above.dtype)
        return tt.where(corner, vertex, above / above.sum(-1, True))

    @property
    def variance(self) -> tt.Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.square() * (total + 1))

    def entropy(self) -> tt.Tensor:
        c = self.concentration
        total = c.sum(-1)
        normalizer = tt.lgamma(c).sum(-1) - tt.lgamma(total)
        excess = (total - c.shape[-1]) * tt.digamma(total)
        return normalizer + excess - ((c - 1.0) * tt.digamma(c)).sum(-1)

    @property
    def _natural_params(self) -> tuple[tt.Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: tt.Tensor) -> tt.Tensor:
        return tt.lgamma(x).sum(-1) - tt.lgamma(x.sum(-1))
