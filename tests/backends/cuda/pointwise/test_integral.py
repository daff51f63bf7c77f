"""Division, powers and shifts of integers on CUDA: their text, run on the host, against exact integers of Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.backends.cuda.kernels import kernels_of
from tests.backends.cuda.test_handle import HostMemory
from tt.backends.cuda.backend import CudaBackend
from tt.backends.cuda.pointwise import integral
from tt.core.errors import DivisionByZeroError, DtypeError, ValueRangeError

pytestmark = pytest.mark.sampled(10)

INTEGRAL = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")


def wrapped(value: int, dtype: str) -> int:
    """Return a number as the dtype holds it."""
    bits, low = np.iinfo(dtype).bits, int(np.iinfo(dtype).min)
    return (value - low) % 2**bits + low


def shifted_left(a: int, b: int, dtype: str) -> int:
    return a << b if 0 <= b < np.iinfo(dtype).bits else 0


def shifted_right(a: int, b: int, dtype: str) -> int:
    return a >> b if 0 <= b < np.iinfo(dtype).bits else -1 if a < 0 else 0


def truncated(a: int, b: int, dtype: str) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def power(a: int, b: int, dtype: str) -> int:
    if b >= 0:
        return pow(a, b, 2 ** np.iinfo(dtype).bits)
    return 1 if a == 1 else (-1 if b % 2 else 1) if a == -1 else 0


def least_multiple(a: int, b: int, dtype: str) -> int:
    """Return a multiple as far as the dtype holds it: without a sign after the product has wrapped around."""
    found = wrapped(a // math.gcd(a, b) * b, dtype) if a and b else 0
    return abs(found)


EXACT = {
    "floor_divide": lambda a, b, dtype: a // b,
    "remainder": lambda a, b, dtype: a % b,
    "fmod": lambda a, b, dtype: a - b * truncated(a, b, dtype),
    "div.mode": truncated,
    "pow": power,
    "bitwise_left_shift": shifted_left,
    "bitwise_right_shift": shifted_right,
    "gcd": lambda a, b, dtype: math.gcd(a, b),
    "lcm": lambda a, b, dtype: least_multiple(a, b, dtype),
}


def served(backend: CudaBackend, op: str, dtype: str):
    return kernels_of(integral.tables(backend))[op, dtype].function


@st.composite
def operands(draw):
    op, dtype = draw(st.sampled_from(sorted(EXACT))), draw(st.sampled_from(INTEGRAL))
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    number = st.one_of(
        st.integers(low, high), st.integers(max(low, -70), min(high, 70)), st.sampled_from([low, high])
    )
    pairs = draw(st.lists(st.tuples(number, number), min_size=1, max_size=30))
    if not op.startswith(("pow", "bitwise")):
        pairs = [(a, b or 1) for a, b in pairs]
    return op, dtype, pairs


@pytest.fixture(scope="module")
def backend(host_engine):
    """A backend whose kernels are compiled together."""
    made = CudaBackend(HostMemory(), lambda: np, host_engine)
    with host_engine.collecting():
        for dtype in INTEGRAL:
            one = made.normalise(np.ones(20, dtype))
            for op in EXACT:
                served(made, op, dtype)(one, one, *(("trunc",) if op == "div.mode" else ()))
    return made


@settings(max_examples=300, deadline=None)
@given(operands())
def test_results_are_exact_and_wrap_around(backend, given):
    op, dtype, pairs = given
    first, second = (np.array(column, dtype) for column in zip(*pairs, strict=True))
    rest = ("trunc",) if op == "div.mode" else ()
    found = served(backend, op, dtype)(backend.normalise(first), backend.normalise(second), *rest)
    assert found.dtype == dtype
    assert found.array.tolist() == [wrapped(EXACT[op](a, b, dtype), dtype) for a, b in pairs]


@pytest.mark.parametrize("op", ["floor_divide", "remainder", "fmod", "div.mode", "remainder.Scalar"])
def test_a_division_by_zero_raises(host_backend, op):
    rest = ("floor",) if op == "div.mode" else ()
    divide = served(host_backend, op, "int32")
    x, zeros = (host_backend.normalise(np.array(v, np.int32)) for v in ([4, 5], [2, 0]))
    with pytest.raises(DivisionByZeroError, match="an integer is divided by zero"):
        divide(x, zeros, *rest)
    if op != "remainder.Scalar":
        with pytest.raises(DivisionByZeroError, match="an integer is divided by zero"):
            divide(x, 0, *rest)
    else:
        with pytest.raises(DivisionByZeroError, match="an integer is divided by zero"):
            divide(7, zeros)
    # What was noted is gone with the error.
    assert divide(x, x, *rest).array.tolist() == [1, 1] if op in ("floor_divide", "div.mode") else [0, 0]


@pytest.mark.exhaustive
def test_a_number_may_be_on_either_side(host_backend):
    x = host_backend.normalise(np.array([-7, 7, 3], np.int64))
    assert served(host_backend, "floor_divide", "int64")(x, 2).array.tolist() == [-4, 3, 1]
    assert served(host_backend, "fmod", "int64")(x, -4).array.tolist() == [-3, 3, 3]
    assert served(host_backend, "remainder.Scalar", "int64")(10, x).array.tolist() == [-4, 3, 1]
    assert served(host_backend, "pow.Scalar", "int64")(2, x).array.tolist() == [0, 128, 8]
    assert served(host_backend, "pow", "int64")(x, 2).array.tolist() == [49, 49, 9]
    assert served(host_backend, "bitwise_left_shift", "int64")(x, 62).array.tolist() == [
        wrapped(n << 62, "int64") for n in (-7, 7, 3)
    ]


def test_what_rounds_leaves_integers_as_they_are(host_backend):
    x = np.array([math.factorial(20), -3], np.int64)
    for op in ("floor", "ceil", "trunc", "round"):
        found = served(host_backend, op, "int64")(host_backend.normalise(x))
        assert found.array.tolist() == x.tolist()


def test_what_the_operators_refuse_is_refused(host_backend):
    x = host_backend.normalise(np.array([3], np.int32))
    with pytest.raises(DtypeError, match="Integers to negative integer powers are not allowed"):
        served(host_backend, "pow", "int32")(x, -1)
    with pytest.raises(ValueRangeError, match="rounding_mode is None, 'trunc' or 'floor', not 'up'"):
        served(host_backend, "div.mode", "int32")(x, x, "up")
