"""Native factors Q R: their promises, in float64, agreement with LAPACK, special values, threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tt.backends.cpu.native.loading import load, status

NATIVE = load("qr")

pytestmark = pytest.mark.skipif(NATIVE is None, reason=f"native kernels are not in use: {status().reason}")

SHAPES = [
    (1, 1), (1, 5), (5, 1), (8, 8), (17, 33), (64, 64), (65, 65), (33, 64), (64, 3),
    (257, 131), (30, 100), (500, 1), (1, 500), (130, 300), (5, 8, 8), (2, 3, 70, 66), (3, 64, 65),
]  # fmt: skip


def check(a: Any, mode: str) -> None:
    """Compare with LAPACK's factors of the same numbers in float64."""
    q, r = NATIVE.linalg_qr(a, mode)
    wide = a.astype(np.float64)
    expected = np.linalg.qr(wide, mode)
    eq, er = (None, expected) if mode == "r" else expected
    eps, size = float(np.finfo(a.dtype).eps) * 4 * max(a.shape[-2:]), max(np.abs(er).max(), 1e-300)
    assert r.dtype == a.dtype
    assert r.shape == er.shape
    assert not np.tril(r, -1).any()
    assert np.abs(r - er).max() <= size * eps * np.linalg.cond(wide).max()
    if eq is None:
        assert q.shape == (0,)
        return
    assert q.dtype == a.dtype
    assert q.shape == eq.shape
    q = q.astype(np.float64)
    assert np.abs(q @ r - wide).max() <= size * eps
    assert np.abs(q.swapaxes(-1, -2) @ q - np.eye(q.shape[-1])).max() <= eps


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_factors_multiply_to_the_matrix_in_every_memory_order(shape: Any, mode: str, dtype: str) -> None:
    a = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    check(a, mode)
    check(np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2), mode)
    check(np.repeat(a, 2, -1)[..., ::-2], mode)


@pytest.mark.parametrize("size", [6, 80])
@pytest.mark.parametrize(
    ("dtype", "scale"),
    [("float32", 1e30), ("float32", 1e-30), ("float64", 1e300), ("float64", 1e-200), ("float64", 1e-300)],
)
def test_squares_outside_the_range_of_the_dtype(dtype: str, scale: float, size: int) -> None:
    a = (np.random.default_rng(1).standard_normal((size, size)) * scale).astype(dtype)
    q, r = NATIVE.linalg_qr(a, "reduced")
    eps = float(np.finfo(dtype).eps) * 4 * size
    assert np.abs(q.T @ q - np.eye(size)).max() < eps
    unit = a.astype(np.float64) / scale
    assert (
        np.abs(q.astype(np.float64) @ (r.astype(np.float64) / scale) - unit).max()
        < eps * np.abs(unit).max() * size
    )


@pytest.mark.parametrize("size", [5, 90])
def test_matrices_of_lower_rank(size: int) -> None:
    for a in (np.zeros((size, size)), np.eye(size), -np.eye(size), np.ones((size, size))):
        q, r = NATIVE.linalg_qr(a, "reduced")
        assert np.abs(q @ r - a).max() < 1e-11
        assert np.abs(q.T @ q - np.eye(size)).max() < 1e-11
        if not a.all():
            np.testing.assert_array_equal(r, np.linalg.qr(a, "r"))


@pytest.mark.parametrize("size", [5, 90])
@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_what_is_not_finite_is_left_to_lapack(size: int, special: float) -> None:
    a = np.random.default_rng(2).standard_normal((2, size, size))
    a[1, size // 2, size - 1] = special
    with np.errstate(all="ignore"):
        expected = np.linalg.qr(a)
    for found, theirs in zip(NATIVE.linalg_qr(a, "reduced"), expected, strict=True):
        np.testing.assert_array_equal(found, theirs)


@pytest.mark.parametrize("shape", [(400, 400), (1000, 60), (100, 8, 8), (6, 100, 90)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_change_no_bits(shape: Any, dtype: str) -> None:
    a = np.random.default_rng(3).standard_normal(shape).astype(dtype)
    before = tt.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 5):
            tt.set_num_threads(threads)
            found.append([part.tobytes() for part in NATIVE.linalg_qr(a, "reduced")])
    finally:
        tt.set_num_threads(before)
    assert found[0] == found[1] == found[2]
