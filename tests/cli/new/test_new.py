"""`tt new op` and `tt new backend`: files, output and refusals."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.new.conftest import files

Run = Callable[..., Any]


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
    ("words", "reason"),
    [
        (["op", "half"], "an operator of your own has a namespace, as in acme::half"),
        (["op", "mine:half"], "an operator of your own has a namespace, as in mine::half"),
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
        (["backend", "dev", "--library", "numpy.nosuch"], "numpy is installed, but has no module 'numpy.nosuch'"),
        (["backend", "dev", "--library", "numpy.pi.x"], "numpy is installed, but has no module 'numpy.pi'"),
        (["backend", "dev", "--author", "Ada <"], "is not 'Name <mail>'"),
        (["backend", "dev", "--license", 'M"IT'], "is not an SPDX expression"),
        (["op", "acme::twice", "--license", "some licence"], "'some licence' is not an SPDX expression"),
        (["op", "acme::"], "'acme::': an operator is named NAMESPACE::NAME"),
        (["op", "::twice"], "'::twice': an operator is named NAMESPACE::NAME"),
        (["op", "a::b::c"], "'a::b::c': an operator is named NAMESPACE::NAME"),
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


def test_the_group_alone_explains_itself(run: Run) -> None:
    out = run("new").out
    assert "backend" in out and "op" in out
