"""New memory is filled while deterministic algorithms are required."""

from __future__ import annotations

import math

import pytest

import tt
import tt.utils.deterministic
from tt.core.types.dtype import STORED


@pytest.fixture(autouse=True)
def _restored():
    yield
    tt.utils.deterministic.fill_uninitialized_memory = True
    tt.use_deterministic_algorithms(False)


MAKERS = [
    lambda dtype: tt.empty(2, 3, dtype=dtype),
    lambda dtype: tt.empty(1, 2, 3, 4, dtype=dtype, memory_format=tt.channels_last),
    lambda dtype: tt.empty_like(tt.zeros(2, 3, dtype=dtype)),
    lambda dtype: tt.empty_strided((2, 2), (1, 2), dtype=dtype),
    lambda dtype: tt.empty_permuted((2, 2), (1, 0), dtype=dtype),
    lambda dtype: tt.zeros(1, dtype=dtype).new_empty(3),
    lambda dtype: tt.zeros(0, dtype=dtype).resize_(3),
]


@pytest.mark.parametrize("make", MAKERS)
def test_memory_has_nan_the_largest_integer_or_true(make):
    tt.use_deterministic_algorithms(True)
    for dtype in (tt.float32, tt.float64, tt.float16, tt.bfloat16, *STORED):
        assert make(dtype).isnan().all()
    for dtype in (tt.complex32, tt.complex64, tt.complex128):
        assert all(math.isnan(z.real) and math.isnan(z.imag) for z in make(dtype).flatten().tolist())
    for dtype in (tt.int8, tt.int64, tt.uint8):
        assert (make(dtype) == tt.iinfo(dtype).max).all()
    assert make(tt.bool).all()


def test_elements_that_were_there_stay():
    tt.use_deterministic_algorithms(True)
    assert tt.tensor([1, 2]).resize_(3).tolist() == [1, 2, 2**63 - 1]


def test_filling_is_switched_off_and_ends_with_the_setting():
    tt.use_deterministic_algorithms(True)
    tt.utils.deterministic.fill_uninitialized_memory = False
    assert not tt.utils.deterministic.fill_uninitialized_memory
    written = tt.zeros(0).resize_(4).fill_(5)
    assert written.tolist() == [5] * 4
    tt.use_deterministic_algorithms(False)
    tt.utils.deterministic.fill_uninitialized_memory = True
    assert not tt.empty(3, dtype=tt.int64).eq(2**63 - 1).all()


def test_the_switch_takes_only_a_bool():
    with pytest.raises(TypeError, match="True or False"):
        tt.utils.deterministic.fill_uninitialized_memory = 1
