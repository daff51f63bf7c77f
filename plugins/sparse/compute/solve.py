"""Systems of equations with a sparse matrix."""

from __future__ import annotations

from typing import Any

from tt.core.library import errors
from tt.plugins.sparse.compute.library import ArrayLibrary
from tt.plugins.sparse.layouts import Array, Handle

__all__ = ["spsolve"]


def spsolve(lib: ArrayLibrary, A: Handle, B: Array, left: bool) -> Any:  # noqa: N803 - PyTorch's names
    """Return X with A X = B, or with X A = B unless `left`."""
    if A.ndim != 2 or A.dense_dim or A.shape[0] != A.shape[1]:
        raise errors.ShapeError(f"spsolve(): the matrix A must be square, but has the size {list(A.shape)}")
    if B.ndim not in (1, 2) or B.shape[0 if left or B.ndim == 1 else 1] != A.shape[0]:
        raise errors.ShapeError(
            f"spsolve(): B must have as many rows as A, {A.shape[0]}, but has the size {list(B.shape)}"
        )
    csc = lib.matrix(A if A.layout == "sparse_csc" else lib.convert(A, "sparse_csc"))
    csc = csc if left else csc.T.tocsc()
    try:
        solution = lib.solve(csc, B if left or B.ndim == 1 else B.T)
    except RuntimeError as error:
        raise errors.LinAlgError(f"spsolve(): the matrix A is singular: {error}") from error
    return solution if left or B.ndim == 1 else lib.xp.ascontiguousarray(solution.T)
