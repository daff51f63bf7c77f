"""Names and signatures of the standard, and arrays as other devices and libraries see them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import array_api_strict as strict
import pytest

import tt
from tests.api.array_api import test_creation, test_dtypes, test_fft, test_indexing, test_linalg, test_shaping
from tests.backends.array_api.devices import device
from tt import array_api as xp

LATER = {"broadcast_shapes", "isin"}
"""Of the version of 2025.12."""
STRICT_ONLY = {
    "ArrayAPIStrictFlags", "Device", "__version__", "get_array_api_strict_flags", "reset_array_api_strict_flags",
    "set_array_api_strict_flags",
}  # fmt: skip


def public(library):
    return {name for name in dir(library) if not name.startswith("_") and callable(getattr(library, name))}


def test_every_name_of_the_standard_is_there():
    assert set(strict.__all__) - LATER - STRICT_ONLY <= set(xp.__all__)
    for extension in ("linalg", "fft"):
        wanted = {
            name for name in public(getattr(strict, extension)) if name in getattr(strict, extension).__all__
        }
        assert wanted <= set(getattr(xp, extension).__all__)
    assert xp.__array_api_version__ == "2024.12"


def functions():
    for prefix, ours, theirs in (
        ("", xp, strict),
        ("linalg.", xp.linalg, strict.linalg),
        ("fft.", xp.fft, strict.fft),
    ):
        for name in sorted(set(ours.__all__) & public(theirs)):
            if inspect.isfunction(getattr(theirs, name)):
                yield prefix + name


@pytest.mark.parametrize("name", list(functions()))
def test_signatures_are_those_of_the_standard(name):
    ours, theirs = xp, strict
    for part in name.split("."):
        ours, theirs = getattr(ours, part), getattr(theirs, part)
    found = list(inspect.signature(ours).parameters.values())
    for place, wanted in enumerate(inspect.signature(theirs).parameters.values()):
        if wanted.kind is wanted.KEYWORD_ONLY:
            (same,) = [p for p in found if p.name == wanted.name]
            assert same.kind in (wanted.KEYWORD_ONLY, wanted.POSITIONAL_OR_KEYWORD)
        else:
            same = found[place]
            assert wanted.kind is wanted.POSITIONAL_ONLY or (same.name, same.kind) == (
                wanted.name,
                wanted.kind,
            )
        assert (same.default is same.empty) == (wanted.default is wanted.empty)


@pytest.mark.parametrize(
    ("family", "module"),
    [
        (xp.creation, test_creation), (xp.dtypes, test_dtypes), (xp.fft, test_fft), (xp.indexing, test_indexing),
        (xp.linalg, test_linalg), (xp.shaping, test_shaping),
    ],
)  # fmt: skip
def test_every_function_is_tested_in_its_family(family, module):
    source = inspect.getsource(module)
    # What stands in loops there: the transforms.
    assert [name for name in family.__all__ if name != "KINDS" and name not in source] == []


def test_all_functions_have_examples():
    for library in (xp, xp.linalg, xp.fft):
        for name in library.__all__:
            value = getattr(library, name)
            if callable(value) and not isinstance(value, tt.dtype):
                assert ">>>" in (value.__doc__ or ""), name


def test_the_page_lists_every_name():
    page = (Path(__file__).parents[3] / "docs" / "array_api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(\w+)(?:\(\))?`", page))
    names = {*xp.__all__, *xp.linalg.__all__, *xp.fft.__all__} - {"__array_api_version__"}
    assert sorted(names - listed) == []


# --- arrays ------------------------------------------------------------------------------------------------------


def test_tensors_lead_to_the_namespace_and_to_devices():
    x = tt.ones(2)
    assert x.__array_namespace__() is xp is tt.array_api
    assert x.to_device("cpu") is x and x.to_device("meta").device.type == "meta"
    with pytest.raises(ValueError, match="takes no stream"):
        x.to_device("cpu", stream=1)


def test_the_namespace_works_without_data():
    x = tt.ones(3, 4, device="meta")
    for found, shape in (
        (xp.sum(xp.add(x, 1.5), axis=0), (4,)),
        (xp.matmul(x, x.mT), (3, 3)),
        (xp.sort(x), (3, 4)),
        (xp.concat([x, xp.zeros_like(x)]), (6, 4)),
        (xp.linalg.svd(x).S, (3,)),
        (xp.fft.rfft(x), (3, 3)),
        (xp.cumulative_sum(x, axis=1, include_initial=True), (3, 5)),
        (xp.take(x, xp.asarray([0], device="meta"), axis=1), (3, 1)),
        (xp.where(x > 0, x, 0), (3, 4)),
        (xp.maximum(2, x), (3, 4)),
        (xp.eye(2, 3, k=1, device="meta"), (2, 3)),
    ):
        assert found.device.type == "meta" and found.shape == shape


def test_the_namespace_works_on_a_backend_of_twenty_lines():
    with device(strict, "twenty"):
        x = tt.asarray([[3.0, 1.0], [2.0, 5.0]], dtype=tt.float64).to_device("twenty")
        for found, expected in (
            (xp.sum(x, axis=0), [5.0, 6.0]),
            (xp.sort(x), [[1.0, 3.0], [2.0, 5.0]]),
            (xp.add(1, x), [[4.0, 2.0], [3.0, 6.0]]),
            (xp.unique_values(x), [1.0, 2.0, 3.0, 5.0]),
            (xp.matmul(x, x), [[11.0, 8.0], [16.0, 27.0]]),
            (xp.linalg.inv(x @ xp.linalg.inv(x)), [[1.0, 0.0], [0.0, 1.0]]),
            (xp.where(x > 2, x, 0), [[3.0, 0.0], [0.0, 5.0]]),
            (xp.floor_divide(x, 2), [[1.0, 0.0], [1.0, 2.0]]),
            (xp.roll(x, 1, axis=1), [[1.0, 3.0], [5.0, 2.0]]),
            (xp.cumulative_sum(x, axis=1, include_initial=True), [[0.0, 3.0, 4.0], [0.0, 2.0, 7.0]]),
            (xp.take_along_axis(x, xp.argsort(x)), [[1.0, 3.0], [2.0, 5.0]]),
            (xp.flip(x), [[5.0, 2.0], [1.0, 3.0]]),
            (xp.eye(2, k=1, device="twenty"), [[0.0, 1.0], [0.0, 0.0]]),
            (x[::-1], [[2.0, 5.0], [3.0, 1.0]]),
        ):
            assert found.device.type == "twenty"
            assert [
                [round(v, 9) for v in row] if isinstance(row, list) else row for row in found.tolist()
            ] == expected
