"""The public names: those of PyTorch, and all of them documented."""

from __future__ import annotations

from pathlib import Path

import pytest

import tt

PIPES = {
    "DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe", "_DatasetKind", "argument_validation",
    "functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic", "runtime_validation",
    "runtime_validation_disabled",
}  # fmt: skip
"""Of the data pipes, which PyTorch does not develop any more."""


@pytest.mark.torch
def test_the_names_are_those_of_torch():
    data = pytest.importorskip("torch.utils.data")
    assert set(tt.utils.data.__all__) == set(data.__all__) - PIPES


@pytest.mark.parametrize("name", [*tt.utils.data.__all__, "default_collate_fn_map", "from_arrow", "to_arrow"])
def test_every_name_is_on_the_page(name):
    page = Path(__file__).parents[4] / "docs" / "data.md"
    assert f"{name}" in page.read_text(encoding="utf-8")
