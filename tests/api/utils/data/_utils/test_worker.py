"""The worker's names at PyTorch's path."""

from __future__ import annotations

from tt.utils.data import _utils, get_worker_info, worker_info


def test_the_worker_of_a_process_is_the_same_at_both_paths():
    assert _utils.worker.get_worker_info is get_worker_info
    assert _utils.worker.WorkerInfo is worker_info.WorkerInfo and get_worker_info() is None
