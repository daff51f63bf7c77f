"""Kernels that combine elements along dimensions."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")
