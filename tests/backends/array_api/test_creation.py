"""Making arrays of the standard: which numbers fit into a dtype."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

import tt
from tt.errors import NumberRangeError

FILLING: dict[str, Callable[[float | complex, tt.dtype, tt.device], tt.Tensor]] = {
    "full": lambda value, dtype, device: tt.full((2,), value, dtype=dtype, device=device),
    "scalar_tensor": lambda value, dtype, device: tt.scalar_tensor(value, dtype=dtype, device=device),
    "fill_": lambda value, dtype, device: tt.zeros(2, dtype=dtype, device=device).fill_(value),
    "masked_fill_": lambda value, dtype, device: tt.zeros(2, dtype=dtype, device=device).masked_fill_(
        tt.tensor([True, False], device=device), value
    ),
}


def outcome(fill: Callable[[], tt.Tensor]) -> list[int] | int | type[Exception]:
    try:
        return fill().tolist()
    except NumberRangeError:
        return NumberRangeError


@pytest.mark.parametrize(
    "value", [-1, -1.0, -1.5, -0.5, -0.0, 3.7, -2 + 0j, 255.5, 1e30, math.nan, -math.inf]
)
@pytest.mark.parametrize("name", ["uint8", "uint32", "uint64", "int8", "int64"])
@pytest.mark.parametrize("function", FILLING)
def test_numbers_become_integers_or_are_refused_as_on_the_cpu(strict, function, name, value):
    fill, dtype = FILLING[function], getattr(tt, name)
    expected = outcome(lambda: fill(value, dtype, tt.device("cpu")))
    assert outcome(lambda: fill(value, dtype, strict)) == expected
