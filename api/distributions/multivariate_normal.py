"""MultivariateNormal: normal vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import tt
from tt.distributions import constraints
from tt.distributions._matrices import batch_mahalanobis, batch_mv, half_log_det, precision_to_scale_tril
from tt.distributions.distribution import Distribution
from tt.distributions.utils import lazy_property

__all__ = ["MultivariateNormal"]


class MultivariateNormal(Distribution):
    r"""The normal distribution of vectors, :math:`p(x) \propto \exp(-(x - loc)^T covariance^{-1} (x - loc) / 2)`.

    Parameters
    ----------
    loc : Tensor
        The mean.
    covariance_matrix : Tensor, optional
        Positive definite.
    precision_matrix : Tensor, optional
        Its inverse.
    scale_tril : Tensor, optional
        Its Cholesky factor, from which everything is computed; one of the three is given.
    validate_args : bool, optional
        See `Distribution`.

    Raises
    ------
    ValueError
        If not just one matrix is given, or dimensions are missing.

    Examples
    --------
    >>> import tt
    >>> d = tt.distributions.MultivariateNormal(tt.zeros(2), tt.tensor([[2.0, 1.0], [1.0, 2.0]]))
    >>> d.log_prob(tt.zeros(2)), d.mean
    (tensor(-2.3872), tensor([0., 0.]))
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _batched = {"loc": 1, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}
    _unbroadcasted_scale_tril: tt.Tensor
    """The Cholesky factor of the covariance, with the batch that was given."""

    def __init__(
        self,
        loc: Any,
        covariance_matrix: tt.Tensor | None = None,
        precision_matrix: tt.Tensor | None = None,
        scale_tril: tt.Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not tt.is_tensor(loc) or loc.dim() < 1:
            raise tt.errors.ValueRangeError("loc must be at least one-dimensional.")
        name, matrix = only_matrix(covariance_matrix, precision_matrix, scale_tril)
        batch = tt.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(loc.shape[:-1]))
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        self.loc = loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        # Of the matrix as it was given: expanding first would factorise each copy.
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    def _copy_from(self, other: Self) -> None:
        self._unbroadcasted_scale_tril = other._unbroadcasted_scale_tril

    @lazy_property
    def scale_tril(self) -> tt.Tensor:
        """The Cholesky factor of the covariance."""
        return self._unbroadcasted_scale_tril.expand(
            (*self._batch_shape, *self._event_shape, *self._event_shape)
        )

    @lazy_property
    def covariance_matrix(self) -> tt.Tensor:
        """The covariance."""
        result = self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT
        return result.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def precision_matrix(self) -> tt.Tensor:
        """The inverse of the covariance."""
        result = tt.cholesky_inverse(self._unbroadcasted_scale_tril)
        return result.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @property
    def mean(self) -> tt.Tensor:
        return self.loc

    @property
    def mode(self) -> tt.Tensor:
        return self.loc

    @property
    def variance(self) -> tt.Tensor:
        return (
            self._unbroadcasted_scale_tril.square().sum(-1).expand((*self._batch_shape, *self._event_shape))
        )

    def rsample(self, sample_shape: Sequence[int] = ()) -> tt.Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = tt.randn(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + batch_mv(self._unbroadcasted_scale_tril, drawn)

    def log_prob(self, value: tt.Tensor) -> tt.Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> tt.Tensor:
        result = half_log_det(self._unbroadcasted_scale_tril) + 0.5 * self._event_shape[0] * (
            1.0 + math.log(2 * math.pi)
        )
        return result.expand(self._batch_shape)


# Distributions outside of tt import these by PyTorch's names.
_batch_mahalanobis = batch_mahalanobis
_batch_mv = batch_mv
_precision_to_scale_tril = precision_to_scale_tril


def only_matrix(covariance: object, precision: object, factor: object) -> tuple[str, tt.Tensor]:
    """Return the name and the value of the one matrix of three that is given."""
    named = {"covariance_matrix": covariance, "scale_tril": factor, "precision_matrix": precision}
    present = [(name, value) for name, value in named.items() if value is not None]
    if len(present) != 1:
        raise tt.errors.ValueRangeError(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
        )
    name, matrix = present[0]
    if not tt.is_tensor(matrix) or matrix.dim() < 2:
        raise tt.errors.ValueRangeError(
            f"{name} must be at least two-dimensional, with optional leading batch."
        )
    return name, matrix


def factor_of(name: str, matrix: tt.Tensor) -> tt.Tensor:
    """Return the Cholesky factor of a covariance that is given as one of three matrices."""
    if name == "scale_tril":
        return matrix
    return tt.linalg.cholesky(matrix) if name == "covariance_matrix" else precision_to_scale_tril(matrix)
