"""Native softmax against its definition in double precision, over all dtypes, strides and dimensions."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tt.backends.cpu.native.loading import load

NATIVE = load("softmax")

pytestmark = pytest.mark.skipif(NATIVE is None, reason="the native kernels are not compiled")

FLOATING = {np.dtype(np.float32): 2e-6, np.dtype(np.float64): 1e-13, np.dtype(np.float16): 2e-3,
            np.dtype(ml_dtypes.bfloat16): 2e-2}  # fmt: skip
SHAPES = [
    (), (1,), (5,), (3000,), (3, 4), (64, 7), (7, 64), (3000, 3), (3, 3000), (2, 3, 4), (10, 20, 30), (300, 5, 17),
    (0, 3), (3, 0), (40, 1200), (300, 300), (33, 2, 65),
]  # fmt: skip


def log_softmax(x, dim):
    with np.errstate(invalid="ignore", divide="ignore"):
        if not x.size:
            return x
        shifted = x - np.max(x, dim, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))


def layouts(array):
    yield array
    if array.ndim > 1:
        yield array.T
        yield array[::-1, ::-2]
        yield np.broadcast_to(array[:1], array.shape)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_softmax_and_its_gradient(dtype, shape):
    random = np.random.default_rng(0)
    tolerance = {"rtol": FLOATING[dtype] * 8, "atol": FLOATING[dtype] * 8}
    for x in layouts(np.asarray((random.standard_normal(shape) * 5).astype(dtype))):
        grad = np.asarray(random.standard_normal(x.shape[::-1]).astype(dtype)).T
        g = grad.astype(np.float64)
        for dim in range(-max(x.ndim, 1), max(x.ndim, 1)):
            axis = dim if x.ndim else None
            expected = log_softmax(x.astype(np.float64), axis)
            found = NATIVE.log_softmax(x, dim)
            assert found.dtype == dtype
            assert found.flags.c_contiguous
            np.testing.assert_allclose(found.astype(np.float64), expected, **tolerance)
            y = NATIVE.softmax(x, dim)
            np.testing.assert_allclose(y.astype(np.float64), np.exp(expected), **tolerance)

            wide = y.astype(np.float64)
            slope = (g - (g * wide).sum(axis, keepdims=True)) * wide
            found = NATIVE.softmax_backward(grad, y, dim)
            np.testing.assert_allclose(found.astype(np.float64), slope, **tolerance)
            logarithm = NATIVE.log_softmax(x, dim)
            slope = g - np.exp(logarithm.astype(np.float64)) * g.sum(axis, keepdims=True)
            found = NATIVE.log_softmax_backward(grad, logarithm, dim)
            np.testing.assert_allclose(found.astype(np.float64), slope, rtol=tolerance["rtol"] * 8,
                                       atol=tolerance["atol"] * 8)  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_infinities_and_nan(dtype):
    inf, nan = np.inf, np.nan
    rows = np.array([[1, inf, 2], [-inf, 0, 0], [-inf] * 3, [nan, 1, 2], [inf, inf, -inf]]).astype(dtype)
    expected = log_softmax(rows.astype(np.float64), 1)
    for x, dim in ((rows, 1), (np.ascontiguousarray(rows.T), 0), (rows.T, 0)):
        logarithm, y = (f(x, dim).astype(np.float64) for f in (NATIVE.log_softmax, NATIVE.softmax))
        turned = expected if dim else expected.T
        np.testing.assert_allclose(logarithm, turned, rtol=1e-2)
        np.testing.assert_allclose(y, np.exp(turned), rtol=1e-2)


def test_nothing_overflows():
    for scale in (1e4, 1e30, -1e30):
        x = (np.arange(600, dtype=np.float32) * np.float32(scale)).reshape(2, 300)
        for dim in (0, 1):
            np.testing.assert_allclose(NATIVE.softmax(x, dim).sum(dim), 1)
    tiny = NATIVE.softmax(np.array([0.0, -100.0], np.float32), 0)
    assert tiny[1] == pytest.approx(np.exp(-100.0), rel=1e-2)  # denormal


def test_results_do_not_depend_on_the_number_of_threads():
    threads = load("threads")
    before = threads.get_num_threads()
    x = np.random.default_rng(0).standard_normal((700, 300)).astype(np.float32)
    try:
        for dim in (0, 1):
            found = []
            for count in (1, 2, 5):
                threads.set_num_threads(count)
                found.append(NATIVE.softmax(x, dim).tobytes())
            assert found[0] == found[1] == found[2]
    finally:
        threads.set_num_threads(before)


def test_what_is_wrong_is_refused():
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(IndexError):
        NATIVE.softmax(x, 2)
    with pytest.raises(TypeError, match="int64"):
        NATIVE.softmax(x.astype(np.int64), 0)
    with pytest.raises(ValueError, match="fit"):
        NATIVE.softmax_backward(x, x.T, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize(("rows", "columns"), [(1024, 40), (37, 129), (5, 9000), (300, 17)])
def test_lines_across_the_memory_order(dtype, rows, columns):
    x = np.random.default_rng(0).standard_normal((columns, rows)).astype(dtype).T
    g = np.random.default_rng(1).standard_normal((rows, columns)).astype(dtype)
    for dim in (0, 1):
        # Contiguous lines are another path, which computes each line in the same way.
        along = np.ascontiguousarray(np.moveaxis(x, dim, -1))
        y = NATIVE.softmax(along, -1)
        np.testing.assert_array_equal(NATIVE.softmax(x, dim), np.moveaxis(y, -1, dim))
        found = NATIVE.softmax_backward(g, np.moveaxis(y, -1, dim), dim)
        slope = NATIVE.softmax_backward(np.ascontiguousarray(np.moveaxis(g, dim, -1)), y, -1)
        np.testing.assert_allclose(found, np.moveaxis(slope, -1, dim), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lines_of_every_length(dtype):
    x = (np.random.default_rng(0).standard_normal((3, 1300)) * 5).astype(dtype)
    tolerance = FLOATING[np.dtype(dtype)] * 8
    for line in (*range(1, 140), 1023, 1024, 1025, 1089, 1300):
        expected = log_softmax(x[:, :line].astype(np.float64), 1)
        found = NATIVE.log_softmax(x[:, :line], 1)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(NATIVE.softmax(x[:, :line], 1), np.exp(expected), rtol=tolerance)
