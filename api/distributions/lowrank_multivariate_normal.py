"""LowRankMultivariateNormal: normal vectors with few directions of correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import tt
from tt.distributions import constraints
from tt.distributions._matrices import batch_mahalanobis, batch_mv, half_log_det
from tt.distributions.distribution import Distribution
from tt.distributions.utils import lazy_property

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    r"""`MultivariateNormal` with the covariance :math:`W W^T + diag(D)`, for a W of few columns.

    Inverse and determinant are those of a matrix with as many rows as W has columns, by the formula of Woodbury and
    the matrix determinant lemma.

    Parameters
    ----------
    loc : Tensor
        The mean.
    cov_factor : Tensor
        W, with a row for each element of the mean.
    cov_diag : Tensor
        D, positive.
    validate_args : bool, optional
        See `Distribution`.

    Raises
    ------
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.LowRankMultivariateNormal(tt.zeros(2), tt.ones(2, 1), tt.ones(2))
    >>> d.covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _batched = {
        "loc": 1, "cov_factor": 2, "cov_diag": 1, "scale_tril": 2, "covariance_matrix": 2, "precision_matrix": 2,
    }  # fmt: skip
    _capacitance_tril: tt.Tensor
    """The Cholesky factor of I + W^T D^-1 W."""

    def __init__(
        self, loc: tt.Tensor, cov_factor: tt.Tensor, cov_diag: tt.Tensor, validate_args: bool | None = None
    ) -> None:
        for name, value in (("loc", loc), ("cov_factor", cov_factor), ("cov_diag", cov_diag)):
            if not tt.is_tensor(value):
                raise tt.errors.ValueRangeError(f"{name} is a tensor, not {type(value).__name__}")
        if loc.dim() < 1:
            raise tt.errors.ValueRangeError("loc must be at least one-dimensional.")
        if cov_factor.dim() < 2:
            raise tt.errors.ValueRangeError(
                "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
            )
        size = loc.shape[-1]
        if cov_factor.shape[-2] != size:
            raise tt.errors.ValueRangeError(f"cov_factor must be a batch of matrices with shape {size} x m")
        if cov_diag.dim() < 1 or cov_diag.shape[-1] != size:
            raise tt.errors.ValueRangeError(f"cov_diag must be a batch of vectors with shape ({size},)")
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        batch = tt.broadcast_shapes(
            tuple(loc.shape[:-1]), tuple(cov_factor.shape[:-2]), tuple(cov_diag.shape[:-1])
        )
        self.loc = loc.expand((*batch, -1))
        self.cov_factor = cov_factor.expand((*batch, -1, -1))
        self.cov_diag = cov_diag.expand((*batch, -1))
        super().__init__(batch, (size,), validate_args=validate_args)
        scaled = cov_factor.mT / cov_diag.unsqueeze(-2)
        identity = tt.eye(cov_factor.shape[-1], dtype=scaled.dtype, device=scaled.device)
        # As many rows as W has columns: everything below costs n m^2 instead of n^3.
        self._capacitance_tril = tt.linalg.cholesky(scaled @ cov_factor + identity)

    def _copy_from(self, other: Self) -> None:
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = other._given
        self._capacitance_tril = other._capacitance_tril

    @property
    def _given(self) -> tuple[tt.Tensor, tt.Tensor]:
        """The factor and the diagonal, with the batches that were given."""
        return self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag

    @property
    def mean(self) -> tt.Tensor:
        return self.loc

    @property
    def mode(self) -> tt.Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> tt.Tensor:
        factor, diag = self._given
        return (factor.square().sum(-1) + diag).expand((*self._batch_shape, *self._event_shape))

    def _of_batch(self, matrix: tt.Tensor) -> tt.Tensor:
        return matrix.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> tt.Tensor:
        """The Cholesky factor of the covariance, through that of I + D^-1/2 W W^T D^-1/2, which is well conditioned."""
        factor, diag = self._given
        root = diag.sqrt().unsqueeze(-1)
        scaled = factor / root
        identity = tt.eye(self._event_shape[0], dtype=scaled.dtype, device=scaled.device)
        return self._of_batch(root * tt.linalg.cholesky(scaled @ scaled.mT + identity))

    @lazy_property
    def covariance_matrix(self) -> tt.Tensor:
        """The covariance."""
        factor, diag = self._given
        return self._of_batch(factor @ factor.mT + diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> tt.Tensor:
        """The inverse of the covariance, by Woodbury's formula."""
        factor, diag = self._given
        scaled = factor.mT / diag.unsqueeze(-2)
        solved = tt.linalg.solve_triangular(self._wide(scaled), scaled, upper=False)
        return self._of_batch(diag.reciprocal().diag_embed() - solved.mT @ solved)

    def _wide(self, other: tt.Tensor) -> tt.Tensor:
        """Return the capacitance's factor with the batch of a matrix."""
        return self._capacitance_tril.expand((*other.shape[:-2], -1, -1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        shape = self._extended_shape(sample_shape)
        factor, diag = self._given
        like: dict[str, Any] = {"dtype": self.loc.dtype, "device": self.loc.device}
        # W a + D^1/2 b has the covariance W W^T + D.
        along = batch_mv(factor, tt.randn((*shape[:-1], factor.shape[-1]), **like))
        return self.loc + along + diag.sqrt() * tt.randn(shape, **like)

    def _log_det(self) -> tt.Tensor:
        # The determinant lemma: |W W^T + D| = |I + W^T D^-1 W| |D|.
        return 2 * half_log_det(self._capacitance_tril) + self._given[1].log().sum(-1)

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        factor, diag = self._given
        distance = low_rank_distance(factor, diag, self._capacitance_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self) -> tt.Tensor:
        result = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return result.expand(self._batch_shape)


def low_rank_distance(factor: tt.Tensor, diag: tt.Tensor, capacitance: tt.Tensor, x: tt.Tensor) -> tt.Tensor:
    """Return x^T (W W^T + D)^-1 x."""
    projected = batch_mv(factor.mT, x / diag)
    return (x.square() / diag).sum(-1) - batch_mahalanobis(capacitance, projected)
