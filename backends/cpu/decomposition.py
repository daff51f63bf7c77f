"""Kernels of decompositions and of what solves equations: NumPy's for batches, SciPy's LAPACK where NumPy lacks it."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any, Final, Literal

import numpy as np

from tt.backends.cpu.backend import Array
from tt.core.library import KernelTable, errors

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")


def expect(condition: bool, what: str) -> None:
    """Raise for a call that the shape rule then explains."""
    if not condition:
        raise ValueError(what)


def is_square(A: Array) -> bool:
    """Return whether an array holds square matrices."""
    return A.ndim >= 2 and A.shape[-1] == A.shape[-2]


def lapack(names: str, *arrays: Array) -> Any:
    """Return LAPACK's functions for the dtype of arrays."""
    from scipy.linalg.lapack import get_lapack_funcs

    return get_lapack_funcs(names.split(), arrays)


def element(place: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """Return which matrix of a batch a message is about."""
    return f"(Batch element {int(np.ravel_multi_index(place, shape))}): " if shape else ""


def raise_singular(op: str, A: Array, error: Exception) -> None:
    """Raise the error of a singular matrix, with its place in the batch and the column without a pivot."""
    (getrf,) = lapack("getrf", A)
    for place in np.ndindex(A.shape[:-2]):
        info = getrf(A[place])[2]
        if info > 0:
            raise errors.LinAlgError(
                f"{op}: {element(place, A.shape[:-2])}the input matrix is singular: no pivot is left in column {info}, "
                f"so that diagonal element is zero"
            ) from error
    raise errors.LinAlgError(f"{op}: the input matrix is singular ({error})") from error


def raise_unconverged(op: str, A: Array, error: Exception) -> None:
    """Raise the error of an iteration that does not end."""
    why = "" if np.isfinite(A).all() else ": the input has infinite elements or NaN"
    raise errors.LinAlgError(f"{op}: the iteration did not settle{why} ({error})") from error


def expect_finite(op: str, A: Array, part: str = "all") -> None:
    """Raise for infinite elements and NaN in the part that is read: with these, LAPACK's iterations may never end."""
    finite = np.isfinite(A)
    if finite.all():
        return
    if part != "all":
        finite = (np.tril if part == "L" else np.triu)(~finite) == 0
    if not finite.all():
        place = tuple(int(i) for i in np.argwhere(~finite)[0][:-2])
        raise errors.LinAlgError(
            f"{op}: {element(place, A.shape[:-2])}the iteration does not settle: the input has infinite elements or NaN"
        )


# --- singular values, eigenvalues ------------------------------------------------------------------------------


@cache
def single_precision() -> dict[str, Any]:
    """Return NumPy's loops over batches of matrices, by name; none where this NumPy has others.

    The public functions convert float32 to double precision, which takes half as long again, and the loops do not.
    """
    try:
        from numpy.linalg import _umath_linalg  # private, hence the test

        loops = {name: getattr(_umath_linalg, name) for name in _RESULTS}
        one = np.ones((1, 1), np.float32)
        found = {name: loops[name](one, signature="f->" + "f" * count) for name, count in _RESULTS.items()}
        known = all(
            len(found[name] if count > 1 else (found[name],)) == count
            and all(np.array_equal(np.abs(part).ravel(), [1]) for part in found[name])
            for name, count in _RESULTS.items()
        )
    except (ImportError, AttributeError, TypeError, ValueError):
        return {}
    return loops if known else {}


_RESULTS: Final = {
    "svd_f": 3, "svd_s": 3, "svd": 1, "eigh_lo": 2, "eigh_up": 2, "eigvalsh_lo": 1, "eigvalsh_up": 1, "cholesky_lo": 1,
    "cholesky_up": 1,
}  # fmt: skip
"""How many arrays each loop returns."""


def in_single_precision(loop: str, A: Array) -> Any:
    """Return what a loop returns for matrices of float32, or None where it does not serve."""
    run = single_precision().get(loop) if A.dtype == np.float32 else None
    if run is None:
        return None
    found = run(A, signature="f->" + "f" * _RESULTS[loop])
    numbers = found if _RESULTS[loop] == 1 else found[1 if loop.startswith("svd") else 0]
    if np.isnan(numbers).any():  # LAPACK gives up so
        raise np.linalg.LinAlgError("LAPACK reports a failure")
    return found


def expect_no_driver(driver: str | None) -> None:
    """Raise for the choice of an algorithm, which only CUDA has."""
    if driver is not None:
        raise errors.ValueRangeError(
            "linalg.svd(): driver names an algorithm of CUDA: leave it out on other devices"
        )


@cpu.kernel("linalg_svd", dtypes="linalg")
def svd(A: Array, full_matrices: bool, driver: str | None) -> Any:
    expect_no_driver(driver)
    expect(A.ndim >= 2, "linalg.svd() takes matrices")
    expect_finite("linalg.svd", A)
    try:
        found = in_single_precision("svd_f" if full_matrices else "svd_s", A)
        return tuple(np.linalg.svd(A, full_matrices=full_matrices)) if found is None else found
    except np.linalg.LinAlgError as error:
        return raise_unconverged("linalg.svd", A, error)


@cpu.kernel("linalg_svdvals", dtypes="linalg")
def svdvals(A: Array, driver: str | None) -> Any:
    expect_no_driver(driver)
    expect(A.ndim >= 2, "linalg.svdvals() takes matrices")
    expect_finite("linalg.svdvals", A)
    try:
        found = in_single_precision("svd", A)
        return np.linalg.svd(A, compute_uv=False) if found is None else found
    except np.linalg.LinAlgError as error:
        return raise_unconverged("linalg.svdvals", A, error)


def _triangle(UPLO: str) -> Literal["L", "U"]:
    expect(UPLO.upper() in ("L", "U"), "UPLO is 'L' or 'U'")
    return "L" if UPLO.upper() == "L" else "U"


@cpu.kernel("linalg_eigh", dtypes="linalg")
def eigh(A: Array, UPLO: str) -> Any:
    expect(is_square(A), "linalg.eigh() takes square matrices")
    part = _triangle(UPLO)
    expect_finite("linalg.eigh", A, part)
    try:
        found = in_single_precision("eigh_lo" if part == "L" else "eigh_up", A)
        return tuple(np.linalg.eigh(A, part)) if found is None else found
    except np.linalg.LinAlgError as error:
        return raise_unconverged("linalg.eigh", A, error)


@cpu.kernel("linalg_eigvalsh", dtypes="linalg")
def eigvalsh(A: Array, UPLO: str) -> Any:
    expect(is_square(A), "linalg.eigvalsh() takes square matrices")
    part = _triangle(UPLO)
    expect_finite("linalg.eigvalsh", A, part)
    try:
        found = in_single_precision("eigvalsh_lo" if part == "L" else "eigvalsh_up", A)
        return np.linalg.eigvalsh(A, part) if found is None else found
    except np.linalg.LinAlgError as error:
        return raise_unconverged("linalg.eigvalsh", A, error)


def complex_dtype(A: Array) -> Any:
    """Return the dtype of eigenvalues."""
    return np.result_type(A.dtype, np.complex64)


@cpu.kernel("linalg_eig", dtypes="linalg")
def eig(A: Array) -> Any:
    expect(is_square(A), "linalg.eig() takes square matrices")
    expect_finite("linalg.eig", A)
    try:
        return tuple(part.astype(complex_dtype(A), copy=False) for part in np.linalg.eig(A))
    except np.linalg.LinAlgError as error:
        return raise_unconverged("linalg.eig", A, error)


@cpu.kernel("linalg_eigvals", dtypes="linalg")
def eigvals(A: Array) -> Any:
    expect(is_square(A), "linalg.eigvals() takes square matrices")
    expect_finite("linalg.eigvals", A)
    try:
        return np.linalg.eigvals(A).astype(complex_dtype(A), copy=False)
    except np.linalg.LinAlgError as error:
        return raise_unconverged("linalg.eigvals", A, error)


# --- QR, Cholesky, LU ------------------------------------------------------------------------------------------


@cpu.kernel("linalg_qr", dtypes="linalg")
def qr(A: Array, mode: str) -> Any:
    expect(A.ndim >= 2 and mode in ("reduced", "complete", "r"), "linalg.qr() takes matrices")
    if mode == "r":
        return np.empty((0,), A.dtype), np.linalg.qr(A, "r")
    Q, R = np.linalg.qr(A, "complete" if mode == "complete" else "reduced")
    return Q, R


@cpu.kernel("linalg_cholesky_ex", dtypes="linalg")
def cholesky_ex(A: Array, upper: bool, check_errors: bool) -> Any:
    expect(is_square(A), "linalg.cholesky_ex() takes square matrices")
    batch = A.shape[:-2]
    try:
        found = in_single_precision("cholesky_up" if upper else "cholesky_lo", A)
        return np.linalg.cholesky(A, upper=upper) if found is None else found, np.zeros(batch, np.int32)
    except np.linalg.LinAlgError:
        pass
    # Some matrix of the batch is not positive-definite: LAPACK reports which, and where.
    (potrf,) = lapack("potrf", A)
    factors, info = np.empty_like(A, order="C"), np.zeros(batch, np.int32)
    for place in np.ndindex(batch):
        factors[place], info[place] = potrf(A[place], lower=not upper, clean=True)
    if check_errors:
        place = next(place for place in np.ndindex(batch) if info[place])
        raise not_positive("linalg.cholesky_ex", place, batch, int(info[place]))
    return factors, info


@cpu.kernel("linalg_cholesky", dtypes="linalg")
def cholesky(A: Array, upper: bool) -> Any:
    factors, info = cholesky_ex(A, upper, False)
    for place in np.argwhere(info):
        where = tuple(int(i) for i in place)
        raise not_positive("linalg.cholesky", where, info.shape, int(info[where]))
    return factors


def not_positive(op: str, place: tuple[int, ...], batch: tuple[int, ...], order: int) -> Exception:
    """Return the error of a matrix that has no Cholesky factor."""
    return errors.LinAlgError(
        f"{op}: {element(place, batch)}the matrix is not positive-definite: its leading minor of order {order} "
        f"is not"
    )


@cpu.kernel("linalg_lu_factor_ex", dtypes="linalg")
def lu_factor_ex(A: Array, check_errors: bool) -> Any:
    expect(A.ndim >= 2, "linalg.lu_factor_ex() takes matrices")
    batch, size = A.shape[:-2], min(A.shape[-2:])
    factors, pivots, info = (
        np.empty_like(A, order="C"),
        np.empty((*batch, size), np.int32),
        np.zeros(batch, np.int32),
    )
    if A.size:
        (getrf,) = lapack("getrf", A)
        for place in np.ndindex(batch):
            factors[place], pivots[place], info[place] = getrf(A[place])
        pivots += 1
    if check_errors and info.any():
        raise_singular("linalg.lu_factor_ex", A, ValueError("no pivot"))
    return factors, pivots, info


@cpu.kernel("lu_unpack", dtypes="linalg", check=True)
def lu_unpack(LU_data: Array, LU_pivots: Array, unpack_data: bool, unpack_pivots: bool) -> Any:
    (m, n), batch = LU_data.shape[-2:], LU_data.shape[:-2]
    P = L = U = np.empty((0,), LU_data.dtype)
    if unpack_data:
        L = np.tril(LU_data[..., : min(m, n)], -1)
        np.einsum("...ii->...i", L[..., : min(m, n), :])[...] = 1
        U = np.triu(LU_data[..., : min(m, n), :])
    if unpack_pivots:
        # Every exchange of rows is made in all matrices of the batch at once.
        if LU_pivots.size and (LU_pivots.min() < 1 or LU_pivots.max() > m):
            raise errors.PlaceError(
                f"lu_unpack(): a pivot is not between 1 and the {m} rows\n"
                "  try: the pivots that linalg.lu_factor returned"
            )
        pivots = LU_pivots.reshape(prod(batch), LU_pivots.shape[-1]) - 1
        each = np.arange(len(pivots))
        order = np.tile(np.arange(m), (len(pivots), 1))
        for k in range(pivots.shape[1]):
            other = pivots[:, k]
            order[:, k], order[each, other] = order[each, other], order[:, k].copy()
        P = np.zeros((len(pivots), m, m), LU_data.dtype)
        P[each[:, np.newaxis], order, np.arange(m)] = 1
        P = P.reshape(*batch, m, m)
    return P, L, U


# --- equations -------------------------------------------------------------------------------------------------


@cpu.kernel("linalg_solve", dtypes="linalg")
def solve(A: Array, B: Array, left: bool) -> Any:
    expect(is_square(A) and B.ndim >= 1, "linalg.solve() takes square matrices")
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    expect(left or not vector, "linalg.solve() takes matrices on the right")
    try:
        if vector:
            return np.linalg.solve(A, B[..., np.newaxis])[..., 0]
        if left:
            return np.linalg.solve(A, B)
        return np.ascontiguousarray(np.linalg.solve(A.mT, B.mT).mT)
    except np.linalg.LinAlgError as error:
        return raise_singular("linalg.solve", A, error)


@cpu.kernel("linalg_inv", dtypes="linalg")
def inv(A: Array) -> Any:
    expect(is_square(A), "linalg.inv() takes square matrices")
    try:
        return np.linalg.inv(A)
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
    for place in np.ndindex(batch):
        # BLAS reads the memory of rows as columns, so that it solves the transposed equation in place.
        target = result[place].T
        solved = trsm(
            1.0, matrices[place].T, target, side=left, lower=upper, diag=unitriangular, overwrite_b=True
        )
        if not np.may_share_memory(solved, target):
            target[...] = solved
    return result


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
        for place in np.ndindex(batch):
            if driver == "gels":
                solution[place] = full_rank(lefts[place], rights[place])
                continue
            try:
                solution[place], _, rank[place], singular = linalg.lstsq(
                    lefts[place], rights[place], cut, check_finite=False, lapack_driver=driver or "gelsy"
                )
            except np.linalg.LinAlgError as error:
                raise_unconverged("linalg.lstsq", lefts[place], error)
            if singular is not None:
                values[place] = singular
    # The rank of a matrix shared by several right-hand sides is returned once.
    own = tuple(
        slice(None) if size == wide else slice(size) for size, wide in zip(A.shape[:-2], batch, strict=True)
    )
    measured = driver in ("gelsd", "gelss")
    residuals = np.empty((0,), real)
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
    padded = np.zeros((max(m, n), B.shape[1]), A.dtype)
    padded[:m] = B
    work = int(gels_lwork(m, n, B.shape[1])[0].real)
    _, found, info = gels(A, padded, lwork=work)
    if info > 0:
        raise errors.LinAlgError(
            f"linalg.lstsq: the input matrix is not of full rank: element {info} of the diagonal of its triangular "
            f"factor is zero; use driver='gelsd'"
        )
    return found[:n]


# --- determinants ----------------------------------------------------------------------------------------------


@cpu.kernel("linalg_det", dtypes="linalg")
def det(A: Array) -> Any:
    expect(is_square(A), "linalg.det() takes square matrices")
    return np.linalg.det(A)


@cpu.kernel("linalg_slogdet", dtypes="linalg")
def slogdet(A: Array) -> Any:
    expect(is_square(A), "linalg.slogdet() takes square matrices")
    return tuple(np.linalg.slogdet(A))


@cpu.kernel("linalg_matrix_exp", dtypes="linalg")
def matrix_exp(A: Array) -> Any:
    expect(is_square(A), "linalg.matrix_exp() takes square matrices")
    if not A.size:
        return A.copy()
    from scipy.linalg import expm

    return expm(A).astype(A.dtype, copy=False)


# --- LAPACK's further factors ----------------------------------------------------------------------------------


@cpu.kernel("geqrf", dtypes="linalg", check=True, by="SciPy")
def geqrf(self: Array) -> Any:
    factors = np.array(self, order="C")
    tau = np.zeros((*self.shape[:-2], min(self.shape[-2:])), self.dtype)
    if self.size:
        (function,) = lapack("geqrf", self)
        for place in np.ndindex(self.shape[:-2]):
            factors[place], tau[place] = function(self[place])[:2]
    return factors, tau


@cpu.kernel("linalg_ldl_factor_ex", dtypes="linalg", check=True, by="SciPy")
def ldl_factor_ex(self: Array, hermitian: bool, check_errors: bool) -> Any:
    batch = self.shape[:-2]
    factors, pivots = np.tril(self), np.zeros(self.shape[:-1], np.int32)
    info = np.zeros(batch, np.int32)
    if self.size:
        (function,) = lapack("hetrf" if hermitian and np.iscomplexobj(self) else "sytrf", self)
        for place in np.ndindex(batch):
            found, pivots[place], info[place] = function(self[place], lower=1)
            factors[place] = np.tril(found)
    if check_errors and info.any():
        raise errors.LinAlgError(
            f"linalg.ldl_factor_ex(): column {info[info != 0][0]} has no pivot: the factor D is singular"
        )
    return factors, pivots, info


def expect_pivots(pivots: list[int]) -> None:
    """Raise for what linalg.ldl_factor cannot have returned: LAPACK would exchange rows that are not there."""
    n, k = len(pivots), 0
    while k < n:
        step = 1 if pivots[k] > 0 else 2
        if not 1 <= abs(pivots[k]) <= n or k + step > n or pivots[k + step - 1] != pivots[k]:
            raise errors.PlaceError(
                f"linalg.ldl_solve(): these are not pivots of a matrix with {n} rows: {pivots}\n"
                "  try: the pivots that linalg.ldl_factor returned"
            )
        k += step


@cpu.kernel("linalg_ldl_solve", dtypes="linalg", check=True, by="SciPy")
def ldl_solve(LD: Array, pivots: Array, B: Array, hermitian: bool) -> Any:
    batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    result = np.array(np.broadcast_to(B, (*batch, *B.shape[-2:])), order="C")
    if result.size:
        (function,) = lapack("hetrs" if hermitian and np.iscomplexobj(LD) else "sytrs", LD)
        factors = np.broadcast_to(LD, (*batch, *LD.shape[-2:]))
        places = np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
        for place in np.ndindex(batch):
            expect_pivots(places[place].tolist())
            result[place] = function(factors[place], places[place], result[place], lower=1)[0]
    return result
