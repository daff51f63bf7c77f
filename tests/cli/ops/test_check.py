"""`tt ops check`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tt.core.dispatch.registry.registry import REGISTRY, Provider
from tt.core.host import host
from tt.core.library import KernelTable
from tt.core.schema.load import loads

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


PROMISING = """\
schema_version: 1
ops:
- func: acme::twice(Tensor self) -> Tensor
  kind: pointwise
  meta: like
  promote: [self]
  grad: [self]
  doc: Doubles every element.
"""


def test_tt_itself_has_no_problems(run: Run) -> None:
    ran = run("ops", "check")
    assert ran.out.startswith("no problems: "), ran.out
    assert (ran.err, ran.code) == ("", 0)
    assert json.loads(run("ops", "check", "--json").out) == {"ok": True, "problems": []}


def test_what_a_plugin_registered_is_checked_too(run: Run, tmp_path: Path) -> None:
    host.load()
    plugin = REGISTRY.for_plugin(Provider("tt-acme", "1.2", "acme"))
    kernels = KernelTable(device="cpu")
    kernels.kernel("acme::twice", lambda slf: slf)
    try:
        plugin.add_definitions(loads(PROMISING))
        plugin.add(kernels)
        ran = run("ops", "check")
    finally:
        plugin.remove()
    assert re.sub(r"\S*test_check:\d+", "MODULE:LINE", ran.out) == (
        "kernel signature: 1 problem\n"
        "acme::twice: the kernel of acme::twice by tt-acme 1.2 (acme) MODULE:LINE has parameters that the schema "
        "lacks: slf\n"
        "    acme::twice(Tensor self) -> Tensor\n"
        "layer autograd: 1 problem\n"
        "acme::twice: promises a gradient of 'self' and has neither a formula for it nor a composite\n"
    )
    assert (ran.err, ran.code) == ("", 1)


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
        FILE:7:34: expected ',' or ')' after an argument, found '-'
            - func: acme::thrice(Tensor self -> Tensor
                                             ^
    """)
    assert ran.code == 1
    found = json.loads(run("ops", "check", str(file), "--json").out)
    assert not found["ok"]
    assert [(p["line"], p["column"]) for p in found["problems"]] == [(4, 9), (6, 13), (7, 34)]


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
