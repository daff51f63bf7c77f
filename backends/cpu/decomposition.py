"""Kernels of singular values and eigenvalues: NumPy's, for batches."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

from tt.backends.cpu.backend import Array
from tt.backends.cpu.lapack import expect, expect_finite, in_single_precision, is_square, raise_unconverged
from tt.core.library import KernelTable, errors

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")


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
