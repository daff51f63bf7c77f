"""Making tensors, against PyTorch."""

from __future__ import annotations

import math

import pytest

import tt

torch = pytest.importorskip("torch")

RANGES = [
    (5,), (0,), (2.5,), (1, 4), (4, 1, -1), (0, 1, 0.1), (0, 1, 0.3), (-1, 1, 0.25), (5, 0, -2), (1, 1), (0.0, 3),
    (0, 5, 5), (3, 1), (0, 5, 0), (0, math.inf), (0, math.nan), (1, 2, -0.1), (10**12, 10**12 + 3), (0, -3, -1.5),
]  # fmt: skip


@pytest.mark.parametrize("arguments", RANGES, ids=str)
@pytest.mark.parametrize("dtype", [None, "int32", "float64", "float16", "bfloat16"])
def test_arange(same, arguments, dtype):
    if dtype == "int32" and (any(a % 1 for a in arguments if math.isfinite(a)) or max(arguments) > 2**31):
        pytest.skip("PyTorch counts in integers and rounds the step, or refuses; tt rounds the numbers")
    if dtype in ("float16", "bfloat16") and max(arguments) > 2**31:
        return  # beyond float16, and 2**12 apart in bfloat16
    same(lambda m: m.arange(*arguments, dtype=dtype and getattr(m, dtype)))


@pytest.mark.parametrize(
    "arguments", [(0, 1, 5), (1, -1, 4), (0, 1, 1), (3, 7, 0), (0.5, 2, 7), (0, 10, 11), (0, 1, -1)], ids=str
)
@pytest.mark.parametrize("dtype", [None, "float64", "float16", "complex64"])
def test_linspace(same, arguments, dtype):
    same(lambda m: m.linspace(*arguments, dtype=dtype and getattr(m, dtype)))


FILLS = {
    "zeros": lambda m, **o: m.zeros(2, 3, **o),
    "zeros of a tuple": lambda m, **o: m.zeros((2, 0, 3), **o),
    "ones": lambda m, **o: m.ones(2, 3, **o),
    "full": lambda m, **o: m.full((2, 3), 7, **o),
    "full of a float": lambda m, **o: m.full((2,), 2.5, **o),
    "full of a bool": lambda m, **o: m.full((2,), True, **o),
    "eye": lambda m, **o: m.eye(3, **o),
    "eye that is not square": lambda m, **o: (m.eye(2, 4, **o), m.eye(3, 0, **o)),
    "a number": lambda m, **o: m.scalar_tensor(3, **o),
    "a negative size": lambda m, **o: m.zeros(-1, **o),
    "a negative eye": lambda m, **o: m.eye(-1, **o),
    "strided": lambda m, **o: m.empty_strided((2, 3), (1, 2), **o).fill_(1),
    "overlapping": lambda m, **o: m.empty_strided((2, 3), (0, 1), **o).shape == (2, 3),
    "strides of another length": lambda m, **o: m.empty_strided((2, 3), (1,), **o),
}


@pytest.mark.parametrize(
    "dtype", [None, "bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"]
)
@pytest.mark.parametrize("name", FILLS)
def test_filled(same, name, dtype):
    same(lambda m: FILLS[name](m, **({"dtype": getattr(m, dtype)} if dtype else {})), strides=True)


def test_a_complex_number_does_not_fill_real_ones(same):
    same(lambda m: m.full((2,), 1j, dtype=m.float32))
    same(lambda m: m.full((2,), 1j))


def test_the_default_dtype_counts():
    before = tt.get_default_dtype()
    tt.set_default_dtype(tt.float64)
    try:
        assert tt.zeros(1).dtype is tt.float64 and tt.full((1,), 0.5).dtype is tt.float64
        assert tt.arange(0.5).dtype is tt.float64 and tt.rand(1).dtype is tt.float64
    finally:
        tt.set_default_dtype(before)
