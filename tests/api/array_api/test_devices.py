"""The cases of all families on a backend of twenty lines, and their shapes and dtypes without data."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import array_api_strict as strict
import pytest

import tt
from tests.api.array_api import test_creation, test_fft, test_indexing, test_linalg, test_shaping
from tests.api.array_api.comparing import compare, evaluate
from tests.backends.array_api.devices import device
from tt import array_api as xp

FAMILIES = [test_creation, test_fft, test_indexing, test_linalg, test_shaping]


def tensors(value: Any) -> list[tt.Tensor]:
    """Return the tensors of a result."""
    parts = value if isinstance(value, tuple | list) else [value]
    return [part for part in parts if isinstance(part, tt.Tensor)]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__.rpartition(".")[2])
def test_a_backend_of_twenty_lines_gives_the_same(family: ModuleType) -> None:
    with device(strict, "twenty"):
        for call in family.CASES:
            with tt.default_dtype(tt.float64), tt.device("twenty"):
                found = evaluate(xp, call)
            compare(found, evaluate(strict, call))
            assert all(part.device.type == "twenty" for part in tensors(found)), call


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__.rpartition(".")[2])
def test_shapes_and_dtypes_are_known_without_data(family: ModuleType) -> None:
    refused = []
    for call in family.CASES:
        try:
            with tt.default_dtype(tt.float64), tt.device("meta"):
                found = evaluate(xp, call)
        except tt.errors.DataDependentError:
            refused.append(call)
            continue
        expected = evaluate(strict, call)
        for one, other in zip(
            tensors(found), expected if isinstance(expected, tuple) else [expected], strict=False
        ):
            assert one.device.type == "meta" and tuple(one.shape) == other.shape, call
            assert str(one.dtype).split(".")[1] == str(other.dtype).split(".")[-1], call
    # Shapes that values decide.
    assert all(call.startswith(("xp.nonzero", "xp.unique_", "xp.repeat")) for call in refused)
