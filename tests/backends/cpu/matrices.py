"""Matrices for the tests of decompositions, factors and equations."""

from __future__ import annotations

import numpy as np

import tt

__all__ = ["DTYPES", "close", "numbers"]

DTYPES = ["float32", "float64", "complex64", "complex128"]


def numbers(*shape: int, dtype: str = "float64", seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    array = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return array.astype(dtype) if "complex" in dtype else array.real.astype(dtype)


def close(found, expected, dtype: str) -> None:
    tolerance = 1e-5 if dtype in ("float32", "complex64") else 1e-12
    found = found.numpy() if isinstance(found, tt.Tensor) else found
    np.testing.assert_allclose(found, expected, atol=tolerance * max(1, np.abs(expected).max(initial=0)))
