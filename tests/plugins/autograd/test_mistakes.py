"""What users do wrong: the same errors as torch's, with messages that help."""

from __future__ import annotations

import textwrap
import warnings
from typing import Any

import pytest

import tt
import tt.utils.checkpoint
from tests.plugins.autograd.mistakes.table import DIFFERENT, MISTAKES

# Errors that a caller may catch.
CAUGHT = (
    IndexError,
    NotImplementedError,
    TypeError,
    ValueError,
    RuntimeError,
    AttributeError,
    ZeroDivisionError,
)


def run(lib: Any, program: str) -> Any:
    """Run a program and return its findings, or its error."""
    names: dict[str, Any] = {
        "lib": lib,
        "found": None,
        "leaf": lambda *values: lib.tensor(list(values) or [1.0, 2.0, 3.0], requires_grad=True),
        "function": lambda **methods: type(
            "Fn", (lib.autograd.Function,), {name: staticmethod(f) for name, f in methods.items()}
        ),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of deprecated things, and of reading .grad if there is none
        try:
            exec(textwrap.dedent(program), names)
        except CAUGHT as error:
            return error
    return names["found"]


def check_message(program: str, message: str | None) -> Any:
    found = run(tt, program)
    if message is None:
        assert not isinstance(found, Exception), found
    else:
        assert isinstance(found, Exception), found
        assert str(found).startswith(message)
    return found


@pytest.mark.parametrize(
    ("program", "message"), [pytest.param(p, m, id=n) for n, p, m in MISTAKES + DIFFERENT]
)
def test_a_mistake_is_explained(program: str, message: str | None) -> None:
    check_message(program, message)


@pytest.mark.torch
@pytest.mark.parametrize("program", [pytest.param(p, id=n) for n, p, _ in MISTAKES])
def test_a_mistake_is_one_in_torch_too(program: str) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.utils.checkpoint")
    found, expected = run(tt, program), run(torch, program)
    if isinstance(expected, Exception):
        kinds = [kind for kind in CAUGHT if isinstance(expected, kind)]
        # Whoever catches torch's error catches tt's.
        assert isinstance(found, kinds[0]), (expected, found)
    else:
        assert str(found).replace("tt.", "torch.") == str(expected).replace("tt.", "torch.")


@pytest.mark.torch
@pytest.mark.parametrize("program", [pytest.param(p, id=n) for n, p, _ in DIFFERENT])
def test_what_differs_from_torch_still_does(program: str) -> None:
    torch = pytest.importorskip("torch")
    assert isinstance(run(tt, program), Exception) != isinstance(run(torch, program), Exception)
