"""Products and distances with Cholesky factors, for distributions of vectors and matrices."""

from __future__ import annotations

import tt

__all__ = ["batch_mahalanobis", "batch_mv", "half_log_det", "precision_to_scale_tril"]


def batch_mv(matrix: tt.Tensor, vector: tt.Tensor) -> tt.Tensor:
    """Return products of matrices and vectors; both have a batch."""
    return tt.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def batch_mahalanobis(factor: tt.Tensor, x: tt.Tensor) -> tt.Tensor:
    """Return the squared lengths of L^-1 x, for lower triangular L.

    One factor serves all vectors at once, without a copy for each.
    """
    # One factor for all vectors: they are the columns of one right side, not a batch of systems.
    if factor.dim() == 2:
        flat = x.reshape(-1, x.shape[-1])
        solved = tt.linalg.solve_triangular(factor, flat.mT, upper=False)
        return solved.square().sum(0).reshape(tuple(x.shape[:-1]))
    shape = tt.broadcast_shapes(tuple(factor.shape[:-2]), tuple(x.shape[:-1]))
    size = x.shape[-1]
    wide = factor.expand((*shape, size, size))
    column = x.expand((*shape, size)).unsqueeze(-1)
    return tt.linalg.solve_triangular(wide, column, upper=False).squeeze(-1).square().sum(-1)


def half_log_det(factor: tt.Tensor) -> tt.Tensor:
    """Return the logarithm of the determinant of a triangular matrix: half that of L L^T."""
    return factor.diagonal(0, -2, -1).log().sum(-1)


def precision_to_scale_tril(precision: tt.Tensor) -> tt.Tensor:
    """Return the Cholesky factor of the inverse.

    With rows and columns reversed, P = L L^T becomes P = U U^T, and the inverse of U^T is lower triangular.
    """
    # Reversing rows and columns turns P = L L^T into P = U U^T; then U^-T is the factor of P^-1, and
    # nothing is inverted.
    reversed_factor = tt.linalg.cholesky(precision.flip(-2, -1))
    upper = reversed_factor.flip(-2, -1)
    identity = tt.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return tt.linalg.solve_triangular(upper.mT, identity.expand(tuple(precision.shape)), upper=False)
