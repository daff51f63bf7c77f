"""The information of a worker, and of a process that is none."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tt.utils.data import get_worker_info
from tt.utils.data.worker_info import WorkerInfo, empty_in_batch


def test_this_process_is_no_worker():
    assert get_worker_info() is None
    assert empty_in_batch((100, 100), np.dtype(np.float32)) is None


def test_what_a_worker_knows_does_not_change():
    info = WorkerInfo(id=1, num_workers=2, seed=3, dataset="abc")
    with pytest.raises(dataclasses.FrozenInstanceError):
        info.id = 2
