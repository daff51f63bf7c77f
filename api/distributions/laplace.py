"""Laplace: exponential to both sides."""

from __future__ import annotations

import math
from collections.abc import Sequence

import tt
from tt.distributions import constraints
from tt.distributions.distribution import Distribution
from tt.distributions.utils import broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    r"""The Laplace distribution, :math:`p(x) = \exp(-|x - loc| / scale) / (2 scale)`.

    Parameters
    ----------
    loc : Tensor or float
        The mean.
    scale : Tensor or float
        The mean distance from it.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.Laplace(0.0, 1.0).log_prob(tt.tensor(0.0))
    tensor(-0.6931)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _batched = {"loc": 0, "scale": 0}

    def __init__(
        self, loc: float | tt.Tensor, scale: float | tt.Tensor, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> tt.Tensor:
        return self.loc

    @property
    def mode(self) -> tt.Tensor:
        return self.loc

    @property
    def variance(self) -> tt.Tensor:
        return 2 * self.scale.square()

    @property
    def stddev(self) -> tt.Tensor:
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        shape = self._extended_shape(sample_shape)
        # 2 u - 1 lies in [-1, 1); -1, where the logarithm is infinite, is moved by a rounding error.
        u = 2 * tt.rand(shape, dtype=self.loc.dtype, device=self.loc.device) - 1
        inside = u.abs().clamp(max=1 - tt.finfo(self.loc.dtype).eps / 2)
        return self.loc - self.scale * u.sign() * tt.log1p(-inside)

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -tt.log(2 * self.scale) - tt.abs(value - self.loc) / self.scale

    def cdf(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * tt.expm1(-distance.abs() / self.scale)

    def icdf(self, value: tt.Tensor) -> tt.Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * tt.log1p(-2 * term.abs())

    def entropy(self) -> tt.Tensor:
        return 1 + tt.log(2 * self.scale)
