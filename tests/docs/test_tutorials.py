"""The tutorials: every block of every page runs in an empty folder, and a page is short enough to be read at once."""

from __future__ import annotations

import builtins
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tt
from tests.docs import tutorial

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
PAGES = sorted(path.name for path in FOLDER.glob("*.md") if path.name != "README.md")
# Each page makes an environment and starts processes: all of them take half a minute of the base tests.
SHORT = ("training.md",)
NEED = {"torch"}
"""Libraries without which a page still runs, less some blocks."""


def run(page: Path, *options: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, tutorial.__file__, page, *options],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in SHORT else [pytest.mark.exhaustive]) for n in PAGES]
)
def test_a_page_runs_from_its_first_block_to_its_last(name):
    every = [*tutorial.blocks((FOLDER / name).read_text(encoding="utf-8"))]
    expected = sum(not block.needs for block in every)
    output = run(FOLDER / name, *(f"--without={library}" for library in NEED))
    assert output.endswith(f"{expected} blocks, 0 failures\n") and expected >= 5


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs_without_anything_compiled(name):
    options = [f"--without={library}" for library in NEED]
    assert run(FOLDER / name, *options, TT_COMPILED="0", TT_NATIVE="0").endswith(" 0 failures\n")


@pytest.mark.torch
@pytest.mark.exhaustive
def test_the_port_computes_what_pytorch_computes():
    page = FOLDER / "porting.md"
    every = [*tutorial.blocks(page.read_text(encoding="utf-8"))]
    assert sum(block.needs == "torch" for block in every) == 2
    assert run(page).endswith(f"{len(every)} blocks, 0 failures\n")


def test_every_block_of_every_page_is_of_a_kind_that_runs():
    for name in PAGES:
        text = (FOLDER / name).read_text(encoding="utf-8")
        found = [*tutorial.blocks(text)]
        assert len(found) == len(re.findall(r"^```\w", text, re.M)), f"{name} has blocks that no test finds"
        assert {block.needs for block in found} <= {"", *NEED}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_read_in_ten_minutes(name):
    text = (FOLDER / name).read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    lines_of_code = sum(block.text.count("\n") for block in tutorial.blocks(text))
    # 200 words a minute, and two seconds for a line of code or output.
    assert len(prose.split()) / 200 + lines_of_code / 30 < 10


@pytest.mark.parametrize("name", PAGES)
def test_the_errors_that_a_page_names_exist(pages, name):
    named = set(re.findall(r"\b[A-Z]\w*Error\b", pages[f"docs/tutorials/{name}"].code))
    assert [n for n in named if not hasattr(tt.errors, n) and not hasattr(builtins, n)] == []


def test_the_list_has_every_page_with_its_title(pages):
    listed = dict(
        reversed(link)
        for link in re.findall(r"\[([^\]]+)\]\((\w+\.md)\)", pages["docs/tutorials/README.md"].text)
    )
    assert listed == {name: pages[f"docs/tutorials/{name}"].headings[0] for name in PAGES}


# --- the reader --------------------------------------------------------------------------------------------------


def failures_of(text, tmp_path, **options):
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, tutorial.__file__, page, "--here", *options.get("options", ())],
        cwd=tmp_path,
        # A system may have `python3` only.
        env={**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


SHARED = """
```python
# pack/place.py
VALUE = 3
```

```sh
cd pack
```

```text
$ python -c "import place; print(place.VALUE)"
3
```

```python
>>> from pack.place import VALUE
>>> VALUE
3

```
"""


def test_files_a_shell_and_a_session_share_a_folder_and_a_cd_lasts(tmp_path):
    assert failures_of(SHARED, tmp_path) == (0, "4 blocks, 0 failures\n")


@pytest.mark.parametrize(
    ("block", "line"),
    [
        ("```python\n>>> 1 + 1\n3\n\n```\n", "line 2"),
        ("```python\n>>> import warnings\n>>> warnings.warn('old')\n\n```\n", "UserWarning: old"),
        ("```sh\nfalse\ntrue\n```\n", "exit code 1"),
        ("```text\n$ echo two\nthree\n```\n", "found:\ntwo"),
    ],
    ids=["session", "warning", "commands", "shown"],
)
def test_what_differs_from_the_page_is_a_failure(block, line, tmp_path):
    code, output = failures_of(block, tmp_path)
    assert code == 1 and line in output and output.endswith("1 blocks, 1 failures\n")


def test_a_block_that_nothing_would_run_is_an_error():
    with pytest.raises(ValueError, match="line 4: no reader and no test can run this block"):
        [*tutorial.blocks("# Title\n\n```python\nx = 1\n```\n")]


def test_a_block_is_left_out_only_without_its_library(tmp_path):
    text = "<!-- needs: torch -->\n\n```sh\nfalse\n```\n"
    assert failures_of(text, tmp_path)[0] == 1
    assert failures_of(text, tmp_path, options=["--without=torch"]) == (0, "0 blocks, 0 failures\n")


def test_what_a_page_installs_stays_in_its_own_environment(tmp_path):
    variables = tutorial.environment(tmp_path / "venv")
    code = "import sys, sysconfig, tt; print(sys.prefix, sysconfig.get_path('purelib'))"
    done = subprocess.run(["python", "-c", code], env=variables, capture_output=True, text=True, check=True)
    prefix, site = done.stdout.split()
    assert Path(prefix) == tmp_path / "venv" and Path(site).is_relative_to(prefix)
    assert variables["PIP_NO_INDEX"] == "1"
