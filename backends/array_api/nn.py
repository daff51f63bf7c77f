"""Kernels of the family nn."""

from __future__ import annotations

from tt.backends.array_api.kit import Kit

__all__ = ["add_kernels"]


def add_kernels(kit: Kit) -> None:
    """Add the kernels of this family."""
