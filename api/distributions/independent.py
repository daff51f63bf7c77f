"""Independent: a batch of distributions as one of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import tt
from tt.distributions import constraints
from tt.distributions._transforms_base import sum_rightmost
from tt.distributions.distribution import Distribution

__all__ = ["Independent"]


class Independent(Distribution):
    """Counts some batch dimensions of a distribution as dimensions of its samples.

    Parameters
    ----------
    base_distribution : Distribution
        The distribution of the parts.
    reinterpreted_batch_ndims : int
        How many of its last batch dimensions.
    validate_args : bool, optional
        See `Distribution`.

    Raises
    ------
    ValueError
        If there are not that many batch dimensions.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.Independent(tt.distributions.Normal(tt.zeros(3), tt.ones(3)), 1)
    >>> d.batch_shape, d.event_shape, d.log_prob(tt.zeros(3))
    (tt.Size([]), tt.Size([3]), tensor(-2.7568))
    """

    arg_constraints: Any = {}

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise tt.errors.ValueRangeError(
                f"Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(batch)}"
            )
        shape = (*batch, *base_distribution.event_shape)
        cut = len(batch) - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._get_checked_instance(self._owner(), _instance)
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims
        new.base_dist = self.base_dist.expand(
            (*batch_shape, *self._event_shape[: self.reinterpreted_batch_ndims])
        )
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def has_rsample(self) -> Any:
        """Whether samples have gradients."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> Any:
        """Whether values can be listed; vectors cannot."""
        return False if self.reinterpreted_batch_ndims > 0 else self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        support = self.base_dist.support
        more = self.reinterpreted_batch_ndims
        return constraints.independent(support, more) if more else support

    @property
    def mean(self) -> tt.Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> tt.Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> tt.Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> tt.Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> tt.Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise tt.errors.UnsupportedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist!r}, {self.reinterpreted_batch_ndims})"
