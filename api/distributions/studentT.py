"""StudentT: normal numbers of an estimated variance."""  # noqa: N999  PyTorch's name

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import tt
from tt.distributions import constraints
from tt.distributions.chi2 import Chi2
from tt.distributions.distribution import Distribution
from tt.distributions.utils import broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    r"""Student's t-distribution, :math:`p(x) \propto (1 + ((x - loc) / scale)^2 / df)^{-(df + 1) / 2}`.

    Samples are differentiable by all parameters.

    Parameters
    ----------
    df : Tensor or float
        The degrees of freedom.
    loc, scale : Tensor or float
        The median and the width.
    validate_args : bool, optional
        See `Distribution`.

    Examples
    --------
    >>> import tt
    >>> tt.distributions.StudentT(4.0).variance
    tensor(2.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _batched = {"df": 0, "loc": 0, "scale": 0}

    def __init__(
        self,
        df: float | tt.Tensor,
        loc: float | tt.Tensor = 0.0,
        scale: float | tt.Tensor = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df, validate_args=False)
        super().__init__(self.df.shape, validate_args=validate_args)

    def _copy_from(self, other: Self) -> None:
        self._chi2 = other._chi2.expand(self._batch_shape)

    @property
    def mean(self) -> tt.Tensor:
        return tt.where(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self) -> tt.Tensor:
        return self.loc

    @property
    def variance(self) -> tt.Tensor:
        finite = self.df > 2
        df = tt.where(finite, self.df, 3.0)
        result = tt.where(finite, self.scale.square() * df / (df - 2), math.inf)
        return tt.where(self.df <= 1, math.nan, result)

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = tt.randn(shape, dtype=self.df.dtype, device=self.df.device)
        squares = self._chi2.rsample(sample_shape)
        # A normal number over the root of a chi-squared one by its degrees of freedom.
        return self.loc + self.scale * drawn * tt.rsqrt(squares / self.df)

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        normalizer = (
            self.scale.log()
            + 0.5 * (self.df.log() + math.log(math.pi))
            + tt.lgamma(0.5 * self.df)
            - tt.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * tt.log1p(y.square() / self.df) - normalizer

    def entropy(self) -> tt.Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = tt.lgamma(half) + math.lgamma(0.5) - tt.lgamma(more)
        slope = more * (tt.digamma(more) - tt.digamma(half))
        return self.scale.log() + slope + 0.5 * self.df.log() + log_beta
