"""TransformedDistribution: a distribution of transformed samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import tt
from tt.distributions import constraints
from tt.distributions._transforms_base import sum_rightmost
from tt.distributions.distribution import Distribution
from tt.distributions.independent import Independent
from tt.distributions.transforms import ComposeTransform, Transform

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    r"""The distribution of f(x) for samples x of another distribution and an invertible f.

    Its density is :math:`p(y) = p_X(f^{-1}(y)) |\det df^{-1}(y) / dy|`.

    Parameters
    ----------
    base_distribution : Distribution
        The distribution of x.
    transforms : Transform or list of Transform
        Applied one after the other.
    validate_args : bool, optional
        See `Distribution`.

    Raises
    ------
    ValueError
        If the transforms are none, or the samples of the base have too few dimensions for them.

    Examples
    --------
    >>> import tt
    >>> from tt.distributions import AffineTransform, Normal, TransformedDistribution
    >>> d = TransformedDistribution(Normal(0.0, 1.0), AffineTransform(1.0, 2.0))
    >>> tt.allclose(d.log_prob(tt.tensor(2.0)), Normal(1.0, 2.0).log_prob(tt.tensor(2.0)))
    True
    """

    arg_constraints: Any = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Any,
        validate_args: bool | None = None,
    ) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list) and all(isinstance(t, Transform) for t in transforms):
            self.transforms = transforms
        else:
            raise tt.errors.ValueRangeError(
                f"transforms must be a Transform or a list of them, but it is {transforms!r}"
            )
        base_shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        events = len(base_distribution.event_shape)
        transform = ComposeTransform(self.transforms)
        if len(base_shape) < transform.domain.event_dim:
            raise tt.errors.ValueRangeError(
                f"the transform needs samples of at least {transform.domain.event_dim} dimensions, and those of "
                f"the base distribution have {len(base_shape)}"
            )
        forward_shape = tuple(transform.forward_shape(base_shape))
        needed = tuple(transform.inverse_shape(forward_shape))
        # A transform's parameters may broadcast samples to a larger batch.
        if base_shape != needed:
            base_distribution = base_distribution.expand(needed[: len(needed) - events])
        more = transform.domain.event_dim - events
        # The transform takes together what the base counts as a batch.
        if more > 0:
            base_distribution = Independent(base_distribution, more)
            events += more
        self.base_dist = base_distribution
        change = transform.codomain.event_dim - transform.domain.event_dim
        # One event is the widest of a value of the transform and a sample of the base.
        cut = len(forward_shape) - max(transform.codomain.event_dim, events + change)
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._get_checked_instance(self._owner(), _instance)
        new.transforms = self.transforms
        shape: Sequence[int] = (*batch_shape, *self._event_shape)
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        events = len(self.base_dist.event_shape)
        new.base_dist = self.base_dist.expand(tuple(shape)[: len(shape) - events])
        self._expand_attributes(new, tt.Size(batch_shape))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self._event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    @property
    def has_rsample(self) -> Any:
        """Whether samples have gradients, as those of the base do."""
        return self.base_dist.has_rsample

    def sample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        with tt.no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def _transformed(self, x: tt.Tensor) -> tt.Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        event_dim = len(self._event_shape)
        result: float | tt.Tensor = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            result = result - sum_rightmost(
                transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim
            )
            y = x
        of_base = self.base_dist.log_prob(y)
        return result + sum_rightmost(of_base, event_dim - len(self.base_dist.event_shape))

    def _upwards(self, probability: tt.Tensor) -> tt.Tensor:
        """Exchange a probability and its complement if the transforms decrease."""
        sign: int | tt.Tensor = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        # Signs that are tensors are computed with, because elements may differ in them.
        if isinstance(sign, int) and sign == 1:
            return probability
        return sign * (probability - 0.5) + 0.5

    def cdf(self, value: tt.Tensor) -> tt.Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._upwards(self.base_dist.cdf(value))

    def icdf(self, value: tt.Tensor) -> tt.Tensor:
        return self._transformed(self.base_dist.icdf(self._upwards(value)))
