"""Code and texts of graphs are those that PyTorch writes for the same programs, but for the name of the library."""

from __future__ import annotations

from typing import Any

import pytest

import tt
from tests.api.fx.programs import PROGRAMS

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")


def traced(library: Any, name: str) -> Any:
    program = PROGRAMS[name](library)
    root, concrete = program if isinstance(program, tuple) else (program, None)
    return library.fx.symbolic_trace(root, concrete_args=concrete)


def as_ours(text: str) -> str:
    # A call of an operator is `tt.relu` by any of its names, and the message of an error names no type.
    return text.replace("torch.", "tt.").rstrip()


@pytest.mark.parametrize("name", PROGRAMS)
def test_code_is_pytorch_s(name: str) -> None:
    assert traced(tt, name).code.rstrip() == as_ours(traced(torch, name).code)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_text_of_a_graph_is_pytorch_s(name: str) -> None:
    assert str(traced(tt, name).graph) == as_ours(str(traced(torch, name).graph))


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - {"functions", "constants", "pytrees", "flags"}))
def test_readable_code_is_pytorch_s(name: str) -> None:
    ours, theirs = (traced(library, name).print_readable(print_output=False) for library in (tt, torch))
    # The base class has another home, and the first line names it.
    assert ours.rstrip().split("\n")[1:] == as_ours(theirs).split("\n")[1:]


def test_names_are_pytorch_s_whatever_is_asked_for() -> None:
    import random

    from tt.fx._namespace import Namespace

    draw = random.Random(0)
    candidates = [
        "x",
        "x_1",
        "x_2",
        "in",
        "int",
        "a.b",
        "1a",
        "",
        "x_1_1",
        "_",
        "a__1",
        "relu_",
        "x_01",
        "device",
        "len",
    ]
    for _ in range(300):
        asked = [draw.choice(candidates) for _ in range(12)]
        ours, theirs = Namespace(), torch.fx.graph._Namespace()
        assert [ours.create_name(c, None) for c in asked] == [theirs.create_name(c, None) for c in asked], (
            asked
        )
