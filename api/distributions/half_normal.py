"""HalfNormal: absolute values of normal numbers."""

from __future__ import annotations

import math

import tt
from tt.distributions._folded import Folded
from tt.distributions.normal import Normal
from tt.distributions.transforms import AbsTransform

__all__ = ["HalfNormal"]


class HalfNormal(Folded):
    """The distribution of the absolute value of a normal number with mean 0.

    Parameters
    ----------
    scale : Tensor or float
        The standard deviation of the normal number.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.HalfNormal(1.0).mean
    tensor(0.7979)
    """

    def __init__(self, scale: float | tt.Tensor, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> tt.Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> tt.Tensor:
        return self.scale.square() * (1 - 2 / math.pi)
