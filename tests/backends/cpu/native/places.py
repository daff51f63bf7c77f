"""Inputs for tests of kernels that are written twice: every dtype, and every way to lie in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

BFLOAT = np.dtype(ml_dtypes.bfloat16)
DTYPES = [*map(np.dtype, ("f4", "f8", "i8", "i4", "i2", "i1", "u1", "?", "c8", "c16", "f2")), BFLOAT]
SHAPES = ((5,), (4, 6), (3, 4, 5), (300, 70))


def whole(rng: np.random.Generator, shape: Any, dtype: Any) -> np.ndarray:
    """Return small whole numbers: their sums are exact, in whatever order."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    found = rng.integers(0 if dtype.kind == "u" else -9, 9, shape)
    return np.asarray(found + 1j * found[::-1] if dtype.kind == "c" and found.ndim else found).astype(dtype)


def layouts(array: np.ndarray) -> Iterator[np.ndarray]:
    """Yield equal arrays that lie differently in memory."""
    yield array
    if array.ndim > 1:
        yield np.asfortranarray(array)
    if array.ndim:
        yield np.repeat(array, 2, axis=-1)[..., ::2]
        yield array[::-1].copy()[::-1]


def moved(array: np.ndarray) -> np.ndarray:
    """Return a copy that lies in memory of its own as the array does in its."""
    lengths = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True) if n]
    before, after = -sum(n for n in lengths if n < 0), sum(n for n in lengths if n > 0)
    memory = np.zeros(before + after + array.itemsize, np.uint8)
    copy: np.ndarray = np.ndarray(array.shape, array.dtype, memory, before, array.strides)
    copy[...] = array
    return copy


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result, or the kind and the text of the error."""
    try:
        with np.errstate(all="ignore"):
            return function(*arguments)
    except Exception as error:
        return type(error), str(error)


def expect_equal(found: Any, wanted: Any, what: Any = "") -> None:
    """Raise unless dtype, shape and every element are equal, or two errors."""
    if isinstance(wanted, tuple) and isinstance(wanted[0], type):
        assert found == wanted, what
        return
    assert isinstance(found, np.ndarray), (what, found)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), what
    np.testing.assert_array_equal(found, wanted, err_msg=str(what))
