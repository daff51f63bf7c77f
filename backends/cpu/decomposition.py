"""Kernels of singular values and eigenvalues: NumPy's, for batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np

from tt.backends.cpu.backend import Array
from tt.backends.cpu.batches import shared
from tt.backends.cpu.lapack import expect, expect_finite, in_single_precision, is_square, raise_unconverged
from tt.backends.cpu.native.loading import load as native
from tt.core.library import KernelTable, errors

__all__ = ["cpu"]

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
    found = in_single_precision("svd_f", A)
    return tuple(np.linalg.svd(A)) if found is None else found


def singular_vectors(A: Array) -> tuple[Array, ...]:
    """Return singular values and vectors, with as many vectors as values."""
    return by_triangle(A, _singular_vectors)


def _singular_vectors(A: Array) -> tuple[Array, ...]:
    found = in_single_precision("svd_s", A)
    return tuple(np.linalg.svd(A, full_matrices=False)) if found is None else found


def singular_values(A: Array) -> tuple[Array, ...]:
    """Return singular values."""
    A = triangle(A)
    found = in_single_precision("svd", A)
    return (np.linalg.svd(A, compute_uv=False) if found is None else found,)


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
        return native("products").matmul(Q, U), S, Vh
    if is_tall(A.mT):
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
        found = in_single_precision("eigh_lo" if part == "L" else "eigh_up", A)
        return tuple(np.linalg.eigh(A, part)) if found is None else found

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
        found = in_single_precision("eigvalsh_lo" if part == "L" else "eigvalsh_up", A)
        return (np.linalg.eigvalsh(A, part) if found is None else found,)

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
