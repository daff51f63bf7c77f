"""Hot modules are checked as the others are: mypy sees them, and each has the C types that compiling needs."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HOT_MODULES = PROJECT["tool"]["hatch"]["build"]["hooks"]["custom"]["hot-modules"]


@pytest.mark.parametrize("module", [*HOT_MODULES, "core/tensor/tensor.py"])
def test_no_stub_hides_a_module_of_the_hot_path_from_mypy(module):
    assert not (ROOT / module).with_suffix(".pyi").exists()


@pytest.mark.parametrize("module", HOT_MODULES)
def test_a_hot_module_has_c_types(module):
    assert (ROOT / module).with_suffix(".pxd").exists()


def test_mypy_makes_no_exception_for_hot_modules():
    mypy = PROJECT["tool"]["mypy"]
    assert mypy["strict"]
    assert mypy["untyped_calls_exclude"] == ["ml_dtypes"]  # a library
    own = [entry for entry in mypy["overrides"] if any(name.startswith("tt.") for name in entry["module"])]
    assert own == []


@pytest.mark.parametrize("folder", ["core/dispatch/call", "plugins/autograd/record"])
def test_the_constants_of_hot_modules_are_the_same_in_c_and_in_python(folder):
    found = re.findall(
        r"^    (\w+) = (-?\d+)$", (ROOT / folder / "codes.pxd").read_text(encoding="utf-8"), re.MULTILINE
    )
    module = importlib.import_module(f"tt.{folder.replace('/', '.')}.codes")
    constants = {name: value for name, value in vars(module).items() if type(value) is int}
    assert {name: int(value) for name, value in found} == constants != {}
