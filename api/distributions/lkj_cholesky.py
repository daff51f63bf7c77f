"""LKJCholesky: Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import tt
from tt.distributions import constraints
from tt.distributions.beta import Beta
from tt.distributions.distribution import Distribution
from tt.distributions.utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    r"""The distribution of Cholesky factors of correlation matrices M with a density in proportion to a power of det M.

    The power is :math:`concentration - 1`: with 1, all correlation matrices are as likely. Samples are drawn by the
    onion method of Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended
    onion method", 2009.

    Parameters
    ----------
    dim : int
        The number of rows.
    concentration : Tensor or float
        The higher, the closer are samples to the identity.
    validate_args : bool, optional
        See `Distribution`.

    Raises
    ------
    ValueError
        If `dim` is less than 2.

    Examples
    --------
    >>> import tt
    >>> factor = tt.distributions.LKJCholesky(3, 0.5).sample()
    >>> tt.allclose((factor @ factor.mT).diagonal(), tt.ones(3))
    True
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: float | tt.Tensor = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise tt.errors.ValueRangeError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # The squared length of a row before its diagonal, k numbers in a random direction, is a beta number of the
        # concentrations k / 2 and concentration + (dim - 1 - k) / 2; of the first row it is not used.
        like: dict[str, Any] = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        row = tt.arange(dim - 1, **like)
        row = tt.cat([tt.zeros(1, **like), row])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(0.5 * row + 0.5, marginal.unsqueeze(-1) - 0.5 * row, validate_args=False)
        super().__init__(self.concentration.shape, (dim, dim), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._get_checked_instance(self._owner(), _instance)
        new.dim = self.dim
        new.concentration = self.concentration.expand(tt.Size(batch_shape))
        new._beta = self._beta.expand((*batch_shape, self.dim))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def sample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        like: dict[str, Any] = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        with tt.no_grad():
            squared = self._beta.sample(sample_shape).unsqueeze(-1)
            direction = tt.randn(self._extended_shape(sample_shape), **like).tril(-1)
            length = tt.linalg.norm(direction, dim=-1, keepdim=True)
            # The first row has no direction: 0/0.
            below = tt.arange(self.dim, device=self.concentration.device).unsqueeze(-1) > 0
            factor = tt.where(below, squared.sqrt() * direction / length, 0.0)
            rest = (1 - factor.square().sum(-1)).clamp(min=tt.finfo(factor.dtype).tiny)
            return factor + rest.sqrt().diag_embed()

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        c, rows = self.concentration, self.dim - 1
        diagonal = value.diagonal(0, -2, -1)[..., 1:]
        order = tt.arange(2, self.dim + 1, dtype=c.dtype, device=c.device)
        powers = (2 * (c - 1).unsqueeze(-1) + self.dim - order) * diagonal.log()
        # Formula 16 of the paper, for the Cholesky factor.
        alpha = c + 0.5 * rows
        normalizer = 0.5 * rows * math.log(math.pi) + tt.mvlgamma(alpha - 0.5, rows) - tt.lgamma(alpha) * rows
        return powers.sum(-1) - normalizer
