"""Kernels of decompositions and of what solves equations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from tt.backends.array_api.namespace import Namespace
from tt.backends.array_api.table import NamespaceTable
from tt.core.library import errors

__all__ = ["table"]

table = NamespaceTable()


def expect(condition: bool) -> None:
    """Raise for a call that the shape rule then explains."""
    if not condition:
        raise ValueError("matrices of another shape")


def is_square(A: Any) -> bool:
    """Return whether an array holds square matrices."""
    return bool(A.ndim >= 2 and A.shape[-1] == A.shape[-2])


def places(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the place of each matrix of a batch."""
    return product(*(range(size) for size in shape))


def is_about_values(error: Exception) -> bool:
    """Return whether a library says that a matrix is singular or not positive-definite.

    NumPy, CuPy and PyTorch name the class LinAlgError and derive it from others.  Anything else, such as memory that
    ran out, says nothing about the matrix.
    """
    return any(kind.__name__.lstrip("_") == "LinAlgError" for kind in type(error).__mro__)


# --- decompositions --------------------------------------------------------------------------------------------


@table.kernel("linalg_svd", dtypes="linalg", needs="linalg.svd")
def svd(xp: Namespace, A: Any, full_matrices: bool, driver: str | None) -> tuple[Any, Any, Any]:
    expect(A.ndim >= 2)
    if driver is not None:
        raise errors.ValueRangeError(
            "linalg.svd(): driver names an algorithm of CUDA: leave it out on other devices"
        )
    return tuple(xp.linalg.svd(A, full_matrices=full_matrices))


@table.kernel("linalg_eigh", dtypes="linalg", needs="linalg.eigh")
def eigh(xp: Namespace, A: Any, UPLO: str) -> tuple[Any, Any]:
    expect(is_square(A) and UPLO.upper() in ("L", "U"))
    # Libraries read one triangle or both: the other one is made from that which counts.
    lower = xp.tril(A, k=-1) if UPLO.upper() == "L" else xp.matrix_transpose(xp.triu(A, k=1))
    mirrored = xp.matrix_transpose(lower)
    if xp.is_kind(A, "complex floating"):
        lower, mirrored = (lower, xp.conj(mirrored)) if UPLO.upper() == "L" else (xp.conj(lower), mirrored)
    middle = xp.triu(xp.tril(A))
    # LAPACK ignores imaginary parts of the diagonal; other libraries need not.
    if xp.is_kind(A, "complex floating"):
        middle = xp.astype(xp.real(middle), A.dtype)
    return tuple(xp.linalg.eigh(lower + mirrored + middle))


@table.kernel("linalg_eig", dtypes="linalg", needs="linalg.eig")
def eig(xp: Namespace, A: Any) -> tuple[Any, Any]:
    expect(is_square(A))
    values, vectors = xp.linalg.eig(A)
    # PyTorch's eigenvalues are always complex; libraries may return real ones.
    wide = xp.result_type(A.dtype, xp.complex64)
    return xp.astype(values, wide, copy=False), xp.astype(vectors, wide, copy=False)


@table.kernel("linalg_qr", dtypes="linalg", needs="linalg.qr")
def qr(xp: Namespace, A: Any, mode: str) -> tuple[Any, Any]:
    expect(A.ndim >= 2 and mode in ("reduced", "complete", "r"))
    Q, R = xp.linalg.qr(A, mode="complete" if mode == "complete" else "reduced")
    return (xp.zeros((0,), dtype=A.dtype) if mode == "r" else Q), R


@table.kernel("linalg_cholesky_ex", dtypes="linalg", needs="linalg.cholesky")
def cholesky_ex(xp: Namespace, A: Any, upper: bool, check_errors: bool) -> tuple[Any, Any]:
    expect(is_square(A))
    batch = tuple(A.shape[:-2])
    # Libraries read one triangle or check both: the other one is made from that which counts.
    part = xp.matrix_transpose(xp.triu(A)) if upper else xp.tril(A)
    part = xp.conj(part) if upper and xp.is_kind(A, "complex floating") else part
    other = xp.matrix_transpose(xp.tril(part, k=-1))
    full = part + (xp.conj(other) if xp.is_kind(A, "complex floating") else other)
    factors = _factor(xp, full)
    info = xp.zeros(batch, dtype=xp.int32)
    if factors is None:
        factors, orders = _one_by_one(xp, full, batch)
        info = xp.reshape(xp.asarray(orders, dtype=xp.int32), batch)
        if check_errors:
            index, order = next((i, order) for i, order in enumerate(orders) if order)
            where = f"(Batch element {index}): " if batch else ""
            raise errors.LinAlgError(
                f"linalg.cholesky_ex: {where}the matrix is not positive-definite: its leading minor of "
                f"order {order} is not"
            )
    if upper:
        # A = L L^H, so the upper factor is L^H.
        factors = xp.matrix_transpose(factors)
        factors = xp.conj(factors) if xp.is_kind(A, "complex floating") else factors
    return factors, info


