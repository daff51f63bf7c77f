"""`tt port`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("train.py")
    path.write_text("import torch\nx = torch.zeros(1)\ntorch.compile_it(x)\n")
    return path


def test_the_changes_are_shown_and_nothing_is_written(run: Run, program: Path) -> None:
    before = program.read_text()
    found = run("port", "train.py")
    assert found.code == 1
    assert found.out == (
        "--- train.py\n"
        "+++ train.py\n"
        "@@ -1 +1 @@\n"
        "-import torch\n"
        "+import tt as torch\n"
        "\n"
        "names that tt lacks:\n"
        "where       name              instead\n"
        "train.py:3  torch.compile_it  tt.compile or tt.compiler or tt.complex\n"
    )
    assert program.read_text() == before


def test_write_changes_the_file_and_keeps_its_mode(run: Run, program: Path) -> None:
    program.write_text("import torch\n")
    program.chmod(0o755)
    assert run("port", "train.py", "--write").out == "train.py: changed\n"
    assert program.read_text() == "import tt as torch\n"
    assert program.stat().st_mode & 0o777 == 0o755
    assert run("port", "train.py", "--write").out == "train.py: nothing to change\n"


def test_json_says_the_same(run: Run, program: Path) -> None:
    found = json.loads(run("port", "train.py", "--json").out)
    assert found["files"] == [{"file": "train.py", "changed": True, "written": False}]
    assert found["missing"][0]["name"] == "torch.compile_it"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read train.py: No such file or directory"),
        (b"import torch as\n", "train.py:1: not a Python program"),
        (b"\xff", "cannot read train.py: it is not text in UTF-8"),
    ],
)
def test_what_is_no_program_is_wrong_usage_and_no_file_changes(
    run: Run, program: Path, content: bytes | None, message: str
) -> None:
    other = Path("other.py")
    other.write_text("import torch\n")
    program.unlink()
    if content is not None:
        program.write_bytes(content)
    found = run("port", "other.py", "train.py", "--write")
    assert found.code == 2 and message in " ".join(found.err.split())
    assert other.read_text() == "import torch\n"
