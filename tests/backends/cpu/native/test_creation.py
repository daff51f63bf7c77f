"""Making tensors in C: what NumPy's kernels make, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.backends.cpu.native.places import BFLOAT, DTYPES, expect_equal, layouts, outcome, whole
from tt.backends.cpu import creation as reference
from tt.backends.cpu import shaping
from tt.backends.cpu.native.loading import load, status

native = load("creation")
pytestmark = pytest.mark.skipif(native is None, reason=f"native kernels are not built: {status().reason}")

rng = np.random.default_rng(0)
NUMBERS = [dtype for dtype in DTYPES if dtype.kind in "iuf"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_one_value_everywhere(dtype):
    for size in ((), (0,), (3,), (2, 3), (70_001,)):
        expect_equal(native.ones(size, dtype), reference.ones(size, dtype))
        for value in (0, 1, -0.0, 2, 2.5, -3, True, 2**40, float("inf"), float("nan"), 1e300, 1j):
            if value != value and dtype == BFLOAT:
                continue  # NumPy does not know that two NaN of bfloat16 are the same
            found = outcome(native.full, size, value, dtype)
            expect_equal(found, outcome(reference.full, size, value, dtype), (value, dtype))
    zero = native.full((2,), -0.0, np.dtype("f4"))
    assert np.signbit(zero).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_unit_matrix(dtype):
    for n, m in ((0, None), (3, None), (2, 5), (5, 2), (3, 0)):
        expect_equal(native.eye(n, m, dtype), reference.eye(n, m, dtype))
    assert outcome(native.eye, -1, None, dtype) == outcome(reference.eye, -1, None, dtype)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_ranges(dtype):
    for start, end, step in (
        (0, 10, 1), (5, 5, 1), (10, 0, -3), (0, 2000, 7), (0.0, 1.0, 0.1), (-1.5, 60.0, 0.37), (1, 2, 0.25),
        (0, 10, 0), (0, 10, -1), (0.0, float("inf"), 1.0), (2.0, 2.0, 0.5), (0, 100, 3.0),
    ):  # fmt: skip
        found = outcome(native.arange, start, end, step, dtype)
        expect_equal(found, outcome(reference.numbers, start, end, step, dtype), (start, end, step))
    expect_equal(native.arange(7, dtype), reference.numbers(0, 7, 1, dtype))
    expect_equal(native.arange(3, 7, dtype), reference.numbers(3, 7, 1, dtype))


@given(
    st.floats(-1e6, 1e6),
    st.floats(-1e6, 1e6),
    st.integers(0, 1500),
    st.sampled_from(["f4", "f8", "f2", "i4", "c8"]),
)
def test_numbers_between_bounds(start, end, steps, dtype):
    dtype = np.dtype(dtype)
    found = outcome(native.linspace, start, end, steps, dtype)
    expect_equal(found, outcome(reference.linspace, start, end, steps, dtype))
    if dtype.kind == "f" and dtype.itemsize > 2 and steps > 1:
        assert found[0] == dtype.type(start)
        assert found[-1] == dtype.type(end)


@given(st.integers(0, 9), st.integers(0, 9), st.integers(-12, 12))
def test_places_of_triangles(rows, columns, offset):
    for dtype in map(np.dtype, ("i8", "i4")):
        for name in ("tril_indices", "triu_indices"):
            found = getattr(native, name)(rows, columns, offset, dtype)
            expect_equal(found, getattr(reference, name)(rows, columns, offset, dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_triangles_and_elements_moved_around(dtype):
    for shape in ((4, 6), (6, 4), (2, 3, 5), (0, 3), (3, 0), (300, 200)):
        for x in layouts(whole(rng, shape, dtype)):
            for diagonal in (0, 1, -2, 100, -100, 2**62):
                if abs(diagonal) < 2**31:
                    expect_equal(native.tril(x, diagonal), shaping.tril(x, diagonal))
                    expect_equal(native.triu(x, diagonal), shaping.triu(x, diagonal))
            assert (native.tril(x, 2**62) == x).all()
            for shifts, dims in (([3], [0]), ([-1], [1]), ([2, -5], [0, 1]), ([1, 1], [0, 0]), ([7], [])):
                expect_equal(native.roll(x, shifts, dims), shaping.roll(x, shifts, dims), (shifts, dims))
    with pytest.raises(ValueError, match="shape rule"):
        native.roll(np.zeros((2, 2)), [1], [2])
    with pytest.raises(ValueError, match="shape rule"):
        native.roll(np.zeros((2, 2)), [1, 2], [0])