def _factor(xp: Namespace, A: Any) -> Any:
    """Return the factors, or None where one does not exist: libraries raise, each a class of its own, or give NaN."""
    try:
        factor = xp.linalg.cholesky(A)
    except Exception as error:
        if not is_about_values(error):
            raise
        return None
    # CuPy gives NaN instead of raising. NaN that was there before does not mean failure.
    missing = xp.any(xp.isnan(factor)) and not xp.any(xp.isnan(A))
    return None if bool(missing) else factor


def _one_by_one(xp: Namespace, A: Any, batch: tuple[int, ...]) -> tuple[Any, list[int]]:
    """Return the factors as far as they exist, and the first leading minor of each matrix that has none, or 0."""
    factors, orders = [], []
    for index in places(batch):
        matrix = A[(*index, ...)]
        factor, order = _factor(xp, matrix), 0
        if factor is None:
            sizes = range(1, A.shape[-1] + 1)
            # The first leading minor without a factor is searched by trying: slow, but only where an error
            # is described.
            order = next(k for k in sizes if _factor(xp, matrix[:k, :k]) is None)
            factor = _begun(xp, matrix, order - 1)
        factors.append(factor)
        orders.append(order)
    return xp.reshape(xp.stack(factors), A.shape), orders


def _begun(xp: Namespace, A: Any, size: int) -> Any:
    """Return the factor of a matrix whose leading minor of this size has one, and the partial update of the rest."""
    rest = xp.tril(A[size:, size:])
    if not size:
        return rest
    corner = xp.linalg.cholesky(A[:size, :size])
    conj = xp.conj if xp.is_kind(A, "complex floating") else lambda value: value
    # From A21 = L21 L11^H.
    below = xp.matrix_transpose(xp.linalg.solve(conj(corner), xp.matrix_transpose(A[size:, :size])))
    # The first element that is left is the square of a diagonal element that is not positive.
    first = rest[:1, :1] - xp.sum(below[:1, :] * conj(below[:1, :]), axis=1, keepdims=True)
    head = xp.concat([first, rest[:1, 1:]], axis=1)
    rest = xp.concat([head, rest[1:, :]], axis=0)
    above = xp.concat([corner, xp.zeros((size, A.shape[-1] - size), dtype=A.dtype)], axis=1)
    return xp.concat([above, xp.concat([below, rest], axis=1)], axis=0)


# --- equations -------------------------------------------------------------------------------------------------


@table.kernel("linalg_inv", dtypes="linalg", needs="linalg.inv")
def inv(xp: Namespace, A: Any) -> Any:
    expect(is_square(A))
    return _regular(xp, lambda: xp.linalg.inv(A), "inv: The inversion could not be completed", A)


@table.kernel("linalg_solve", dtypes="linalg", needs="linalg.solve")
def solve(xp: Namespace, A: Any, B: Any, left: bool) -> Any:
    expect(is_square(A) and B.ndim >= 1)
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))
    expect(left or not vector)
    if vector:
        return _solve(xp, A, xp.expand_dims(B, axis=-1))[..., 0]
    if left:
        return _solve(xp, A, B)
    return xp.matrix_transpose(_solve(xp, xp.matrix_transpose(A), xp.matrix_transpose(B)))


def _solve(xp: Namespace, A: Any, B: Any) -> Any:
    expect(A.shape[-1] == B.shape[-2])
    return _regular(xp, lambda: xp.linalg.solve(A, B), "solve: The solver failed", A, B)


def _regular(xp: Namespace, compute: Callable[[], Any], problem: str, *given: Any) -> Any:
    """Return a result that no singular matrix has: libraries raise, each a class of its own, or divide by zero."""
    cause = ""
    try:
        result = compute()
    except Exception as error:
        if not is_about_values(error):
            raise
        result, cause = None, f" ({error})"

    def finite(values: Any) -> bool:
        return bool(xp.all(xp.isfinite(values)))

    # A zero pivot that was divided by gives infinities or NaN.
    if result is None or (not finite(result) and all(map(finite, given))):
        raise errors.LinAlgError(f"linalg.{problem} because the input matrix is singular{cause}.")
    return result


# --- determinants ----------------------------------------------------------------------------------------------


@table.kernel("linalg_det", dtypes="linalg", needs="linalg.det")
def det(xp: Namespace, A: Any) -> Any:
    expect(is_square(A))
    return xp.linalg.det(A)


@table.kernel("linalg_slogdet", dtypes="linalg", needs="linalg.slogdet")
def slogdet(xp: Namespace, A: Any) -> tuple[Any, Any]:
    expect(is_square(A))
    return tuple(xp.linalg.slogdet(A))
