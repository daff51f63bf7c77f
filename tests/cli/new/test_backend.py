"""`tt new backend`: its files, output and trial."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.new.conftest import files

Run = Callable[..., Any]


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


def test_a_library_that_is_not_installed_yet_is_taken_at_its_word_with_a_warning(
    run: Run, here: Path
) -> None:
    ran = run("new", "backend", "dev", "--library", "vendor_arrays.ns")
    assert ran.code == 1
    assert ran.err.startswith("error: vendor_arrays.ns is not installed here, so nothing was tried")
    assert "the package is written, and depends on 'vendor-arrays', as the module is named" in ran.err
    assert "first call: tt.add(x, x) on dev was not made: vendor_arrays.ns is not installed here" in ran.out
    project = tomllib.loads((here / "tt-dev-backend" / "pyproject.toml").read_text())["project"]
    assert project["dependencies"][1] == "vendor-arrays"
    assert (
        "import vendor_arrays.ns as xp" in (here / "tt-dev-backend/src/tt_dev_backend/plugin.py").read_text()
    )
