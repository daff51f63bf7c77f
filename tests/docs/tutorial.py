"""Runs a page of `docs/tutorials` as a reader does: in an empty folder, from the first block to the last.

    python tests/docs/tutorial.py PAGE [--without LIBRARY]

The first line of a block gives its kind:

- ```` ```python ```` with prompts: an interactive session, one for the page; its output is compared;
- ```` ```sh ````: commands that have to succeed; a `cd` lasts until the next block;
- ```` ```text ```` that begins with `$ command`: each command's output is compared, and it may fail;
- any language, with `# folder/file` (or `<!-- file -->`) as the first line: the file is written.

Outputs are compared as doctests are, with `...` for any text. A block below `<!-- needs: LIBRARY -->` is left out with
`--without LIBRARY`.
"""

from __future__ import annotations

import argparse
import doctest
import os
import re
import subprocess
import sys
import tempfile
import venv
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"(?:<!-- needs: (\w+) -->\n\n)?^```(\w*)\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"(?:#|<!--) ([\w./-]+\.\w+)(?: -->)?\n")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A block of code: its language, what it is (session, commands, shown or file), the library that it needs."""

    line: int
    kind: str
    text: str
    needs: str
    file: str = ""


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of a page; one that would never run is an error."""
    for found in BLOCK.finditer(page):
        needs, language, text = found[1] or "", found[2], found[3]
        line = page.count("\n", 0, found.start(3)) + 1
        if named := FILE.match(text):
            yield Block(line, "file", text, needs, named[1])
        elif language == "python" and text.startswith(">>> "):
            yield Block(line, "session", text, needs)
        elif language == "sh":
            yield Block(line, "commands", text, needs)
        elif language == "text" and text.startswith("$ "):
            yield Block(line, "shown", text, needs)
        else:
            raise ValueError(f"line {line}: no reader and no test can run this block")


class Reader:
    """Someone with a Python session, a shell and an editor, who does what the page says."""

    def __init__(self, folder: Path) -> None:
        self.start = self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.session = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
        self.failures: list[str] = []

    def follow(self, block: Block) -> None:
        """Do what a block says."""
        getattr(self, f"_{block.kind}")(block)

    def _file(self, block: Block) -> None:
        path = self.folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")

    def _session(self, block: Block) -> None:
        os.chdir(self.start)
        parsed = doctest.DocTestParser().get_doctest(
            block.text, self.names, "page", f"line {block.line}", block.line - 1
        )
        parsed.globs = self.names  # the parser copies them
        self.session.run(parsed, out=self.failures.append, clear_globs=False)

    def _commands(self, block: Block) -> None:
        output, code = self._shell(block.text)
        if code:
            self.failures.append(f"line {block.line}: exit code {code}\n{block.text}\n{output}")

    def _shown(self, block: Block) -> None:
        for part in re.split(r"^(?=\$ )", block.text, flags=re.M)[1:]:
            command, _, expected = part.removeprefix("$ ").partition("\n")
            output, _ = self._shell(command)
            if not doctest.OutputChecker().check_output(expected, output, FLAGS):
                self.failures.append(f"line {block.line}: {command}\nexpected:\n{expected}\nfound:\n{output}")

    def _shell(self, commands: str) -> tuple[str, int]:
        with tempfile.NamedTemporaryFile("r") as place:
            done = subprocess.run(
                ["bash", "-ec", f"trap 'pwd >{place.name}' EXIT\n{commands}"],
                cwd=self.folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            self.folder = Path(place.read().strip())
        return done.stdout, done.returncode


def environment(folder: Path) -> dict[str, str]:
    """Make a virtual environment that has all that this one has, and return the variables that activate it.

    What a page installs goes there and nowhere else; no index of packages is asked.
    """
    venv.create(folder, symlinks=True)
    bin_ = folder / "bin"
    (site,) = folder.glob("lib/python*/site-packages")
    shared = [path for path in sys.path if path.endswith("site-packages")]
    (site / "shared.pth").write_text("".join(f"import site; site.addsitedir({p!r})\n" for p in shared))
    command = bin_ / "tt"
    command.write_text(f"#!{bin_ / 'python'}\nfrom tt.cli.main import main\nmain()\n")
    command.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}",
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "TT_CONFIG": "",
        "TT_PREFER": "",
        "COLUMNS": "120",
    }


def read(page: Path, without: list[str], blocks_run: int = 0) -> int:
    """Follow a page in the current folder, print what differs, and return how many blocks did."""
    warnings.simplefilter("error")
    sys.path[0] = ""
    reader = Reader(Path.cwd())
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.needs not in without:
            reader.follow(block)
            blocks_run += 1
    print("\n".join([*reader.failures, f"{blocks_run} blocks, {len(reader.failures)} failures"]))
    return len(reader.failures)


def main() -> int:
    """Run a page in a new folder, with a Python of its own."""
    parser = argparse.ArgumentParser(description="runs a page of docs/tutorials in an empty folder")
    parser.add_argument("page", type=Path)
    parser.add_argument("--without", action="append", default=[], metavar="LIBRARY")
    parser.add_argument("--here", action="store_true", help="in this folder, with this Python")
    given = parser.parse_args()
    if given.here:
        return bool(read(given.page, given.without))
    with tempfile.TemporaryDirectory() as folder:
        variables = environment(Path(folder) / "venv")
        work = Path(folder) / "work"
        work.mkdir()
        options = [f"--without={name}" for name in given.without]
        command = [Path(folder) / "venv/bin/python", __file__, given.page.resolve(), "--here", *options]
        return subprocess.run(command, cwd=work, env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
