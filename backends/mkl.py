"""tt.backends.mkl: Intel's MKL, which tt does not call by itself: NumPy and SciPy bring the BLAS."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Return False.

    Examples
    --------
    >>> import tt
    >>> tt.backends.mkl.is_available()
    False
    """
    return False
