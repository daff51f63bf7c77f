"""Packages whose names are imported when first used look as if everything had been imported."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tt
from tests.processes import printed_by
from tt.core.lazy import attach
from tt.core.types.size import Size
from tt.errors import UnknownNameError

PACKAGES = (
    "tt.autograd", "tt.autograd.graph", "tt.backends", "tt.backends.cuda", "tt.cpu", "tt.func", "tt.nested", "tt.nn",
    "tt.nn.modules", "tt.nn.parallel", "tt.nn.parameter", "tt.nn.utils", "tt.optim", "tt.serialization", "tt.utils",
    "tt.utils.checkpoint",
)  # fmt: skip


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return an empty module named tt.example."""
    module = ModuleType("tt.example")
    monkeypatch.setitem(sys.modules, "tt.example", module)
    return module


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there_and_listed(package):
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert {*module.__all__} <= {*dir(module)}
    assert len({*module.__all__}) == len(module.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_name_that_is_not_there_is_an_attribute_error(package):
    module = importlib.import_module(package)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Linaer'"):
        module.Linaer  # noqa: B018
    with pytest.raises(ImportError, match="Linaer"):
        exec(f"from {package} import Linaer")
    assert not hasattr(module, "__wrapped__")


def test_a_name_is_the_object_of_its_module_and_kept():
    assert tt.nn.Linear is tt.nn.modules.Linear is tt.nn.modules.linear.Linear
    assert tt.optim.SGD is importlib.import_module("tt.optim.sgd").SGD
    assert "Linear" in vars(tt.nn) and "Linear" in vars(tt.nn.modules)


def test_stars_and_submodules_work_in_a_fresh_process():
    program = (
        "import tt, tt.nn, tt.optim\n"
        "assert tt.nn.modules.conv.Conv2d and tt.nn.utils.clip_grad_norm_ and tt.nn.init.zeros_\n"
        "assert tt.optim.lr_scheduler.StepLR and tt.optim.adam.Adam and tt.nn.parallel.replicate\n"
        "assert tt.nn.utils.rnn.pad_sequence and tt.utils._pytree.tree_leaves and tt.backends.cudnn.is_available\n"
        "from tt.nn import *\n"
        "from tt.optim import *\n"
        "assert Linear is tt.nn.Linear and Adam is tt.optim.Adam and Parameter is tt.nn.Parameter\n"
        "assert functional is tt.nn.functional\n"
        "print('done')"
    )
    assert printed_by(program).strip() == "done"


def test_all_has_the_names_and_the_modules_that_are_named(example):
    assert attach("tt.example", {"math": "pi e", "tt.core.types.size": "Size"}, modules="inner") == [
        "Size", "e", "inner", "pi",
    ]  # fmt: skip
    assert dir(example) == ["Size", "e", "pi"]
    assert "Size" not in vars(example) and example.Size is Size and vars(example)["Size"] is Size


def test_a_name_can_be_a_module_that_nothing_has_imported():
    program = (
        "import sys\nfrom tt.core.lazy import attach\n"
        "attach(__name__, {'xml': 'dom'})\n"
        "assert 'xml.dom' not in sys.modules\n"
        "print(__getattr__('dom').__name__)\n"
    )
    assert printed_by(program) == "xml.dom\n"


def test_a_name_that_its_module_lacks_is_an_attribute_error(example):
    attach("tt.example", {"math": "no_such_function"})
    with pytest.raises(AttributeError, match="module 'math' has no attribute 'no_such_function'"):
        _ = example.no_such_function


def test_a_function_is_called_each_time(example):
    calls: list[str] = []
    attach("tt.example", {calls.append: "first second"})
    assert example.first is None and example.first is None and example.second is None
    assert calls == ["first", "first", "second"] and "first" not in vars(example)


def test_a_module_without_a_path_has_no_modules_below(example):
    attach("tt.example", {})
    with pytest.raises(AttributeError, match=r"module 'tt\.example' has no attribute 'math'"):
        _ = example.math


def test_a_module_below_that_cannot_be_imported_says_what_it_lacks(tmp_path, monkeypatch):
    package = tmp_path / "lacking"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from tt.core.lazy import attach\n\n__all__ = attach(__name__, {})\n"
    )
    (package / "inner.py").write_text("import no_such_module_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    lacking = importlib.import_module("lacking")
    monkeypatch.delitem(sys.modules, "lacking")
    monkeypatch.setitem(sys.modules, "lacking", lacking)
    assert dir(lacking) == ["inner"]
    with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere"):
        _ = lacking.inner


def test_the_layer_that_is_needed_is_asked_for_first(example):
    attach("tt.example", {"tt.core.types.size": "Size"}, layer="no_such_layer")
    with pytest.raises(UnknownNameError, match="no_such_layer"):
        _ = example.Size


def test_a_function_keeps_its_name_when_the_module_of_that_name_is_imported():
    program = (
        "import importlib, pkgutil, types, tt\n"
        "for package in 'autograd distributed masked multiprocessing nn.parallel nn.utils testing'.split():\n"
        "    module = importlib.import_module('tt.' + package)\n"
        "    below = {info.name for info in pkgutil.iter_modules(module.__path__)}\n"
        "    for name in sorted(below & {*module.__all__}):\n"
        "        importlib.import_module(f'tt.{package}.{name}')\n"
        "        if not isinstance(getattr(module, name), types.ModuleType):\n"
        "            print(f'{package}.{name}')\n"
        "from tt.autograd.gradcheck import GradcheckError\n"
        "assert GradcheckError is tt.errors.GradcheckError\n"
        "tt.autograd.gradcheck = 1\n"
        "assert tt.autograd.gradcheck == 1\n"
    )
    assert printed_by(program).split() == [
        "autograd.gradcheck", "distributed.rendezvous", "masked.masked_tensor", "multiprocessing.spawn",
        "nn.parallel.data_parallel", "nn.parallel.parallel_apply", "nn.parallel.replicate", "nn.utils.spectral_norm",
        "nn.utils.weight_norm", "testing.gradcheck", "testing.make_tensor", "testing.opcheck",
    ]  # fmt: skip


def test_few_modules_have_a_look_up_of_their_own():
    """Those that do more than import: operators, warnings, classes that are computed."""
    root = Path(__file__).parents[2]
    folders = ("api", "backends", "core", "operators", "plugins", "testing", "cli")
    pattern = re.compile(r"^(?:def )?__getattr__\b", re.MULTILINE)
    own = [
        str(file.relative_to(root))
        for folder in folders
        for file in (root / folder).rglob("*.py")
        if pattern.search(file.read_text(encoding="utf-8"))
    ]
    assert len(own) <= 12, sorted(own)
