"""The worker's names at PyTorch's path."""

from __future__ import annotations

from tt.utils.data.worker_info import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]
