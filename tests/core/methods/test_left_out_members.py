"""Members that tt leaves out: the reason and what to use, and nothing of them where they are not used."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from typing import Any

import pytest

import tt
from tt.core.methods.left_out_members import NAMES, LeftOutMember


@pytest.mark.parametrize("name", NAMES)
def test_using_a_member_says_why_it_is_left_out_and_what_to_use(name: str) -> None:
    for owner in (tt.ones(2), tt.nn.Parameter(tt.ones(2)), tt.Tensor):
        with pytest.raises(AttributeError, match=rf"^tt\.Tensor has no name '{name}': .+\n  instead: .+$"):
            getattr(owner, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_member_is_not_there(name: str) -> None:
    x = tt.ones(2)
    assert not hasattr(x, name) and not hasattr(tt.Tensor, name)
    assert getattr(x, name, 3) == 3
    assert name not in dir(x)


@pytest.mark.torch
def test_all_of_pytorchs_members_are_there_or_left_out() -> None:
    torch = pytest.importorskip("torch")
    names = [name for name in dir(torch.Tensor) if not name.startswith("_")] + ["volatile"]
    assert sorted({name for name in names if not hasattr(tt.Tensor, name)}) == sorted(NAMES)


def test_attributes_and_members_of_subclasses_take_precedence() -> None:
    x: Any = tt.ones(2)
    x.name = "weight"
    assert x.name == "weight" and "name" in dir(x)
    assert copy.deepcopy(x).name == pickle.loads(pickle.dumps(x)).name == "weight"
    del x.name
    assert not hasattr(x, "name")

    class Named(tt.Tensor):
        @property
        def name(self) -> str:
            return f"{self.ndim} dimensions"

        def solve(self) -> int:
            return 3

    y: Any = tt.ones(2).as_subclass(Named)
    assert y.name == "1 dimensions" and y.solve() == 3 and {"name", "solve"} <= set(dir(y))
    with pytest.raises(AttributeError, match="removed from PyTorch"):
        _ = y.symeig


def test_a_member_of_a_plugin_takes_the_place() -> None:
    kind: Any = tt.Tensor
    left_out, x = vars(kind)["volatile"], tt.ones(2)
    kind.volatile = lambda self: "there"
    try:
        assert x.volatile() == "there" and "volatile" in dir(x)
    finally:
        kind.volatile = left_out
    assert not hasattr(x, "volatile")


def test_other_names_get_the_error_of_python() -> None:
    with pytest.raises(AttributeError, match=re.escape("'Tensor' object has no attribute 'sinn'")):
        _ = tt.ones(2).sinn
    assert "__getattr__" not in vars(tt.Tensor)


def test_the_table_of_reasons_is_imported_by_the_error_alone() -> None:
    code = (
        "import sys, tt\nx, table = tt.ones(2), 'tt._compat.left_out'\nhasattr(x, 'symeig')\n"
        "assert table not in sys.modules\n"
        "try:\n    x.symeig\nexcept AttributeError as error:\n    str(error)\nassert table in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_objects_on_the_class_are_small() -> None:
    assert isinstance(vars(tt.Tensor)["symeig"], LeftOutMember)
    assert not hasattr(vars(tt.Tensor)["symeig"], "__dict__")
