"""tt.backends.nnpack: NNPACK, which tt does not use."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Return False.

    Examples
    --------
    >>> import tt
    >>> tt.backends.nnpack.is_available()
    False
    """
    return False
