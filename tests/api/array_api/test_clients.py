"""Libraries that accept any array of the standard give the same with tensors as with NumPy's arrays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tt

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("place", ["cpu", pytest.param("strict", marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("library", ["scipy", "sklearn", "einops", "array_api_extra"])
def test_results_equal_those_of_numpy(library, place):
    pytest.importorskip(library)
    found = subprocess.run(
        [sys.executable, "-m", "tests.api.array_api.clients", library, place],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert f"calls of {library} agree" in found.stdout


def test_the_compatibility_library_takes_tensors_as_they_are():
    compat = pytest.importorskip("array_api_compat")
    x = tt.ones(2, 3)
    assert compat.array_namespace(x, x) is tt.array_api and compat.is_array_api_obj(x)
    assert compat.array_namespace(x, api_version="2023.12") is tt.array_api
    assert compat.device(x) == tt.device("cpu") and compat.size(x) == 6
    assert compat.to_device(x, "meta").device.type == "meta"
    assert compat.is_writeable_array(x) and not compat.is_lazy_array(x)
