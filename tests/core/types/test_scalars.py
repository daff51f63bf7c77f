"""Python numbers as numbers of a dtype."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tt
from tt.core.errors import NumberRangeError
from tt.core.types.scalars import cast_array, fitted_number, number_array, numbers_dtype


@given(numbers=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5))
def test_integers_keep_every_digit(numbers):
    assert number_array(numbers, tt.int64).tolist() == numbers


@given(numbers=st.lists(st.floats(width=32), max_size=5))
def test_floats_are_those_of_numpy(numbers):
    found = number_array(numbers, tt.float32)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.array(numbers, np.float32))


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([bool], tt.bool),
        ([bool, int], tt.int64),
        ([int, float], tt.float32),
        ([float, complex], tt.complex64),
    ],
)
def test_the_widest_kind_decides(kinds, expected):
    assert numbers_dtype(kinds) is expected


def test_a_number_is_what_an_element_of_the_dtype_would_be():
    assert fitted_number(-1, tt.uint8) == 255 and fitted_number(2.9, tt.int32) == 2
    with pytest.raises(NumberRangeError, match="300 is beyond the range of uint8"):
        fitted_number(300, tt.uint8)
    assert fitted_number(0.1, tt.float32) == float(np.float32(0.1)) and fitted_number(3, tt.bool) is True


def test_casting_to_integers_and_bools_is_that_of_elements():
    array = np.array([0.0, -1.5, 2.5])
    assert cast_array(array, tt.int32).tolist() == [0, -1, 2]
    assert cast_array(array, tt.bool).tolist() == [False, True, True]


MAKING = {
    "full": lambda value, dtype: tt.full((2,), value, dtype=dtype),
    "full_empty": lambda value, dtype: tt.full((0,), value, dtype=dtype),
    "full_like": lambda value, dtype: tt.full_like(tt.zeros(2, dtype=dtype), value),
    "new_full": lambda value, dtype: tt.zeros(2, dtype=dtype).new_full((2,), value),
    "fill_": lambda value, dtype: tt.zeros(2, dtype=dtype).fill_(value),
    "scalar_tensor": lambda value, dtype: tt.scalar_tensor(value, dtype=dtype),
}


@pytest.mark.parametrize("how", MAKING)
@pytest.mark.parametrize("dtype", [tt.float64, tt.float16, tt.int8, tt.float8_e4m3fn, tt.float8_e5m2])
def test_a_complex_number_is_stored_as_a_real_one_where_it_is_one(dtype, how):
    assert MAKING[how](1 + 0j, dtype).to(tt.float64).sub(1).abs().sum() == 0
    with pytest.raises(NumberRangeError, match="1j is beyond the range"):
        MAKING[how](1j, dtype)


@pytest.mark.parametrize("how", MAKING)
def test_any_number_but_zero_is_true(how):
    assert MAKING[how](1j, tt.bool).all()
    assert not MAKING[how](0j, tt.bool).any()
