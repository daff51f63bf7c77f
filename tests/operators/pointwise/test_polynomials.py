"""Orthogonal polynomials of degrees that are not numbers, or too large for as many steps."""

from __future__ import annotations

import math

import pytest

import tt


@pytest.mark.parametrize("name", ["legendre_polynomial_p", "laguerre_polynomial_l", "chebyshev_polynomial_t"])
@pytest.mark.parametrize("degree", [2.0**62, 1e30, math.inf])
def test_a_degree_that_would_take_for_ever_is_refused(name: str, degree: float) -> None:
    with pytest.raises(tt.errors.ValueRangeError, match="highest is 65536"):
        getattr(tt.special, name)(tt.tensor([0.5]), degree)


@pytest.mark.parametrize(("dtype", "last"), [(tt.float32, 128), (tt.float64, 512)])
def test_hermite_polynomials_are_nan_from_where_they_overflow(dtype: tt.dtype, last: int) -> None:
    x, n = tt.zeros(3, dtype=dtype), tt.tensor([last + 1, 2.0**62, 2], dtype=dtype)
    found = tt.special.hermite_polynomial_h(x, n)
    assert found.isnan().tolist() == [True, True, False] and found[2] == -2


def test_degrees_that_are_no_numbers() -> None:
    n = tt.tensor([math.nan, -math.inf, -1.0, 0.0])
    found = tt.special.legendre_polynomial_p(tt.full((4,), 0.5), n).tolist()
    assert math.isnan(found[0]) and found[1:] == [0.0, 0.0, 1.0]
    assert tt.special.legendre_polynomial_p(tt.ones(2), -math.inf).tolist() == [0.0, 0.0]
