"""Kernels of singular values and eigenvalues: NumPy's, for batches."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final, Literal

import numpy as np

from tt.backends.cpu.backend import Array
from tt.backends.cpu.batches import shared
from tt.backends.cpu.lapack import (
    element,
    expect,
    expect_finite,
    in_single_precision,
    is_square,
    lapack,
    raise_singular,
    raise_unconverged,
)
from tt.backends.cpu.native.loading import load as native
from tt.core.library import KernelTable, errors

__all__ = ["cpu", "order_of_rows"]

cpu: Final = KernelTable(device="cpu", by="NumPy")


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
        return shared(whole_vectors if full_matrices else singular_vectors, A)
    except np.linalg.LinAlgError as error:
        return raise_unconverged("linalg.svd", A, error)


@cpu.kernel("linalg_svdvals", dtypes="linalg")
def svdvals(A: Array, driver: str | None) -> Any:
    expect_no_driver(driver)
    expect(A.ndim >= 2, "linalg.svdvals() takes matrices")
    expect_finite("linalg.svdvals", A)
    try:
        return shared(singular_values, A)[0]
    except np.linalg.LinAlgError as error:
        return raise_unconverged("linalg.svdvals", A, error)


def whole_vectors(A: Array) -> tuple[Array, ...]:
    """Return singular values and vectors, with as many vectors as rows and columns."""
    result = in_single_precision("svd_f", A)
    return tuple(np.linalg.svd(A)) if result is None else result


def singular_vectors(A: Array) -> tuple[Array, ...]:
    """Return singular values and vectors, with as many vectors as values."""
    return by_triangle(A, _singular_vectors)


def _singular_vectors(A: Array) -> tuple[Array, ...]:
    result = in_single_precision("svd_s", A)
    return tuple(np.linalg.svd(A, full_matrices=False)) if result is None else result


def singular_values(A: Array) -> tuple[Array, ...]:
    """Return singular values."""
    # A = Q R with orthonormal columns in Q: R has the same singular values.
    A = triangle(A)
    result = in_single_precision("svd", A)
    return (np.linalg.svd(A, compute_uv=False) if result is None else result,)


# --- long matrices ---------------------------------------------------------------------------------------------


def is_tall(A: Array) -> bool:
    """Return whether matrices have the singular values of a triangle that is found in less time than it saves.

    With the native factors Q R, those of 512x64 take 0.6 to 0.7 of LAPACK's time, those of 150x100 1.1.
    """
    m, n = A.shape[-2:]
    return m >= 3 * n and A.size > 0 and A.dtype in (np.float32, np.float64) and native("qr") is not None


def triangle(A: Array) -> Array:
    """Return matrices with the same singular values: of long ones R."""
    turned = A if is_tall(A) else A.mT
    return native("qr").linalg_qr(turned, "r")[1] if is_tall(turned) else A


def by_triangle(A: Array, vectors: Callable[[Array], tuple[Array, ...]]) -> tuple[Array, ...]:
    """Return U, S and V^H, as many vectors as values, by a function that finds them; of long matrices, it gets R."""
    if is_tall(A):
        Q, R = native("qr").linalg_qr(A, "reduced")
        U, S, Vh = vectors(R)
        # A = Q R and R = U S V^H give A = (Q U) S V^H.
        return native("products").matmul(Q, U), S, Vh
    if is_tall(A.mT):
        # Transposing swaps U and V. Only real matrices are tall here, so nothing is conjugated.
        V, S, Uh = by_triangle(A.mT, vectors)
        return np.ascontiguousarray(Uh.mT), S, np.ascontiguousarray(V.mT)
    return vectors(A)


# --- eigenvalues -----------------------------------------------------------------------------------------------


def _triangle(UPLO: str) -> Literal["L", "U"]:
    expect(UPLO.upper() in ("L", "U"), "UPLO is 'L' or 'U'")
    return "L" if UPLO.upper() == "L" else "U"


@cpu.kernel("linalg_eigh", dtypes="linalg")
def eigh(A: Array, UPLO: str) -> Any:
    expect(is_square(A), "linalg.eigh() takes square matrices")
    part = _triangle(UPLO)
    expect_finite("linalg.eigh", A, part)

    def vectors(A: Array) -> tuple[Array, ...]:
        result = in_single_precision("eigh_lo" if part == "L" else "eigh_up", A)
        return tuple(np.linalg.eigh(A, part)) if result is None else result

    try:
        return shared(vectors, A)
    except np.linalg.LinAlgError as error:
        return raise_unconverged("linalg.eigh", A, error)


@cpu.kernel("linalg_eigvalsh", dtypes="linalg")
def eigvalsh(A: Array, UPLO: str) -> Any:
    expect(is_square(A), "linalg.eigvalsh() takes square matrices")
    part = _triangle(UPLO)
    expect_finite("linalg.eigvalsh", A, part)

    def values(A: Array) -> tuple[Array, ...]:
        result = in_single_precision("eigvalsh_lo" if part == "L" else "eigvalsh_up", A)
        return (np.linalg.eigvalsh(A, part) if result is None else result,)

    try:
        return shared(values, A)[0]
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
        return tuple(
            part.astype(complex_dtype(A), copy=False) for part in shared(lambda A: tuple(np.linalg.eig(A)), A)
        )
    except np.linalg.LinAlgError as error:
        return raise_unconverged("linalg.eig", A, error)


@cpu.kernel("linalg_eigvals", dtypes="linalg")
def eigvals(A: Array) -> Any:
    expect(is_square(A), "linalg.eigvals() takes square matrices")
    expect_finite("linalg.eigvals", A)
    try:
        return shared(lambda A: (np.linalg.eigvals(A),), A)[0].astype(complex_dtype(A), copy=False)
    except np.linalg.LinAlgError as error:
        return raise_unconverged("linalg.eigvals", A, error)


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
    # The usual case in one call for the batch; NumPy raises for all of it if one matrix has no factor.
    try:
        result = in_single_precision("cholesky_up" if upper else "cholesky_lo", A)
        return np.linalg.cholesky(A, upper=upper) if result is None else result, np.zeros(batch, np.int32)
    except np.linalg.LinAlgError:
        pass
    # Some matrix of the batch is not positive-definite: LAPACK reports which, and where.
    (potrf,) = lapack("potrf", A)
    factors, info = np.empty_like(A, order="C"), np.zeros(batch, np.int32)
    for index in np.ndindex(batch):
        factors[index], info[index] = potrf(A[index], lower=not upper, clean=True)
    if check_errors:
        index = next(index for index in np.ndindex(batch) if info[index])
        raise not_positive("linalg.cholesky_ex", index, batch, int(info[index]))
    return factors, info


@cpu.kernel("linalg_cholesky", dtypes="linalg")
def cholesky(A: Array, upper: bool) -> Any:
    factors, info = cholesky_ex(A, upper, False)
    for index in np.argwhere(info):
        where = tuple(int(i) for i in index)
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
        for index in np.ndindex(batch):
            factors[index], pivots[index], info[index] = getrf(A[index])
        # SciPy counts rows from 0, LAPACK and PyTorch from 1.
        pivots += 1
    if check_errors and info.any():
        raise_singular("linalg.lu_factor_ex", A, ValueError("no pivot"))
    return factors, pivots, info


@cpu.kernel("lu_unpack", dtypes="linalg")
def lu_unpack(LU_data: Array, LU_pivots: Array, unpack_data: bool, unpack_pivots: bool) -> Any:
    expect(LU_data.ndim >= 2, "lu_unpack() takes matrices")
    (m, n), batch = LU_data.shape[-2:], LU_data.shape[:-2]
    if unpack_pivots:
        fits = LU_pivots.ndim and LU_pivots.shape[:-1] == batch and LU_pivots.shape[-1] <= m
        expect(LU_pivots.dtype == np.int32 and bool(fits), "the pivots do not fit")
    P = L = U = np.empty((0,), LU_data.dtype)
    if unpack_data:
        L = np.tril(LU_data[..., : min(m, n)], -1)
        # einsum returns a writable view of the diagonals, np.diagonal a read-only one.
        np.einsum("...ii->...i", L[..., : min(m, n), :])[...] = 1
        U = np.triu(LU_data[..., : min(m, n), :])
    if unpack_pivots:
        order = order_of_rows("lu_unpack", LU_pivots, m)
        each = np.arange(len(order))
        P = np.zeros((len(order), m, m), LU_data.dtype)
        P[each[:, np.newaxis], order, np.arange(m)] = 1
        P = P.reshape(*batch, m, m)
    return P, L, U


def order_of_rows(op: str, pivots: Array, rows: int) -> Any:
    """Return the row of A for each row of L U, for each matrix of a batch, by the exchanges of the pivots."""
    if pivots.size and (pivots.min() < 1 or pivots.max() > rows):
        raise errors.PlaceError(
            f"{op}(): a pivot is not between 1 and the {rows} rows\n"
            "  try: the pivots that linalg.lu_factor returned"
        )
    others = pivots.reshape(prod(pivots.shape[:-1]), pivots.shape[-1]) - 1
    each = np.arange(len(others))
    order = np.tile(np.arange(rows), (len(others), 1))
    for k in range(others.shape[1]):  # an exchange is made in all matrices of the batch at once
        other = others[:, k]
        order[:, k], order[each, other] = order[each, other], order[:, k].copy()
    return order


@cpu.kernel("geqrf", dtypes="linalg", check=True, by="SciPy")
def geqrf(self: Array) -> Any:
    factors = np.array(self, order="C")
    tau = np.zeros((*self.shape[:-2], min(self.shape[-2:])), self.dtype)
    if self.size:
        (function,) = lapack("geqrf", self)
        for index in np.ndindex(self.shape[:-2]):
            factors[index], tau[index] = function(self[index])[:2]
    return factors, tau


@cpu.kernel("linalg_ldl_factor_ex", dtypes="linalg", check=True, by="SciPy")
def ldl_factor_ex(self: Array, hermitian: bool, check_errors: bool) -> Any:
    batch = self.shape[:-2]
    factors, pivots = np.tril(self), np.zeros(self.shape[:-1], np.int32)
    info = np.zeros(batch, np.int32)
    if self.size:
        (function,) = lapack("hetrf" if hermitian and np.iscomplexobj(self) else "sytrf", self)
        for index in np.ndindex(batch):
            factor, pivots[index], info[index] = function(self[index], lower=1)
            # LAPACK leaves the elements of the other triangle as they were.
            factors[index] = np.tril(factor)
    if check_errors and info.any():
        raise errors.LinAlgError(
            f"linalg.ldl_factor_ex(): column {info[info != 0][0]} has no pivot: the factor D is singular"
        )
    return factors, pivots, info


def expect_pivots(pivots: list[int]) -> None:
    """Raise for what linalg.ldl_factor cannot have returned: LAPACK would exchange rows that are not there."""
    n, k = len(pivots), 0
    while k < n:
        # LAPACK marks a 2x2 block of D by two equal negative pivots.
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
        all_pivots = np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
        for index in np.ndindex(batch):
            expect_pivots(all_pivots[index].tolist())
            result[index] = function(factors[index], all_pivots[index], result[index], lower=1)[0]
    return result
