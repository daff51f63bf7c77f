"""Calls of the array API standard with tt and with array-api-strict, which must agree in dtype, shape and values."""

from __future__ import annotations

import warnings
from typing import Any

import array_api_strict as strict
import numpy as np

import tt
from tt import array_api as xp

DTYPES = tuple(xp.__array_namespace_info__().dtypes())


def evaluate(library: Any, call: str, device: Any = None) -> Any:
    """Return the result of a call, written with `xp` for the library and `a(values, dtype)` for arrays."""

    def a(values: Any, dtype: str | None = None) -> Any:
        place = {} if device is None else {"device": device}
        return library.asarray(values, dtype=None if dtype is None else getattr(library, dtype), **place)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's about special values
        return eval(call, {"xp": library, "a": a})


def compare(found: Any, expected: Any) -> None:
    """Raise unless the results agree."""
    if isinstance(expected, tuple | list):
        assert isinstance(found, tuple | list)
        assert getattr(found, "_fields", None) == getattr(expected, "_fields", None)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            compare(one, other)
        return
    if isinstance(found, tt.dtype):
        assert str(found).split(".")[1] == str(expected).split(".")[-1]
        return
    if not isinstance(found, tt.Tensor):
        assert found == expected
        return
    assert str(found.dtype).split(".")[1] == str(expected.dtype).split(".")[-1]
    assert tuple(found.shape) == expected.shape
    values, wanted = found.cpu().detach().numpy(), np.asarray(expected)
    if wanted.dtype.kind not in "fc":
        np.testing.assert_array_equal(values, wanted)
        return
    precise = wanted.dtype in (np.float64, np.complex128)
    np.testing.assert_allclose(
        values, wanted, rtol=1e-12 if precise else 2e-6, atol=1e-12 if precise else 2e-6
    )


def check(call: str) -> None:
    """Raise unless a call gives the same with both libraries."""
    with tt.default_dtype(tt.float64):
        compare(evaluate(xp, call), evaluate(strict, call))
