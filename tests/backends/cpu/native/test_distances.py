"""Native distances between rows, against SciPy in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial import distance

import tt
from tests.threads import in_threads
from tt.backends.cpu.native.loading import load, status

NATIVE: Any = load("distances")

pytestmark = pytest.mark.skipif(NATIVE is None, reason=f"native kernels are not in use: {status().reason}")

EXACT = {np.float32: 3e-6, np.float64: 1e-14}


def rows(count: int, size: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal((count, size)).astype(dtype)


def euclidean(x1: Any, x2: Any) -> Any:
    return distance.cdist(x1.astype(np.float64), x2.astype(np.float64))


@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize(
    ("first", "second", "size"),
    [(1, 1, 1), (3, 5, 2), (4, 16, 7), (5, 64, 64), (9, 65, 65), (17, 200, 129), (70, 31, 1000)],
)
def test_distances_between_all_rows(dtype, first, second, size):
    x1, x2 = rows(first, size, dtype), rows(second, size, dtype, 1)
    found = NATIVE.cdist(x1, x2, 2.0, None)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, euclidean(x1, x2), rtol=EXACT[dtype])


def test_rows_that_are_close_keep_their_digits():
    x1 = rows(40, 30) + np.float32(1000)
    x2 = x1 + rows(40, 30, seed=1) * np.float32(1e-3)
    np.testing.assert_allclose(NATIVE.cdist(x1, x2, 2.0, None), euclidean(x1, x2), rtol=3e-6)
    assert (np.diag(NATIVE.cdist(x1, x1, 2.0, None)) == 0).all()


@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize("p", [0.25, 0.5, 1.0, 1.5, 2.5, 3.0, 4.0, 5.0, 7.5, 20.0])
@pytest.mark.parametrize(("first", "second", "size"), [(1, 1, 1), (5, 64, 7), (9, 33, 130), (4, 17, 1000)])
def test_distances_by_any_power(dtype, p, first, second, size):
    x1, x2 = rows(first, size, dtype), rows(second, size, dtype, 1)
    x2[0] = x1[0]
    expected = distance.cdist(x1.astype(np.float64), x2.astype(np.float64), "minkowski", p=p)
    found = NATIVE.cdist(x1, x2, p, None)
    assert found.dtype == dtype
    assert found[0, 0] == 0
    np.testing.assert_allclose(found, expected, rtol=EXACT[dtype] * max(1, 1 / p))


@pytest.mark.parametrize("p", [0.5, 1.0, 2.5, 3.0, 4.0])
@pytest.mark.parametrize("factor", [1e-38, 1e-20, 1e12, 1e37, np.inf, np.nan])
def test_powers_that_leave_the_range_of_single_precision_are_computed_in_double(p, factor):
    x1, x2 = rows(6, 8), rows(7, 8, seed=1)
    x1[2], x2[5] = x1[2] * np.float32(factor), x2[5] * np.float32(factor)
    x1[3] = x2[3] + np.float32(factor) if factor < 1 else x1[3]
    with np.errstate(invalid="ignore", over="ignore"):
        expected = distance.cdist(x1.astype("f8"), x2.astype("f8"), "minkowski", p=p).astype("f4")
    np.testing.assert_allclose(NATIVE.cdist(x1, x2, p, None), expected, rtol=6e-6)


def test_batches_and_other_memory_orders():
    x1, x2 = rows(2 * 3 * 11, 6).reshape(2, 3, 11, 6), rows(2 * 3 * 40, 6, seed=1).reshape(2, 3, 40, 6)
    expected = np.stack(
        [euclidean(a, b) for a, b in zip(x1.reshape(6, 11, 6), x2.reshape(6, 40, 6), strict=True)]
    )
    np.testing.assert_allclose(NATIVE.cdist(x1, x2, 2.0, None).reshape(6, 11, 40), expected, rtol=3e-6)
    turned = np.asfortranarray(x1[0, 0])
    np.testing.assert_allclose(NATIVE.cdist(turned, x2[0, 0, ::2], 2.0, None), expected[0, :, ::2], rtol=3e-6)
    shared = NATIVE.cdist(x1, x2[:1], 2.0, None)  # batches that are repeated
    np.testing.assert_allclose(shared[1, 2], euclidean(x1[1, 2], x2[0, 2]), rtol=3e-6)


@pytest.mark.parametrize("factor", [1e-25, 1e25, np.inf, np.nan])
def test_what_leaves_the_range_of_single_precision_is_computed_in_double(factor):
    x1, x2 = rows(6, 8), rows(7, 8, seed=1)
    x1[2], x2[5] = x1[2] * np.float32(factor), x2[5] * np.float32(factor)
    x1[3] = x2[3] + np.float32(factor) if factor < 1 else x1[3]
    with np.errstate(invalid="ignore"):
        expected = euclidean(x1, x2).astype(np.float32)
    np.testing.assert_allclose(NATIVE.cdist(x1, x2, 2.0, None), expected, rtol=3e-6)


@pytest.mark.parametrize(("p", "metric"), [(1.0, "cityblock"), (np.inf, "chebyshev"), (0.0, "hamming")])
def test_other_distances_are_those_of_scipy(p, metric):
    x1, x2 = rows(5, 4).round(), rows(6, 4, seed=1).round()
    expected = distance.cdist(x1, x2, metric) * (4 if p == 0 else 1)
    np.testing.assert_allclose(NATIVE.cdist(x1, x2, p, None), expected, rtol=1e-6)


@pytest.mark.parametrize("shapes", [((0, 3), (4, 3)), ((4, 3), (0, 3)), ((4, 0), (5, 0))])
def test_nothing_is_far_from_nothing(shapes):
    found = tt.cdist(tt.zeros(shapes[0]), tt.ones(shapes[1]))
    assert found.shape == (shapes[0][0], shapes[1][0])
    assert not found.numpy().any()


def test_threads_change_no_result():
    x1, x2 = rows(333, 70), rows(200, 70, seed=1)
    one = NATIVE.cdist(x1, x2, 2.0, None)
    found: list[Any] = []
    in_threads(*[lambda: found.append(NATIVE.cdist(x1, x2, 2.0, None))] * 4)
    before = tt.get_num_threads()
    try:
        for count in (1, 3):
            tt.set_num_threads(count)
            found.append(NATIVE.cdist(x1, x2, 2.0, None))
    finally:
        tt.set_num_threads(before)
    assert all(np.array_equal(one, other) for other in found)
