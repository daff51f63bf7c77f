"""The folder that `tt new` writes: its author, and what was there before."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("author", "found"),
    [
        ("Ada", {"name": "Ada"}),
        ("<a@b.c>", {"email": "a@b.c"}),
        ('A "B" \\ C <a@b.c>', {"name": 'A "B" \\ C', "email": "a@b.c"}),
    ],
)
def test_the_author_is_written_as_packages_want_it(
    run: Run, here: Path, author: str, found: dict[str, str]
) -> None:
    assert run("new", "op", "a::b", "--author", author).code == 0
    assert tomllib.loads((here / "tt-a" / "pyproject.toml").read_text())["project"]["authors"] == [found]


def test_a_folder_that_is_not_empty_is_left_alone_unless_forced(run: Run, here: Path) -> None:
    folder = here / "tt-a"
    folder.mkdir()
    assert run("new", "op", "a::b").code == 0  # an empty one is fine
    (folder / "README.md").write_text("mine")
    (folder / "notes").write_text("mine")
    ran = run("new", "op", "a::b")
    assert ran.code == 2 and "not empty" in ran.err and "--force" in ran.err
    assert (folder / "README.md").read_text() == "mine"
    assert run("new", "op", "a::b", "--force").code == 0
    assert (folder / "README.md").read_text() != "mine" and (folder / "notes").read_text() == "mine"


def test_a_file_in_the_place_of_the_folder_is_refused(run: Run, here: Path) -> None:
    (here / "tt-a").write_text("mine")
    assert run("new", "op", "a::b", "--force").code == 2
    assert (here / "tt-a").read_text() == "mine"


@pytest.mark.parametrize("folder", ["a_file/package", "a_file/deep/package"])
def test_a_folder_that_cannot_be_made_is_refused_with_the_reason(run: Run, here: Path, folder: str) -> None:
    (here / "a_file").write_text("mine")
    ran = run("new", "op", "a::b", "--directory", folder)
    assert ran.code == 2 and f"cannot write '{folder}': " in ran.err and "Traceback" not in ran.err
    assert [path.name for path in here.iterdir()] == ["a_file"]
