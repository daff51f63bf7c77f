"""Exponential families, whose entropies and divergences follow from the logarithm of their normaliser."""

from __future__ import annotations

from typing import Any

import tt
from tt.distributions._transforms_base import sum_rightmost
from tt.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    r"""Distributions whose density is :math:`\exp(t(x) \cdot \theta - F(\theta) + k(x))`.

    A subclass gives the natural parameters (`_natural_params`), the log normaliser F (`_log_normalizer`) and the
    mean of the carrier measure k (`_mean_carrier_measure`). The entropy is then a Bregman divergence, computed by
    autograd: Nielsen and Nock, "Entropies and cross-entropies of exponential families", ICIP 2010.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.ExponentialFamily.entropy(tt.distributions.Normal(0.0, 1.0))
    tensor(1.4189)
    """

    @property
    def _natural_params(self) -> tuple[tt.Tensor, ...]:
        raise self._missing("_natural_params")

    def _log_normalizer(self, *natural_params: Any) -> tt.Tensor:
        raise self._missing("_log_normalizer")

    @property
    def _mean_carrier_measure(self) -> float | tt.Tensor:
        raise self._missing("_mean_carrier_measure")

    def entropy(self) -> tt.Tensor:
        """Return the entropy, by the gradient of the log normaliser."""
        params, normalizer, gradients = normalizer_with_gradients(self)
        result = normalizer - self._mean_carrier_measure
        events = len(self._event_shape)
        for param, gradient in zip(params, gradients, strict=True):
            result = result - sum_rightmost(param * gradient, events)
        return result


def normalizer_with_gradients(
    distribution: ExponentialFamily,
) -> tuple[list[tt.Tensor], tt.Tensor, list[Any]]:
    """Return the natural parameters, the log normaliser, and its gradients, which have gradients if these have."""
    natural = distribution._natural_params
    differentiable = tt.is_grad_enabled() and any(p.requires_grad for p in natural)
    params = [p if differentiable and p.requires_grad else p.detach().requires_grad_() for p in natural]
    with tt.enable_grad():
        normalizer = distribution._log_normalizer(*params)
        # The sum separates the batch, since each element depends on its own parameters only.
        gradients = list(tt.autograd.grad(normalizer.sum(), params, create_graph=differentiable))
    if differentiable:
        return params, normalizer, gradients
    return [p.detach() for p in params], normalizer.detach(), gradients
