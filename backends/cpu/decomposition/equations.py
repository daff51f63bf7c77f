"""Kernels that solve equations, and of determinants and exponentials of matrices: NumPy's and SciPy's."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.backends.cpu.decomposition.factors import order_of_rows
from tt.backends.cpu.lapack import (
    expect,
    expect_finite,
    in_single_precision,
    is_square,
    lapack,
    raise_singular,
    raise_unconverged,
)
from tt.core.library import KernelTable, errors

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu", by="NumPy")


@cpu.kernel("linalg_solve", dtypes="linalg")
def solve(A: Array, B: Array, left: bool) -> Any:
    expect(is_square(A) and B.ndim >= 1, "linalg.solve() takes square matrices")
    # PyTorch's rule: B is a batch of vectors only if its shape is that of A without the last dimension.
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    expect(left or not vector, "linalg.solve() takes matrices on the right")
    try:
        if vector:
            return np.linalg.solve(A, B[..., np.newaxis])[..., 0]
        if left:
            return np.linalg.solve(A, B)
        # X A = B is A^T X^T = B^T.
        return np.ascontiguousarray(np.linalg.solve(A.mT, B.mT).mT)
    except np.linalg.LinAlgError as error:
        return raise_singular("linalg.solve", A, error)


@cpu.kernel("linalg_inv", dtypes="linalg")
def inv(A: Array) -> Any:
    expect(is_square(A), "linalg.inv() takes square matrices")
    with suppress(
        np.linalg.LinAlgError
    ):  # of which the public function knows whether they are singular or hold NaN
        if (inverse := in_single_precision("inv", A)) is not None:
            return inverse
    try:
        inverse = np.linalg.inv(A)
        if np.isnan(inverse).any():  # LAPACK leaves out products with zeros, which PyTorch's does not
            inverse[np.isnan(A).any((-2, -1))] = np.nan
        return inverse
    except np.linalg.LinAlgError as error:
        return raise_singular("linalg.inv", A, error)


@cpu.kernel("linalg_solve_triangular", dtypes="linalg", check=True)
def solve_triangular(A: Array, B: Array, upper: bool, left: bool, unitriangular: bool) -> Any:
    from scipy.linalg.blas import get_blas_funcs

    batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    result = np.array(np.broadcast_to(B, (*batch, *B.shape[-2:])), order="C")
    if not result.size:
        return result
    (trsm,) = get_blas_funcs(("trsm",), (A, B))
    matrices = np.broadcast_to(A, (*batch, *A.shape[-2:]))
    for index in np.ndindex(batch):
        # BLAS reads the memory of rows as columns, so that it solves the transposed equation in place.
        target = result[index].T
        solved = trsm(
            1.0, matrices[index].T, target, side=left, lower=upper, diag=unitriangular, overwrite_b=True
        )
        # SciPy copies what it cannot overwrite, and returns the result elsewhere.
        if not np.may_share_memory(solved, target):
            target[...] = solved
    return result


@cpu.kernel("linalg_lu_solve", dtypes="linalg")
def lu_solve(LU: Array, pivots: Array, B: Array, left: bool, adjoint: bool) -> Any:
    expect(is_square(LU) and B.ndim >= 2, "linalg.lu_solve() takes square matrices")
    expect(B.shape[-2 if left else -1] == LU.shape[-1], "linalg.lu_solve() takes matrices that fit")
    expect(
        pivots.dtype == np.int32 and pivots.shape == LU.shape[:-1], "linalg.lu_solve() takes a pivot a row"
    )
    order = order_of_rows("linalg.lu_solve", pivots, LU.shape[-1]).reshape(pivots.shape)
    batch = np.broadcast_shapes(LU.shape[:-2], B.shape[:-2])
    rows = np.broadcast_to(order, (*batch, order.shape[-1]))[..., :, np.newaxis]
    right = np.broadcast_to(B if left else B.mT, (*batch, *(B if left else B.mT).shape[-2:]))
    # X A = B has both sides transposed: A^T X^T = B^T.
    conjugate, transposed = np.iscomplexobj(LU) and adjoint, left is adjoint
    factors = LU.conj() if conjugate else LU
    # A = P L U. The transposed equation is U^T, then L^T, then the rows in their former order.
    if transposed:
        solved = solve_triangular(factors.mT, right, False, True, False)
        solved = solve_triangular(factors.mT, solved, True, True, True)
        result = np.empty_like(solved)
        np.put_along_axis(result, rows, solved, -2)
    else:
        solved = solve_triangular(factors, np.take_along_axis(right, rows, -2), False, True, True)
        result = solve_triangular(factors, solved, True, True, False)
    return result if left else np.ascontiguousarray(result.mT)


@cpu.kernel("cholesky_solve", dtypes="linalg")
def cholesky_solve(self: Array, input2: Array, upper: bool) -> Any:
    expect(is_square(input2) and self.ndim >= 2, "cholesky_solve() takes square matrices")
    expect(self.shape[-2] == input2.shape[-1], "cholesky_solve() takes matrices that fit")
    # A = L L^H: either factor is given, and the other one is its conjugate transpose.
    turned = input2.mT.conj()
    lower, raised = (turned, input2) if upper else (input2, turned)
    half = solve_triangular(lower, self, False, True, False)
    return solve_triangular(raised, half, True, True, False)


@cpu.kernel("cholesky_inverse", dtypes="linalg")
def cholesky_inverse(self: Array, upper: bool) -> Any:
    expect(is_square(self), "cholesky_inverse() takes square matrices")
    return cholesky_solve(np.eye(self.shape[-1], dtype=self.dtype), self, upper)


@cpu.kernel("linalg_lstsq", dtypes="linalg", check=True)
def lstsq(A: Array, B: Array, rcond: float | None, driver: str | None) -> Any:
    from scipy import linalg

    vector = A.ndim - 1 == B.ndim and B.shape == A.shape[:-1]
    right = B[..., np.newaxis] if vector else B
    batch = np.broadcast_shapes(A.shape[:-2], right.shape[:-2])
    (m, n), columns = A.shape[-2:], right.shape[-1]
    real = np.empty(0, A.dtype).real.dtype
    solution = np.zeros((*batch, n, columns), A.dtype)
    if driver in ("gelsd", "gelss"):
        expect_finite("linalg.lstsq", A)
        expect_finite("linalg.lstsq", B)
    rank, values = np.zeros(batch, np.int64), np.zeros((*batch, min(m, n)), real)
    if m and n:
        cut = float(np.finfo(real).eps) * max(m, n) if rcond is None else rcond
        lefts, rights = np.broadcast_to(A, (*batch, m, n)), np.broadcast_to(right, (*batch, m, columns))
        if driver in ("gelsd", "gelss"):
            expect_finite("linalg.lstsq", lefts)
        if not columns:  # LAPACK finds no rank, or stops: it solves for zeros
            rights = np.zeros((*batch, m, 1), A.dtype)
        for index in np.ndindex(batch):
            # SciPy's lstsq has no gels.
            if driver == "gels":
                solution[index] = full_rank(lefts[index], rights[index])[..., :columns]
                continue
            try:
                solved, _, rank[index], singular = linalg.lstsq(
                    lefts[index],
                    rights[index],
                    cut,
                    check_finite=False,
                    lapack_driver=driver or "gelsy",
                )
            except np.linalg.LinAlgError as error:
                raise_unconverged("linalg.lstsq", lefts[index], error)
            solution[index] = solved[..., :columns]
            if singular is not None:
                values[index] = singular
    # The rank of a matrix shared by several right-hand sides is returned once.
    own = tuple(
        slice(None) if size == wide else slice(size) for size, wide in zip(A.shape[:-2], batch, strict=True)
    )
    measured = driver in ("gelsd", "gelss")
    residuals = np.empty((0,), real)
    # PyTorch returns residuals only where they mean something: more rows than columns, of full rank.
    if m > n and (driver == "gels" or (measured and (rank == n).all())):
        residuals = np.square(np.abs(np.matmul(A, solution) - right)).sum(-2, dtype=real)
    return (
        solution[..., 0] if vector else solution,
        residuals,
        rank[own] if driver != "gels" else np.empty((0,), np.int64),
        values[own] if measured else np.empty((0,), real),
    )


def full_rank(A: Array, B: Array) -> Any:
    """Return the least-squares solution for a matrix of full rank, by QR or LQ."""
    gels, gels_lwork = lapack("gels gels_lwork", A, B)
    m, n = A.shape
    # LAPACK writes the solution, which has n rows, over the right-hand side, which has m.
    padded = np.zeros((max(m, n), B.shape[1]), A.dtype)
    padded[:m] = B
    work = int(gels_lwork(m, n, B.shape[1])[0].real)
    _, solution, info = gels(A, padded, lwork=work)
    if info > 0:
        raise errors.LinAlgError(
            f"linalg.lstsq: the input matrix is not of full rank: element {info} of the diagonal of its triangular "
            f"factor is zero; use driver='gelsd'"
        )
    return solution[:n]


@cpu.kernel("linalg_det", dtypes="linalg")
def det(A: Array) -> Any:
    expect(is_square(A), "linalg.det() takes square matrices")
    return np.linalg.det(A)


@cpu.kernel("linalg_slogdet", dtypes="linalg")
def slogdet(A: Array) -> Any:
    expect(is_square(A), "linalg.slogdet() takes square matrices")
    return tuple(np.linalg.slogdet(A))
