"""tt.backends.kleidiai: Arm's KleidiAI, which tt does not use."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Return False.

    Examples
    --------
    >>> import tt
    >>> tt.backends.kleidiai.is_available()
    False
    """
    return False
