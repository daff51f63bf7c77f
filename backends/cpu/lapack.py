"""LAPACK of NumPy and SciPy: functions, loops over batches in single precision, and their errors."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.core.library import errors

__all__ = [
    "element",
    "expect",
    "expect_finite",
    "in_single_precision",
    "is_square",
    "lapack",
    "raise_singular",
    "raise_unconverged",
]


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
    # Only errors come here, so NumPy's fast loop needs no report of its own.
    for index in np.ndindex(A.shape[:-2]):
        info = getrf(A[index])[2]
        if info > 0:
            raise errors.LinAlgError(
                f"{op}: {element(index, A.shape[:-2])}the input matrix is singular: no pivot is left in column {info}, "
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
        index = tuple(int(i) for i in np.argwhere(~finite)[0][:-2])
        raise errors.LinAlgError(
            f"{op}: {element(index, A.shape[:-2])}the iteration does not settle: the input has infinite elements or NaN"
        )


# --- NumPy's loops ---------------------------------------------------------------------------------------------


@cache
def single_precision() -> dict[str, Any]:
    """Return NumPy's loops over batches of matrices, by name; none where this NumPy has others.

    The public functions convert float32 to double precision, which takes half as long again, and the loops do not.
    """
    try:
        from numpy.linalg import _umath_linalg  # private, hence the test

        loops = {name: getattr(_umath_linalg, name) for name in _RESULTS}
        one = np.ones((1, 1), np.float32)
        # Tried once with matrices of one element: the private loops may change with NumPy's version.
        results = {name: loops[name](one, signature="f->" + "f" * count) for name, count in _RESULTS.items()}
        known = all(
            len(results[name] if count > 1 else (results[name],)) == count
            and all(np.array_equal(np.abs(part).ravel(), [1]) for part in results[name])
            for name, count in _RESULTS.items()
        )
    except (ImportError, AttributeError, TypeError, ValueError):
        return {}
    return loops if known else {}


_RESULTS: Final = {
    "svd_f": 3, "svd_s": 3, "svd": 1, "eigh_lo": 2, "eigh_up": 2, "eigvalsh_lo": 1, "eigvalsh_up": 1, "cholesky_lo": 1,
    "cholesky_up": 1, "inv": 1,
}  # fmt: skip
"""How many arrays each loop returns."""


def in_single_precision(loop: str, A: Array) -> Any:
    """Return a loop's results for matrices of float32, or None where it does not serve."""
    run = single_precision().get(loop) if A.dtype == np.float32 else None
    if run is None:
        return None
    result = run(A, signature="f->" + "f" * _RESULTS[loop])
    numbers = result if _RESULTS[loop] == 1 else result[1 if loop.startswith("svd") else 0]
    if np.isnan(numbers).any():  # LAPACK gives up so
        raise np.linalg.LinAlgError("LAPACK reports a failure")
    return result
