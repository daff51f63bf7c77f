"""tt.backends.mps: Apple's GPUs, for which tt has no plugin."""

from __future__ import annotations

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Return False.

    Examples
    --------
    >>> import tt
    >>> tt.backends.mps.is_available()
    False
    """
    return False


def is_built() -> bool:
    """Return False."""
    return False
