"""`tt ops check`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

BROKEN = """\
schema_version: 1
ops:
- func: acme::twice(Tensor self) -> Tensor
  kind: pointwse
  meta: like
  promote: [slf]
- func: acme::thrice(Tensor self -> Tensor
  kind: other
"""


def test_tt_itself_has_no_problems(run: Run) -> None:
    ran = run("ops", "check")
    assert ran.out.startswith("no problems: "), ran.out
    assert (ran.err, ran.code) == ("", 0)
    assert json.loads(run("ops", "check", "--json").out) == {"ok": True, "problems": []}


@pytest.mark.usefixtures("acme")
def test_a_registered_plugin_is_checked_too(run: Run) -> None:
    ran = run("ops", "check")
    assert ran.code == 1
    assert ran.out == ("layer autograd: 2 problems\n...")


# --- files -----------------------------------------------------------------------------------------------------


def test_a_file_without_mistakes_is_fine(run: Run, acme_file: Path) -> None:
    ran = run("ops", "check", str(acme_file))
    assert (ran.out, ran.err, ran.code) == (f"no problems in {acme_file}\n", "", 0)


def test_all_mistakes_of_a_file_are_listed_with_their_places(
    run: Run, tmp_path: Path, text: Callable[[str], str]
) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(BROKEN, encoding="utf-8")
    ran = run("ops", "check", str(file))
    assert ran.out.replace(str(file), "FILE") == text("""
        schema: 3 problems
        FILE:4:9: unknown kind 'pointwse'
              kind: pointwse
                    ^
            did you mean 'pointwise'?
        FILE:6:13: acme::twice has no argument 'slf'
              promote: [slf]
                        ^
            did you mean 'self'?
        FILE:7:9: expected ',' or ')' after an argument, found '-'
            - func: acme::thrice(Tensor self -> Tensor
                    ^
    """)
    assert ran.code == 1
    found = json.loads(run("ops", "check", str(file), "--json").out)
    assert not found["ok"]
    assert [(p["line"], p["column"]) for p in found["problems"]] == [(4, 9), (6, 13), (7, 9)]


def test_several_files_are_checked_together(run: Run, tmp_path: Path, acme_file: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("ops: 3", encoding="utf-8")
    ran = run("ops", "check", str(acme_file), str(broken))
    assert ran.code == 1
    assert str(acme_file) not in ran.out
    assert str(broken) in ran.out


def test_a_file_that_is_not_there_is_a_wrong_call(run: Run, tmp_path: Path) -> None:
    ran = run("ops", "check", str(tmp_path / "missing.yaml"))
    assert ran.code == 2
    assert "does not exist" in ran.err
