"""Wishart: covariances of samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import tt
from tt.distributions import constraints
from tt.distributions._matrices import half_log_det
from tt.distributions.chi2 import Chi2
from tt.distributions.exp_family import ExponentialFamily
from tt.distributions.multivariate_normal import factor_of, only_matrix
from tt.distributions.utils import lazy_property
from tt.library import warn_user

__all__ = ["Wishart"]


class Wishart(ExponentialFamily):
    r"""The Wishart distribution of positive definite matrices.

    Its density is :math:`p(X) \propto |X|^{(df - n - 1) / 2} e^{-tr(V^{-1} X) / 2}` for matrices of n rows.

    Samples are products of lower triangular matrices, by the method of Bartlett, "On the theory of statistical
    regression", 1933, and differentiable.

    Parameters
    ----------
    df : Tensor or float
        The degrees of freedom, above the number of rows minus 1.
    covariance_matrix : Tensor, optional
        V, positive definite.
    precision_matrix : Tensor, optional
        Its inverse.
    scale_tril : Tensor, optional
        Its Cholesky factor; one of the three is given.
    validate_args : bool, optional
        See `Distribution`.

    Raises
    ------
    ValueError
        If not just one matrix is given, or `df` is too small.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.Wishart(4.0, tt.eye(2))
    >>> d.mean
    tensor([[4., 0.],
            [0., 4.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = {"df": 0, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}
    _unbroadcasted_scale_tril: tt.Tensor
    """The Cholesky factor of V, with the batch that was given."""

    def __init__(
        self,
        df: float | tt.Tensor,
        covariance_matrix: tt.Tensor | None = None,
        precision_matrix: tt.Tensor | None = None,
        scale_tril: tt.Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = only_matrix(covariance_matrix, precision_matrix, scale_tril)
        if not tt.is_tensor(df):
            df = tt.tensor(float(df), dtype=matrix.dtype, device=matrix.device)
        batch = tt.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(df.shape))
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        self.df = df.expand(batch)
        size = int(matrix.shape[-1])
        # Below that the distribution has no density.
        if bool((self.df <= size - 1).any()):
            raise tt.errors.ValueRangeError(
                f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}."
            )
        if bool((self.df < size).any()):
            warn_user(
                f"Wishart(): df is below {size}, the number of rows: samples are often singular\n  try: a larger df"
            )
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)
        self._chi2 = self._chi2_of_rows()

    def _chi2_of_rows(self) -> Chi2:
        """Return the distributions of the squares of the diagonal in Bartlett's method."""
        row = tt.arange(self._event_shape[-1], dtype=self.df.dtype, device=self.df.device)
        return Chi2(self.df.unsqueeze(-1) - row, validate_args=False)

    def _copy_from(self, other: Self) -> None:
        self._unbroadcasted_scale_tril = other._unbroadcasted_scale_tril
        self._chi2 = self._chi2_of_rows()

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    @lazy_property
    def scale_tril(self) -> tt.Tensor:
        """The Cholesky factor of V."""
        return self._unbroadcasted_scale_tril.expand((*self._batch_shape, *self._event_shape))

    @lazy_property
    def covariance_matrix(self) -> tt.Tensor:
        """V, the mean divided by the degrees of freedom."""
        return (self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT).expand(
            (*self._batch_shape, *self._event_shape)
        )

    @lazy_property
    def precision_matrix(self) -> tt.Tensor:
        """The inverse of V."""
        return tt.cholesky_inverse(self._unbroadcasted_scale_tril).expand(
            (*self._batch_shape, *self._event_shape)
        )

    def _per_matrix(self, value: tt.Tensor) -> tt.Tensor:
        return value.unsqueeze(-1).unsqueeze(-1)

    @property
    def mean(self) -> tt.Tensor:
        return self._per_matrix(self.df) * self.covariance_matrix

    @property
    def mode(self) -> tt.Tensor:
        factor = self.df - self._event_shape[-1] - 1
        return self._per_matrix(tt.where(factor <= 0, math.nan, factor)) * self.covariance_matrix

    @property
    def variance(self) -> tt.Tensor:
        diagonal = self.covariance_matrix.diagonal(0, -2, -1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self._per_matrix(self.df) * (self.covariance_matrix.square() + products)

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        shape = self._extended_shape(sample_shape)
        diagonal = self._chi2.rsample(sample_shape).clamp(min=tt.finfo(self.df.dtype).tiny).sqrt()
        # Bartlett: chi numbers on the diagonal and normal ones below it are the factor of a standard
        # Wishart matrix.
        below = tt.randn(
            shape, dtype=self._unbroadcasted_scale_tril.dtype, device=self._unbroadcasted_scale_tril.device
        ).tril(-1)
        factor = self._unbroadcasted_scale_tril @ (below + diagonal.diag_embed())
        return factor @ factor.mT

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        p, half = self._event_shape[-1], self.df / 2
        factor = self._unbroadcasted_scale_tril.expand(
            (*tt.broadcast_shapes(self._batch_shape, value.shape[:-2]), p, p)
        )
        trace = tt.cholesky_solve(value.expand(factor.shape), factor).diagonal(0, -2, -1).sum(-1)
        determinant = (self.df - p - 1) / 2 * tt.linalg.slogdet(value)[1]
        return determinant - trace / 2 - self._half_log_norm() * self.df - tt.mvlgamma(half, p)

    def _half_log_norm(self) -> tt.Tensor:
        """Return half of log |2 V|."""
        return self._event_shape[-1] * math.log(2) / 2 + half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> tt.Tensor:
        p, half = self._event_shape[-1], self.df / 2
        row = tt.arange(p, dtype=half.dtype, device=half.device)
        slope = tt.digamma(half.unsqueeze(-1) - row / 2).sum(-1)
        result = (p + 1) * self._half_log_norm() + tt.mvlgamma(half, p)
        return result - (self.df - p - 1) / 2 * slope + self.df * p / 2

    @property
    def _natural_params(self) -> tuple[tt.Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return tt.mvlgamma(half, p) - half * tt.linalg.slogdet(-x)[1]
