"""tt.backends.mkl: Intel's MKL, which computes singular values and eigenvalues where it is installed."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Return whether MKL is installed, so that it serves unless TT_LAPACK says otherwise.

    Examples
    --------
    >>> import tt
    >>> isinstance(tt.backends.mkl.is_available(), bool)
    True
    """
    from tt.backends.cpu.mkl import find

    return find() is not None
