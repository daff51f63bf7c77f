"""tt.backends.openmp: native kernels have threads of their own, which `tt.set_num_threads` limits, and no OpenMP."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Return False.

    Examples
    --------
    >>> import tt
    >>> tt.backends.openmp.is_available()
    False
    """
    return False
