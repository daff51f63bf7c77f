"""`tt new op`: its files and output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.new.conftest import files

Run = Callable[..., Any]


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
