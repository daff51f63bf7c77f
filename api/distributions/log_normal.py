"""LogNormal: exponentials of normal numbers."""

from __future__ import annotations

import tt
from tt.distributions import constraints
from tt.distributions.normal import Normal
from tt.distributions.transformed_distribution import TransformedDistribution
from tt.distributions.transforms import ExpTransform

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """The distribution of the exponential of a normal number.

    Parameters
    ----------
    loc, scale : Tensor or float
        Mean and standard deviation of the logarithm.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.LogNormal(0.0, 1.0).mean
    tensor(1.6487)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Normal

    def __init__(
        self, loc: float | tt.Tensor, scale: float | tt.Tensor, validate_args: bool | None = None
    ) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def loc(self) -> tt.Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> tt.Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> tt.Tensor:
        return (self.loc + self.scale.square() / 2).exp()

    @property
    def mode(self) -> tt.Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> tt.Tensor:
        squared = self.scale.square()
        return squared.expm1() * (2 * self.loc + squared).exp()

    def entropy(self) -> tt.Tensor:
        return self.base_dist.entropy() + self.loc
