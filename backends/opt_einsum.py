"""tt.backends.opt_einsum: the package that chooses an order for `tt.einsum` in PyTorch; tt goes from left to right."""

from __future__ import annotations

from typing import Any

__all__ = ["enabled", "get_opt_einsum", "is_available", "strategy"]

enabled = False
"""Programs set it; the order of products does not change."""

strategy: str | None = None
"""Programs set it; the order of products does not change."""


def is_available() -> bool:
    """Return False.

    Examples
    --------
    >>> import tt
    >>> tt.backends.opt_einsum.is_available()
    False
    """
    return False


def get_opt_einsum() -> Any:
    """Return None: the package is not used."""
    return None
