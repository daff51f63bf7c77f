"""The first call through a backend that `tt new backend` wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

BROKEN = """
from numpy import *
from numpy import astype, isdtype, matmul

def asarray(*args, **options):
    raise RuntimeError("no driver")
"""

WRONG = """
from numpy import *
from numpy import astype, isdtype, matmul
import numpy

def add(x, y):
    return numpy.subtract(x, y)
"""


@pytest.mark.parametrize(
    ("library", "content", "reason"),
    [
        ("broken_arrays", BROKEN, "RuntimeError: no driver"),
        ("wrong_arrays", WRONG, "[1, 2] + [1, 2] gave tensor("),
    ],
)
def test_a_library_that_does_not_work_is_seen_at_once(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch, library: str, content: str, reason: str
) -> None:
    (here / f"{library}.py").write_text(content)
    monkeypatch.syspath_prepend(here)
    monkeypatch.setenv("PYTHONPATH", str(here))
    ran = run("new", "backend", "dev", "--library", library)
    assert ran.code == 1
    assert "first call: tt.add(x, x) on dev failed" in ran.out
    assert f"tt.add(x, x) on dev, computed by {library}: " in ran.err and reason in ran.err
    assert "Traceback" not in ran.err
    assert (here / "tt-dev-backend" / "pyproject.toml").is_file()
    found = json.loads(run("new", "backend", "dev", "--library", library, "--force", "--json").out)
    assert found["first_call"]["made"] and reason in found["first_call"]["reason"]


def test_the_first_call_leaves_nothing_behind(run: Run, here: Path) -> None:
    assert run("new", "backend", "dev").code == 0
    assert not list(here.rglob("__pycache__")) and not list(here.rglob("*.dist-info"))
