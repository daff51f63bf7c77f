"""Native products of bytes with sums of 32 bits: exact, for operands of any strides, sizes and signs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tt
from tt.backends.cpu.native.loading import load, status

NATIVE = load("byte_products")

needs_native = pytest.mark.skipif(NATIVE is None, reason=f"native kernels are not in use: {status().reason}")

SIZES = st.sampled_from([0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 47, 48, 49, 97])
WAYS = st.sampled_from(["plain", "transposed", "every other", "reversed", "repeated"])


def whole(seed: int, shape: tuple[int, int], dtype: Any, way: str) -> Any:
    """Return bytes of the whole range that lie in memory in some way."""
    limits = np.iinfo(dtype)
    x = np.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype, endpoint=True)
    if way == "transposed":
        return np.asfortranarray(x)
    if way == "every other":
        return np.repeat(x, 2, 1)[:, ::2]
    if way == "reversed":
        return x[:, ::-1]
    return np.broadcast_to(x[:1], shape) if way == "repeated" and shape[0] else x


@needs_native
@settings(max_examples=150, deadline=None)
@given(SIZES, SIZES, SIZES, st.sampled_from([np.int8, np.uint8]), WAYS, WAYS)
def test_products_are_exact(m: int, k: int, n: int, dtype: Any, one: str, other: str) -> None:
    a, b = whole(0, (m, k), dtype, one), whole(1, (k, n), np.int8, other)
    result = NATIVE._int_mm(a, b)
    assert result.dtype == np.int32
    np.testing.assert_array_equal(result, a.astype(np.int32) @ b.astype(np.int32))


@needs_native
@pytest.mark.parametrize("sizes", [(130, 1500, 250), (3, 9000, 700), (900, 5, 40), (64, 40, 20000)])
def test_operands_beyond_the_caches(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    for dtype in (np.int8, np.uint8):
        a, b = whole(0, (m, k), dtype, "plain"), whole(1, (k, n), np.int8, "plain")
        # Exact in float64, and faster than NumPy's products of integers.
        expected = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int32)
        np.testing.assert_array_equal(NATIVE._int_mm(a, b), expected)
        np.testing.assert_array_equal(NATIVE._int_mm(a, np.asfortranarray(b)), expected)


@needs_native
@pytest.mark.parametrize(
    ("value", "other"), [(-128, -128), (-128, 127), (127, -128), (255, -128), (255, 127)]
)
def test_the_largest_products_add_up(value: int, other: int) -> None:
    dtype = np.int8 if value < 128 else np.uint8
    a, b = np.full((17, 1030), value, dtype), np.full((1030, 50), other, np.int8)
    np.testing.assert_array_equal(NATIVE._int_mm(a, b), np.full((17, 50), 1030 * value * other))


@needs_native
def test_what_does_not_fit_is_refused() -> None:
    a = np.zeros((2, 3), np.int8)
    for one, other in [
        (a, a),
        (a, a.T.astype(np.uint8)),
        (a.astype(np.int16), a.T),
        (a[0], a.T),
        (a, a.T.tolist()),
    ]:
        with pytest.raises(ValueError):
            NATIVE._int_mm(one, other)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_results_are_those_of_torch(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    for sizes in ((20, 24, 16), (17, 1024, 8), (33, 80, 24)):
        a, b = whole(0, sizes[:2], np.dtype(dtype), "plain"), whole(1, sizes[1:], np.int8, "plain")
        expected = torch._int_mm(torch.from_numpy(a), torch.from_numpy(b))
        result = tt._int_mm(tt.from_numpy(a), tt.from_numpy(b))
        assert result.dtype is tt.int32
        np.testing.assert_array_equal(result.numpy(), expected.numpy())
        out = tt.zeros(sizes[0], sizes[2], dtype=tt.int32)
        assert tt._int_mm(tt.from_numpy(a), tt.from_numpy(b), out=out) is out
        np.testing.assert_array_equal(out.numpy(), expected.numpy())


@pytest.mark.parametrize(
    ("self", "mat2", "message"),
    [
        (tt.ones(2, 2), tt.ones(2, 2, dtype=tt.int8), "int8"),
        (tt.ones(2, 2, dtype=tt.int8), tt.ones(2, 2, dtype=tt.uint8), "int8 or uint8, and int8"),
        (tt.ones(2, dtype=tt.int8), tt.ones(2, 2, dtype=tt.int8), "dimension|matri|that fit"),
        (tt.ones(2, 3, dtype=tt.int8), tt.ones(2, 3, dtype=tt.int8), "do not multiply|that fit"),
    ],
)
def test_other_dtypes_and_shapes_are_refused(self: tt.Tensor, mat2: tt.Tensor, message: str) -> None:
    for device in ("cpu", "meta"):
        with pytest.raises(RuntimeError, match=message):
            tt._int_mm(self.to(device), mat2.to(device))
