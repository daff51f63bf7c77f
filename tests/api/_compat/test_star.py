"""`from tt import *` gives what `from torch import *` gives."""

from __future__ import annotations

import warnings

import pytest

import tt
from tests.processes import printed_by
from tt._compat.left_out import left_out


def of_star(library: str) -> set[str]:
    """Return the names that `from library import *` gives."""
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(f"from {library} import *", names)
    return {*names} - {"__builtins__"}


@pytest.mark.torch
def test_a_star_gives_the_names_of_pytorch_that_tt_has():
    theirs = of_star("torch")
    assert of_star("tt") == {name for name in theirs if hasattr(tt, name)}


@pytest.mark.torch
def test_each_name_that_a_star_lacks_is_in_the_table_of_those_left_out():
    assert [name for name in sorted(of_star("torch") - of_star("tt")) if left_out(name) is None] == []


def test_a_program_with_a_star_computes_and_keeps_its_own_modules():
    program = (
        "from tt import *\n"
        "x = tensor([1.0, -2.0])\n"
        "with no_grad():\n"
        "    print(relu(x).tolist(), zeros(2, dtype=float32).tolist(), 'explain' in globals(), 'nn' in globals())"
    )
    assert printed_by(program).strip() == "[1.0, 0.0] [0.0, 0.0] False False"


def test_all_lists_each_name_once_and_is_not_read_by_an_import_alone():
    assert len(set(tt.__all__)) == len(tt.__all__) > 700
    assert "False" in printed_by("import sys, tt\nprint('tt._compat.star' in sys.modules)")
