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


@pytest.mark.parametrize("value", [1e300j, complex(1e300, 0), complex(float("inf"), 1e300)])
def test_parts_of_complex_numbers_have_to_fit(value):
    with pytest.raises(NumberRangeError):
        fitted_number(value, tt.complex64)
    assert fitted_number(value, tt.complex128) == value


def test_infinite_parts_of_complex_numbers_stay_infinite():
    assert fitted_number(complex(float("inf"), 2), tt.complex64) == complex(float("inf"), 2)


def test_negative_numbers_wrap_into_the_widest_unsigned_dtype():
    assert fitted_number(-1, tt.uint64) == 2**64 - 1
    with pytest.raises(OverflowError):
        fitted_number(-(2**63) - 1, tt.uint64)


FILLS = {
    "scalar_tensor": lambda t, value, dtype: t.scalar_tensor(value, dtype=dtype).reshape(1),
    "full": lambda t, value, dtype: t.full((1,), value, dtype=dtype),
    "full_like": lambda t, value, dtype: t.full_like(t.zeros(1, dtype=dtype), value),
    "fill_": lambda t, value, dtype: t.zeros(1, dtype=dtype).fill_(value),
    "item assignment": lambda t, value, dtype: _assigned(t, value, dtype, 0),
    "assignment by a tensor": lambda t, value, dtype: _assigned(t, value, dtype, t.tensor([0])),
    "where": lambda t, value, dtype: t.where(t.tensor([True]), value, t.zeros(1, dtype=dtype)),
    "masked_fill": lambda t, value, dtype: t.zeros(1, dtype=dtype).masked_fill(t.tensor([True]), value),
}
NUMBERS = [
    ("complex64", 1e300j), ("complex64", complex(float("inf"), 1e300)), ("complex64", complex(2, float("inf"))),
    ("complex64", 1e300), ("complex128", 1e300j), ("float32", 1 + 0j), ("float32", 1j), ("uint8", -1),
    ("uint8", -255), ("uint8", -256), ("uint8", 256), ("uint8", -0.5), ("int8", 127.5), ("int8", 128), ("int8", -128),
    ("int8", -128.5), ("int32", 2.7), ("int64", 2**63),
]  # fmt: skip


def _assigned(t, value, dtype, index):
    x = t.zeros(1, dtype=dtype)
    x[index] = value
    return x


@pytest.mark.torch
@pytest.mark.parametrize("form", FILLS)
def test_numbers_are_taken_wrapped_and_refused_as_in_torch(form):
    torch = pytest.importorskip("torch")
    for name, value in NUMBERS:
        if form == "where" and (isinstance(value, complex) or name != "uint8"):
            continue  # promotes the number instead
        try:
            expected = FILLS[form](torch, value, getattr(torch, name)).tolist()
        except (RuntimeError, OverflowError, ValueError, TypeError):
            expected = "refused"
        try:
            found = FILLS[form](tt, value, getattr(tt, name)).tolist()
        except (RuntimeError, OverflowError, ValueError, TypeError):
            found = "refused"
        if form in ("full", "scalar_tensor") and (name, value) == ("float32", 1 + 0j):
            continue  # as elsewhere; torch refuses it in one of the two
        assert found == expected, f"{value} as {name}"


def test_a_number_beyond_the_range_is_named_as_it_was_given():
    with pytest.raises(NumberRangeError, match=r"1e[+]300j"):
        tt.scalar_tensor(1e300j, dtype=tt.complex64)
    with pytest.raises(NumberRangeError, match=r"1e[+]300j"):
        tt.where(tt.tensor([True]), tt.zeros(1, dtype=tt.complex64), 1e300j)


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
