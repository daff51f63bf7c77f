"""The conditions of a cached call, and when it is resolved again."""

from __future__ import annotations

from typing import Any

import numpy as np

import tt


def test_a_change_of_the_default_dtype_reaches_cached_entries(probe: Any) -> None:
    probe.kernel("mul", np.multiply)
    x = probe.tensor([1, 2], tt.int64)
    for _ in range(3):
        assert tt.mul(x, 0.5).dtype is tt.float32
        with tt.default_dtype(tt.float64):
            assert tt.mul(x, 0.5).dtype is tt.float64
