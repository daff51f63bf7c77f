"""Libraries that differ from the standard, as lazy ones do: what their backends declare, and which errors say why."""

from __future__ import annotations

import math
import operator
from types import SimpleNamespace
from typing import Any

import array_api_strict
import numpy as np
import pytest

import tt
from tt.backends.array_api.backend import ArrayApiBackend
from tt.core.library import REGISTRY
from tt.errors import ExportError


def namespace(**replaced: Any) -> Any:
    """Return the functions of array-api-strict, some of them replaced."""
    names = {name: getattr(array_api_strict, name) for name in dir(array_api_strict)}
    return SimpleNamespace(**{**names, **replaced})


def test_declared_capabilities_overrule_the_listed_ones() -> None:
    def unknown(array: Any) -> Any:
        raise AssertionError("the shape of the result is not known")

    class Lazy(ArrayApiBackend):
        capabilities = {"data-dependent shapes": False}  # noqa: RUF012

    backend = Lazy(namespace(nonzero=unknown), "unknowing")
    with REGISTRY.add_backend(backend), REGISTRY.add(backend.kernels()):
        x = tt.tensor([[0.0, 2.0], [3.0, 0.0]], device="unknowing")
        assert x.nonzero().tolist() == [[0, 1], [1, 0]]
        assert x[x > 2].tolist() == [3]


def test_arrays_that_numpy_cannot_read_are_named() -> None:
    class Deferred:
        shape, ndim = (2,), 1

    backend = ArrayApiBackend(array_api_strict, "unreadable")
    with pytest.raises(
        ExportError, match=r"device 'unreadable', of the class Deferred\n  try: override `to_numpy`"
    ):
        backend.to_numpy(Deferred())


def test_values_are_computed_with_warnings_off() -> None:
    class Deferred:
        shape, ndim, dtype = (), 0, array_api_strict.float32

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.asarray(np.float32(np.inf) - np.float32(np.inf))

        def __float__(self) -> float:
            return float(np.float32(np.inf) - np.float32(np.inf))

    backend = ArrayApiBackend(namespace(reshape=lambda array, shape: array), "deferring")
    assert np.isnan(backend.to_numpy(Deferred()))
    assert np.isnan(backend.item(Deferred()))


def test_a_list_of_dtypes_may_need_a_kind() -> None:
    class Info:
        def dtypes(self, *, device: Any = None, kind: Any) -> Any:
            return array_api_strict.__array_namespace_info__().dtypes(device=device, kind=kind)

        def capabilities(self) -> Any:
            return {}

    backend = ArrayApiBackend(namespace(__array_namespace_info__=Info), "listing")
    assert backend.has_dtype("int64") and backend.has_dtype("complex64")


@pytest.mark.parametrize(
    ("library", "named"), [(None, "None"), (math, "math"), (SimpleNamespace(asarray=np.asarray), "")]
)
def test_what_does_not_follow_the_standard_is_refused_with_what_it_lacks(library: Any, named: str) -> None:
    with pytest.raises(
        tt.errors.ArgumentError, match=rf"^ArrayApiBackend\(\): {named}.* has no .*astype, isdtype, matmul: "
    ):
        ArrayApiBackend(library, "lacking")


@pytest.mark.parametrize("dtype", ["uint8", "int64", "uint64"])
@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((0, 1, 0.25), [0, 0, 0, 0]),  # the step is truncated to 0
        ((7, 1, -2), [7, 5, 3]),
        ((2.5, 5), [2, 3, 4]),
        ((3, 3), []),
    ],
)
def test_ranges_of_integers(dtype: str, bounds: tuple[float, ...], expected: list[int]) -> None:
    backend = ArrayApiBackend(array_api_strict, "ranging")
    with REGISTRY.add_backend(backend), REGISTRY.add(backend.kernels()):
        if dtype == "int64" and bounds == (0, 1, 0.25):
            with pytest.raises(ValueError, match="step"):  # int64 counts with truncated numbers
                tt.arange(*bounds, dtype=tt.int64, device="ranging")
            return
        result = tt.arange(*bounds, dtype=getattr(tt, dtype), device="ranging")
        assert result.dtype is getattr(tt, dtype) and result.tolist() == expected


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**400], ids=["above", "below", "far above"])
@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_integers_of_more_than_64_bits_are_compared(strict: Any, name: str, number: int) -> None:
    for values in ([1, -(2**63), 2**63 - 1], [True, False], []):
        dtype = tt.bool if True in values else tt.int64
        expected = [getattr(operator, name)(value, number) for value in values]
        for device in ("cpu", strict):
            result = getattr(tt, name)(tt.tensor(values, dtype=dtype, device=device), number)
            assert result.dtype == tt.bool and result.tolist() == expected
