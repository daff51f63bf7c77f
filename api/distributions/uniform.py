"""Uniform: one density between two bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tt
from tt.distributions import constraints
from tt.distributions.distribution import Distribution
from tt.distributions.utils import broadcast_all

__all__ = ["Uniform"]


class Uniform(Distribution):
    """The uniform distribution between two bounds, without the upper one.

    Parameters
    ----------
    low, high : Tensor or float
        The bounds.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.Uniform(0.0, 4.0)
    >>> d.mean, d.cdf(tt.tensor(1.0))
    (tensor(2.), tensor(0.2500))
    """

    has_rsample = True
    _batched = {"low": 0, "high": 0}

    def __init__(
        self, low: float | tt.Tensor, high: float | tt.Tensor, validate_args: bool | None = None
    ) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> tt.Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> tt.Tensor:
        return math.nan * self.high

    @property
    def stddev(self) -> tt.Tensor:
        return (self.high - self.low) / math.sqrt(12)

    @property
    def variance(self) -> tt.Tensor:
        return (self.high - self.low).square() / 12

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = tt.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        inside = ((self.low <= value) & (value < self.high)).to(self.low.dtype)
        # The logarithm of 0 or 1: minus infinity outside.
        return inside.log() - tt.log(self.high - self.low)

    def cdf(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: tt.Tensor) -> tt.Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> tt.Tensor:
        return tt.log(self.high - self.low)
