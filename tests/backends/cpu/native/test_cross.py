"""Native cross products, against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tt.backends.cpu.native.loading import load, status

NATIVE = load("cross")

pytestmark = pytest.mark.skipif(NATIVE is None, reason=f"native kernels are not in use: {status().reason}")


@pytest.mark.parametrize("shape", [(3,), (7, 3), (3, 7), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cross_products(shape: tuple[int, ...], dtype: Any) -> None:
    a, b = (np.random.default_rng(seed).standard_normal(shape).astype(dtype) for seed in (0, 1))
    dim = shape.index(3)
    expected = np.cross(a.astype(np.float64), b.astype(np.float64), axis=dim)
    tolerance = 10 * np.finfo(dtype).eps * np.abs(expected).max()
    for way in (dim, dim - len(shape)):
        found = NATIVE.linalg_cross(a, b, way)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    if (
        dim
    ):  # other strides; where products are added in one step, it depends on the loop which of both is rounded
        found = NATIVE.linalg_cross(a[::-1], b[::-1], dim)
        np.testing.assert_allclose(found, expected[::-1], rtol=0, atol=tolerance)


def test_vectors_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError):
        NATIVE.linalg_cross(np.zeros(3), np.zeros((2, 3)), -1)
    with pytest.raises(ValueError):
        NATIVE.linalg_cross(np.zeros(4), np.zeros(4), -1)
