"""Pareto: values above a threshold, with a heavy tail."""

from __future__ import annotations

from typing import Any

import tt
from tt.distributions import constraints
from tt.distributions.exponential import Exponential
from tt.distributions.transformed_distribution import TransformedDistribution
from tt.distributions.transforms import AffineTransform, ExpTransform
from tt.distributions.utils import broadcast_all

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    r"""The Pareto distribution, :math:`p(x) \propto x^{-alpha - 1}` for x above `scale`.

    Parameters
    ----------
    scale : Tensor or float
        The least value.
    alpha : Tensor or float
        The shape; the higher, the lighter is the tail.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.Pareto(1.0, 2.0).mean
    tensor(2.)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    _batched = {"scale": 0, "alpha": 0}

    def __init__(
        self, scale: float | tt.Tensor, alpha: float | tt.Tensor, validate_args: bool | None = None
    ) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        # log(x / scale) is an exponential number.
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> tt.Tensor:
        alpha = self.alpha.clamp(min=1)  # there the mean is infinite
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> tt.Tensor:
        return self.scale

    @property
    def variance(self) -> tt.Tensor:
        alpha = self.alpha.clamp(min=2)  # there the variance is infinite
        return self.scale.square() * alpha / ((alpha - 1).square() * (alpha - 2))

    def entropy(self) -> tt.Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
