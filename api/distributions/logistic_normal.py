"""LogisticNormal: probabilities by normal numbers."""

from __future__ import annotations

from typing import cast

import tt
from tt.distributions import constraints
from tt.distributions.independent import Independent
from tt.distributions.normal import Normal
from tt.distributions.transformed_distribution import TransformedDistribution
from tt.distributions.transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Vectors of probabilities: vectors of normal numbers after `StickBreakingTransform`, with one number more.

    Parameters
    ----------
    loc, scale : Tensor or float
        Means and standard deviations of the normal numbers.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.LogisticNormal(tt.zeros(3), tt.ones(3))
    >>> d.event_shape, tt.allclose(d.sample().sum(), tt.tensor(1.0))
    (tt.Size([4]), True)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self, loc: float | tt.Tensor, scale: float | tt.Tensor, validate_args: bool | None = None
    ) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        # The transform takes vectors.
        if not base.batch_shape:
            base = base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def _normal(self) -> Normal:
        return cast(Normal, cast(Independent, self.base_dist).base_dist)

    @property
    def loc(self) -> tt.Tensor:
        """The means of the normal numbers."""
        return self._normal.loc

    @property
    def scale(self) -> tt.Tensor:
        """The standard deviations of the normal numbers."""
        return self._normal.scale
