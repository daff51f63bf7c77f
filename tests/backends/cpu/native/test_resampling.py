"""Native resampling: sums of weighted elements and their transposes, against products with a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tt
from tt.backends.cpu.native.loading import load, status

NATIVE = load("resampling")

pytestmark = pytest.mark.skipif(NATIVE is None, reason=f"native kernels are not in use: {status().reason}")


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([(7,), (3, 4), (2, 3, 5), (2, 1, 4, 3), (0, 3)]),
    st.integers(0, 3),
    st.integers(1, 6),
    st.integers(0, 9),
    st.sampled_from([np.float32, np.float64]),
    st.booleans(),
)
def test_sums_and_their_transposes(
    shape: Any, dim: int, taps: int, new: int, dtype: Any, reverse: bool
) -> None:
    rng = np.random.default_rng(0)
    dim %= len(shape)
    x = rng.standard_normal(shape).astype(dtype)
    x = x[::-1].swapaxes(0, -1) if reverse else x
    size = x.shape[dim]
    if not size:
        return
    places, weights = rng.integers(0, size, (taps, new)), rng.standard_normal((taps, new))
    matrix = np.zeros((new, size))
    for k in range(taps):
        np.add.at(matrix, (np.arange(new), places[k]), weights[k])
    found = NATIVE._weighted_taps(x, places, weights, dim)
    assert found.dtype == dtype
    assert found.flags.c_contiguous
    expected = np.moveaxis(np.tensordot(x.astype(np.float64), matrix, (dim, 1)), -1, dim)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
    g: Any = np.asarray(rng.standard_normal(expected.shape), dtype)
    back = NATIVE._spread_taps(g, places, weights, dim - x.ndim, size)
    assert back.dtype == dtype
    expected = np.moveaxis(np.tensordot(g.astype(np.float64), matrix, (dim, 0)), -1, dim)
    np.testing.assert_allclose(back, expected, rtol=2e-5, atol=2e-5)


def test_weights_of_one_keep_what_is_special() -> None:
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324])
    places = np.array([[4, 3, 2, 1, 0]])
    found = NATIVE._weighted_taps(x, places, np.ones((1, 5)), 0)
    np.testing.assert_array_equal(found, x[::-1])
    assert np.signbit(found[1])


@pytest.mark.parametrize("dim", [0, 1])
def test_neighbours_are_copied_together(dim: int) -> None:
    x = np.random.default_rng(0).standard_normal((30, 40)).astype(np.float32)
    places = np.abs(np.arange(-3, x.shape[dim] + 2))
    places = np.minimum(places, 2 * x.shape[dim] - 2 - places)
    ones = np.ones((1, len(places)))
    found = NATIVE._weighted_taps(x, places[None], ones, dim)
    np.testing.assert_array_equal(found, x.take(places, dim))
    back = NATIVE._spread_taps(found, places[None], ones, dim, x.shape[dim])
    expected = np.zeros(x.shape)
    np.add.at(expected, (places,) if dim == 0 else (slice(None), places), found)
    np.testing.assert_allclose(back, expected, rtol=1e-6)


def test_places_outside_are_refused() -> None:
    with pytest.raises(IndexError):
        NATIVE._weighted_taps(np.ones(3), np.array([[3]]), np.ones((1, 1)), 0)
    with pytest.raises(IndexError):
        NATIVE._spread_taps(np.ones(1), np.array([[-1]]), np.ones((1, 1)), 0, 3)
    with pytest.raises(ValueError):
        NATIVE._weighted_taps(np.ones(3), np.array([[0]]), np.ones((1, 2)), 0)
    with pytest.raises(ValueError):
        NATIVE._spread_taps(np.ones(2), np.array([[0]]), np.ones((1, 1)), 0, 3)


def test_no_elements_are_no_places() -> None:
    places, weights = tt.tensor([[0, 1]]), tt.tensor([[1.0, 1.0]], dtype=tt.float64)
    with pytest.raises(tt.errors.ShapeError, match="without elements"):
        tt.ops._weighted_taps(tt.empty(0, 3), places, weights, 0)
    assert tt.ops._weighted_taps(tt.empty(0, 3), places, weights, 1).shape == (0, 2)
    assert tt.ops._weighted_taps(tt.empty(0, 3), places[:, :0], weights[:, :0], 0).shape == (0, 3)
