"""Kernels of the family copies."""

from __future__ import annotations

from typing import Final

from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")
