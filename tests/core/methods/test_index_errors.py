"""Wrong index expressions raise what PyTorch raises, or a subclass of it: reading, writing and in autograd."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pytest

import tt
from tests.error_classes import not_caught, raised

torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


def indices(library: Any) -> list[tuple[str, Any]]:
    """Return parts of index expressions, right and wrong ones."""
    tensor = library.tensor
    return [
        ("1", 1),
        (":", slice(None)),
        ("None", None),
        ("...", ...),
        ("5", 5),
        ("-9", -9),
        ("1.5", 1.5),
        ("'x'", "x"),
        ("True", True),
        ("::-1", slice(None, None, -1)),
        ("::0", slice(None, None, 0)),
        ("'a':", slice("a", None)),
        (":1.5", slice(None, 1.5)),
        ("[0, 1]", [0, 1]),
        ("[0, 9]", [0, 9]),
        ("[]", []),
        ("[0.5]", [0.5]),
        ("['x']", ["x"]),
        ("[[0], [0, 1]]", [[0], [0, 1]]),
        ("[None]", [None]),
        ("{}", {}),
        ("object", object()),
        ("2**70", 2**70),
        ("1j", 1j),
        ("b'x'", b"x"),
        ("tensor of ints", tensor([0, 1])),
        ("tensor of 3 ints", tensor([0, 1, 0])),
        ("tensor of large ints", tensor([0, 70])),
        ("tensor of floats", tensor([0.0, 1.0])),
        ("tensor of complex", tensor([1j])),
        ("tensor of bools", tensor([True, False])),
        ("tensor of 3 bools", tensor([True, False, True])),
        ("matrix of bools", tensor([[True, False], [True, True]])),
        ("tensor of uint8", tensor([1, 0], dtype=library.uint8)),
        ("tensor of int16", tensor([1, 0], dtype=library.int16)),
        ("number in a tensor", tensor(9)),
        ("float in a tensor", tensor(1.0)),
        ("tensor on meta", library.zeros(2, dtype=library.int64, device="meta")),
        ("array of ints", np.array([0, 9])),
        ("array of floats", np.array([0.5])),
        ("array of texts", np.array(["x"])),
        ("range", range(9)),
    ]


def targets(library: Any) -> list[tuple[str, Any]]:
    return [
        ("matrix", library.arange(4.0).reshape(2, 2)),
        ("row", library.arange(2)),
        ("number", library.tensor(1.0)),
        ("empty", library.zeros(0, 2)),
        ("leaf", library.ones(2, 2, requires_grad=True)),
        ("expanded", library.ones(1).expand(2, 2)),
        ("bools", library.tensor([[True, False], [True, True]])),
    ]


def values(library: Any) -> list[tuple[str, Any]]:
    """Return what is written."""
    return [
        ("1", 1),
        ("1j", 1j),
        ("a text", "x"),
        ("None", None),
        ("a list", [1.0, 2.0, 3.0]),
        ("a long row", library.ones(7)),
        ("a cube", library.ones(2, 2, 2)),
        ("complex", library.ones(1, dtype=library.complex64)),
        ("on meta", library.ones((), device="meta")),
        ("nothing", library.ones(0)),
    ]


RIGHT: Final = ("1", ":", "None", "...", "True", "[0, 1]", "tensor of ints", "tensor of bools")
"""The parts that are combined with all others, and into which all values are written."""

SECOND_FAULTS: Final = (
    "too many indices", "does not match the shape of the indexed tensor", "with size 0", "a leaf that requires",
    "are one in memory",
)  # fmt: skip
"""What is wrong besides: which fault is told first is up to the library."""


def expressions(library: Any) -> Iterator[tuple[str, Any]]:
    """Yield index expressions of one part, of two, and of too many."""
    parts = indices(library)
    yield from parts
    right = [(name, part) for name, part in parts if name in RIGHT]
    for (first, one), (second, other) in itertools.chain(
        itertools.product(right, parts), itertools.product(parts, right)
    ):
        yield f"{first}, {second}", (one, other)
    yield "too many", (0, 0, 0)
    yield "two ellipses", (..., 0, ...)
    yield "many tensors", tuple(library.tensor([0]) for _ in range(4))
    yield "()", ()


def uses(library: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield what is done with a target by an index expression, as functions of the expression."""
    make = dict(targets(library))

    def target() -> Any:
        return make[name] if name in ("leaf", "expanded") else make[name].clone()

    yield "reading", lambda index: target()[index]
    for what, value in values(library):

        def write(index: Any, value: Any = value) -> None:
            target()[index] = value

        yield f"writing {what}", write

    def delete(index: Any) -> None:
        del target()[index]

    yield "deleting", delete


def other_errors(name: str) -> Iterator[str]:
    theirs_all, ours_all = dict(expressions(torch)), dict(expressions(tt))
    for (what, theirs_do), (_, ours_do) in zip(uses(torch, name), uses(tt, name), strict=True):
        for key in theirs_all if what in ("reading", "writing 1") else RIGHT:
            theirs = raised(theirs_do, [theirs_all[key]], {})
            if theirs is None:
                continue
            ours = raised(ours_do, [ours_all[key]], {})
            problem = not_caught(theirs, ours)
            if problem and not any(words in f"{theirs} {ours}" for words in SECOND_FAULTS):
                yield f"{what} of a {name} at [{key}]: {problem}"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [name for name, _ in targets(tt)])
def test_a_callers_except_catches_the_errors_of_index_expressions(name: str) -> None:
    assert list(other_errors(name)) == []
