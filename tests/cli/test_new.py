"""`tt new op` and `tt new backend`: what they write, say and refuse."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_package_with_an_operator_is_written_and_the_next_steps_are_said(
    run: Run, here: Path, text: Callable[[str], str]
) -> None:
    ran = run("new", "op", "my_ns::square")
    assert ran.code == 0 and ran.err == ""
    assert ran.out == text("""
        the operator my_ns::square, in the package tt-my-ns, in tt-my-ns
          .gitignore
          README.md
          pyproject.toml
          src/tt_my_ns/__init__.py
          src/tt_my_ns/operators.py
          src/tt_my_ns/plugin.py
          src/tt_my_ns/py.typed
          tests/test_square.py

        next
          cd tt-my-ns                # the package
          pip install -e '.[test]'   # installs it; edits take effect at once
          pytest                     # its tests, which pass as it is
          tt ops show my_ns::square  # the operator as tt sees it
    """)
    assert [p.name for p in here.iterdir()] == ["tt-my-ns"]
    assert files(here / "tt-my-ns") == [line.strip() for line in ran.out.split("\n\n")[0].splitlines()[1:]]


def test_a_package_with_a_backend_is_written_and_the_next_steps_are_said(
    run: Run, here: Path, text: Callable[[str], str]
) -> None:
    ran = run("new", "backend", "my_dev")
    assert ran.code == 0 and ran.err == ""
    assert ran.out == text("""
        the backend my_dev, in the package tt-my-dev-backend, in tt-my-dev-backend
          .gitignore
          README.md
          pyproject.toml
          src/tt_my_dev_backend/__init__.py
          src/tt_my_dev_backend/plugin.py
          src/tt_my_dev_backend/py.typed
          tests/test_my_dev.py

        first call: tt.add(x, x) on my_dev works

        next
          cd tt-my-dev-backend                 # the package
          pip install -e '.[test]'             # installs it; edits take effect at once
          pytest -k first_call                 # the first call: tt.add(x, x) on my_dev
          pytest                               # its tests, which pass as it is
          tt ops list --backend my_dev         # how each operator is served
          tt ops check --backend my_dev --run  # missing operators and wrong results, against the reference
    """)
    assert files(here / "tt-my-dev-backend") == [
        line.strip() for line in ran.out.split("\n\n")[0].splitlines()[1:]
    ]


def test_json_names_folder_files_and_steps(run: Run, here: Path) -> None:
    found = json.loads(run("new", "op", "a::b", "--directory", "x/y", "--json").out)
    assert found["folder"] == "x/y" and found["next"][0] == "cd x/y"
    assert found["files"] == files(here / "x" / "y")


def test_nothing_is_left_to_fill_in(run: Run, here: Path) -> None:
    run("new", "op", "a::b", "--author", "Ada L. <ada@example.org>", "--license", "MIT")
    run("new", "backend", "dev")
    for path in here.rglob("*"):
        if path.is_file():
            text = path.read_text()
            assert (
                "$" not in text.replace("${", "$") and "TODO" not in text and "<" not in text.split("\n")[0]
            ), path
    project = tomllib.loads((here / "tt-a" / "pyproject.toml").read_text())["project"]
    assert (
        project["authors"] == [{"name": "Ada L.", "email": "ada@example.org"}] and project["license"] == "MIT"
    )
    assert project["entry-points"]["tt.plugins.v1"] == {"a": "tt_a.plugin"}
    project = tomllib.loads((here / "tt-dev-backend" / "pyproject.toml").read_text())["project"]
    assert "authors" not in project and project["dependencies"][1] == "numpy"


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


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["op", "twice"], "an operator of your own has a namespace: twice::twice"),
        (["op", "tt::twice"], "the namespace 'tt' belongs to tt's own operators"),
        (["op", "sparse::twice"], "the plugin 'sparse' (tt-tensor 0.1.0) brings the namespace"),
        (["op", "cpu::twice"], "the plugin 'cpu' (tt-tensor 0.1.0) has the name"),
        (["op", "add::twice"], "tt.ops.add is an operator"),
        (["op", "Acme::twice"], "the name of a namespace has small letters"),
        (["op", "acme::twice_"], "the name of an operator has small letters"),
        (["op", "acme::lambda"], "it is a word of Python"),
        (["backend", "cpu"], "the plugin 'cpu' (tt-tensor 0.1.0) brings the device"),
        (["backend", "meta"], "the device is tt's own"),
        (["backend", "autograd"], "the plugin 'autograd' (tt-tensor 0.1.0) has the name"),
        (["backend", "sparse_coo"], "a layout has this name"),
        (["backend", "my-dev"], "the name of a device type has small letters"),
        (["backend", "dev", "--library", "nunpy"], "it is not installed; did you mean 'numpy'"),
        (["backend", "dev", "--library", "json"], "it has no asarray, astype, isdtype, matmul"),
        (["backend", "dev", "--library", "a-b"], "a library is the name of a module"),
        (["backend", "dev", "--author", "Ada <"], "is not 'Name <mail>'"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_is_refused_with_the_reason_and_nothing_is_written(
    run: Run, here: Path, words: list[str], reason: str
) -> None:
    ran = run("new", *words)
    assert ran.code == 2
    assert reason in " ".join(ran.err.replace("│", "").split()), ran.err
    assert list(here.iterdir()) == []


def test_a_library_that_is_not_installed_yet_is_taken_at_its_word(run: Run, here: Path) -> None:
    ran = run("new", "backend", "dev", "--library", "vendor_arrays.ns")
    assert ran.code == 0 and ran.err == ""
    assert "first call: tt.add(x, x) on dev was not made: vendor_arrays.ns is not installed here" in ran.out
    project = tomllib.loads((here / "tt-dev-backend" / "pyproject.toml").read_text())["project"]
    assert project["dependencies"][1] == "vendor-arrays"
    assert (
        "import vendor_arrays.ns as xp" in (here / "tt-dev-backend/src/tt_dev_backend/plugin.py").read_text()
    )


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


def test_the_group_alone_explains_itself(run: Run) -> None:
    out = run("new").out
    assert "backend" in out and "op" in out
