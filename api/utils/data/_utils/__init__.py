"""The paths at which PyTorch has `collate` and its table, `pin_memory` and the worker's names."""

from __future__ import annotations

from tt.utils.data._utils import collate, pin_memory, worker

__all__ = ["collate", "pin_memory", "worker"]
