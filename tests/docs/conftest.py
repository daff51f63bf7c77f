"""The pages as the tests of the documentation read them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```.*?^```[ ]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Page:
    """One Markdown file, or a section of one."""

    path: Path
    text: str

    @property
    def prose(self) -> str:
        """The text without its blocks of code."""
        return FENCE.sub("", self.text)

    @property
    def code(self) -> str:
        """All that is set as code, in blocks and within lines."""
        return "\n".join([*FENCE.findall(self.text), *CODE.findall(self.prose)])

    def mentions(self, name: str) -> bool:
        """Return whether a name is set as code."""
        return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", self.code) is not None

    @property
    def headings(self) -> list[str]:
        """The headings, as they are written."""
        return re.findall(r"^#+ (.+)$", self.prose, re.MULTILINE)

    def section(self, beginning: str) -> Page:
        """Return the section, with its subsections, whose heading begins so."""
        starts = [
            m for m in re.finditer(r"^(#+) (.+)$", self.text, re.MULTILINE) if m[2].startswith(beginning)
        ]
        assert starts, f"{self.path.name} has no section {beginning!r}"
        start = starts[0]
        rest = self.text[start.end() :]
        end = re.search(rf"^#{{1,{len(start[1])}}} ", rest, re.MULTILINE)
        return Page(self.path, rest[: end.start()] if end else rest)

    def first_cells(self) -> list[str]:
        """Return the code in the first column of the tables, without arguments."""
        return [code for row in self.rows() for code in CODE.findall(row.split("|")[1])]

    def rows(self) -> Iterator[str]:
        """Yield the rows of the tables below their heads."""
        lines = self.prose.split("\n")
        for before, line in pairwise(lines):
            if line.startswith("|") and before.startswith("|") and not re.fullmatch(r"[|\s:-]+", line):
                yield line


class Book(dict[str, Page]):
    """All pages by their path from the root of the repository."""

    def __missing__(self, name: str) -> Page:
        raise AssertionError(f"page {name} does not exist")


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def files() -> list[Path]:
    """The files of the project: those that git knows, or all in a source distribution."""
    known = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if known.returncode == 0:
        return [path for name in known.stdout.split("\0") if name and (path := ROOT / name).is_file()]
    return [
        p for p in ROOT.rglob("*") if p.is_file() and not re.search(r"(^|/)[.]", str(p.relative_to(ROOT)))
    ]


@pytest.fixture(scope="session")
def pages(files: list[Path]) -> Book:
    """Every Markdown page of the project, without those of operators, which `make docs` makes."""
    made = ROOT / "docs" / "operators"
    found = {*files, *ROOT.glob("*.md"), *(p for p in (ROOT / "docs").rglob("*.md") if p.parent != made)}
    return Book(
        {
            p.relative_to(ROOT).as_posix(): Page(p, p.read_text(encoding="utf-8"))
            for p in sorted(found)
            if p.suffix == ".md"
        }
    )
