"""Random slopes: their bounds."""

from __future__ import annotations

from typing import Any

import pytest

import tt


@pytest.mark.parametrize("bounds", [(1j, 0.4), (0.1, 2j), (float("inf"), 1.0), (0.4, 0.1)])
def test_bounds_of_random_slopes_are_real_finite_and_in_order(bounds: tuple[Any, Any]) -> None:
    with pytest.raises(tt.errors.ValueRangeError, match=r"rrelu\(\)"):
        tt.nn.functional.rrelu(tt.ones(2), *bounds)
