"""Composites of activations."""

from __future__ import annotations

import pytest

import tt


@pytest.mark.parametrize("limits", [(1j, 3), (0, 3j)])
def test_the_limits_of_hardtanh_are_real(limits):
    for dtype in (tt.float32, tt.uint64):
        with pytest.raises(TypeError, match="must be real number, not complex"):
            tt.ops.hardtanh.inplace(tt.ones(2, dtype=dtype), *limits, inplace=False)
