"""The paths at which PyTorch has `collate` and its table, `pin_memory` and the worker's names."""

from __future__ import annotations

from tt.utils.data._utils import collate, pin_memory, worker
from tt.utils.data._utils.worker import MP_STATUS_CHECK_INTERVAL as MP_STATUS_CHECK_INTERVAL

__all__ = ["collate", "pin_memory", "worker"]

HAS_NUMPY = True
