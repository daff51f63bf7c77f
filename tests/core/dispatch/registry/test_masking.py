"""Masked kernels: calls go where they would go without them."""

from __future__ import annotations

from typing import Any

import numpy as np

import tt
from tt.core.library import CompositeTable, ops


def test_a_masked_kernel_leaves_the_call_to_the_composite(probe: Any) -> None:
    table = CompositeTable()
    table.composite("exp", lambda self: ops.mul(self, 100.0))
    probe.add(table)
    probe.kernel("mul", np.multiply)
    probe.kernel("exp", np.exp)
    x = probe.tensor([1.0], tt.float32)
    plain = tt.exp(x)._handle.tolist()
    with tt.mask_kernels("ex*"):
        assert tt.exp(x)._handle.tolist() == [100.0]
    assert tt.exp(x)._handle.tolist() == plain
