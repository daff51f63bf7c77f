"""The path at which PyTorch has `collate` and its table."""

from __future__ import annotations

from tt.utils.data._utils import collate

__all__ = ["collate"]
