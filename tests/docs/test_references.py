"""Files, modules and notes that comments, docstrings and pages name are there."""

from __future__ import annotations

import ast
import importlib
import io
import os
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
C: Final = (".c", ".h", ".inc", ".cu", ".cuh")
PYTHON: Final = (".py", ".pyi")
HASHES: Final = (".pxd", ".yaml", ".yml", ".toml", "Makefile", "run")

FILE: Final = re.compile(
    r"(?<![\w/.*<>$:~{}-])((?:[\w.-]+/)*[\w.-]*\w\.(?:pyx|pxd|pyi|py|cuh|cu|c|h|inc|yaml|md))(?![\w/(*{}-]|\.\w)"
)
"""The name of a file, alone or with folders; not a part of a pattern or of an address."""
INSIDE: Final = re.compile(
    r"`((?:api|backends|benchmarks|cli|core|docs|examples|operators|plugins|testing|tests)/[\w./-]+)`"
)
"""A path from the root, set as code: a file or a folder."""
MODULE: Final = re.compile(r"(?<![\w.])tt\.(?:core|backends|plugins|cli|library|operators|testing)(?:\.\w+)+")
NOTE: Final = re.compile(r"Note \[([^\]\n]+)\]")
DEFINED: Final = re.compile(r"^[\s/*#\"]*Note \[([^\]\n]+)\](?:\s*$|:)", re.MULTILINE)

EXCEPTIONS: Final = {
    "*.pyi": "stubs, which the build makes",
    "_snapshot.py": "operators of ops.yaml, which the build makes",
    "docs/operators*": "pages, which `make docs` makes",
    "hubconf.py": "a file of repositories of models",
    "Python.h": "a header of Python",
    "cuda_fp16.h": "a header of CUDA",
    "cupy_thrust.cu": "a source of CuPy",
    "*PAGE.md": "stands for any page",
    "name.c": "stands for any source",
    "tt/__init__.py": "api/__init__.py, by its place in the package",
    "src/tt_guide/*": "the package of an example",
    "program.py": "the program of a reader",
    "a.b.c": "a dotted name",
}
"""Names of files that are not in the repository -> why."""
MODULE_EXCEPTIONS: Final = {
    "tt.plugins.v*": "names of groups of entry points",
    "tt.backends.cpu.native._*": "extensions, which are not there without a compiler",
    "tt.core.*.typed_ops": "a stub, which type checkers alone read",
    "tt.core.tensor.tensor_methods": "a stub, which type checkers alone read",
}
"""Dotted names that are no modules -> why."""


def comments(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yield the comments of a file, its docstrings, or the prose of a page, with their lines."""
    if path.suffix == ".md":
        yield 1, re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S)
    elif path.suffix in C:
        for comment in re.finditer(r"/\*.*?\*/|//[^\n]*", text, re.DOTALL):
            yield text.count("\n", 0, comment.start()) + 1, comment[0]
    elif path.suffix in PYTHON:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Expr(ast.Constant(str(docstring))):
                    yield node.lineno, without_doctests(docstring)
    elif path.name.endswith(HASHES):
        for number, line in enumerate(text.split("\n"), 1):
            if "#" in line:
                yield number, line[line.index("#") :]


def without_doctests(text: str) -> str:
    """Return a docstring with empty lines in the place of sessions, which end at an empty line."""
    session = re.compile(r"^ *>>> .*?(?=^ *$|\Z)", re.MULTILINE | re.DOTALL)
    return session.sub(lambda lines: "\n" * lines[0].count("\n"), text)


def named(pattern: re.Pattern[str], path: Path, text: str, there: Callable[[str], bool]) -> Iterator[str]:
    """Yield, with their lines, the names of a pattern in the comments of a file that are not `there`."""
    if all(there(name) for name in pattern.findall(text)):  # of most files: these are not parsed
        return
    for first, comment in comments(path, text):
        for match in pattern.finditer(comment):
            if not there(match[match.lastindex or 0]):
                line = first + comment.count("\n", 0, match.start())
                yield f"{path}:{line}: {match[match.lastindex or 0]}"


def absent(path: Path, text: str, known: frozenset[str]) -> list[str]:
    """Return the files that the comments of a file name and that are not `known`."""

    def there(name: str) -> bool:
        # Not what exists: pages and stubs that have been made here would be missing elsewhere.
        return (
            os.path.relpath(path.parent / name, ROOT) in known or re.sub(r"^(\.\.?/)+|/$", "", name) in known
        )

    return [line for pattern in (FILE, INSIDE) for line in named(pattern, path, text, there)]


def excepted(line: str, exceptions: Iterable[str]) -> bool:
    """Return whether the name at the end of a line is one of the exceptions."""
    return any(fnmatchcase(line.rsplit(": ", 1)[1].rstrip("/"), pattern) for pattern in exceptions)


@pytest.fixture(scope="module")
def texts(files: list[Path]) -> dict[Path, str]:
    """The text of every file with comments, by path."""
    ends = (*C, *PYTHON, ".md", *HASHES)
    return {path: path.read_text(encoding="utf-8") for path in files if path.name.endswith(ends)}


@pytest.fixture(scope="module")
def known(files: list[Path]) -> frozenset[str]:
    """The paths of all files and folders, and every end of one: `isa.h`, `include/isa.h`, ..."""
    names = set()
    for path in files:
        parts = path.relative_to(ROOT).parts
        for end in range(1, len(parts) + 1):
            names.add("/".join(parts[:end]))
        for start in range(len(parts)):
            names.add("/".join(parts[start:]))
            names.add("/".join(parts[start:]).removesuffix(".py"))
    return frozenset(names)


@pytest.fixture(scope="module")
def absent_files(texts: dict[Path, str], known: frozenset[str]) -> list[str]:
    """The lines that name a file that is not there."""
    return [line for path, text in texts.items() for line in absent(path, text, known)]


def test_files_that_comments_and_pages_name_are_there(absent_files: list[str]) -> None:
    stale = [line for line in absent_files if not excepted(line, EXCEPTIONS)]
    assert not stale, "\n".join(stale)


@pytest.mark.parametrize("pattern", EXCEPTIONS)
def test_every_exception_is_needed(pattern: str, absent_files: list[str]) -> None:
    assert any(excepted(line, [pattern]) for line in absent_files)


@pytest.mark.parametrize(
    ("name", "text", "stale"),
    [
        ("a.py", "# as in core/none/there.py\n", ["core/none/there.py"]),
        ("a.py", '"""See tables.pxd, `tests/nowhere/` and known.py."""\n', ["tables.pxd", "tests/nowhere/"]),
        ("a.py", 'x = "gone.py"  # not a comment before\n', []),
        ("a.py", '"""A file.\n\n>>> open("mine.py")\n"""\n', []),
        ("a.c", "int x; /* micro.inc */ // gone.h\n", ["micro.inc", "gone.h"]),
        ("a.md", "`gone.md` and\n\n```sh\npython program.py\n```\n", ["gone.md"]),
        ("a.yaml", "key: gone.py # gone.yaml\n", ["gone.yaml"]),
        ("a.py", "# {a,b}/*.py, https://example.org/page.md, known.pyx-like, Tensor.h()\n", []),
    ],
)
def test_the_check_finds_names_of_absent_files(name: str, text: str, stale: list[str]) -> None:
    lines = [
        line.rsplit(": ", 1)[1] for line in absent(Path("/nowhere", name), text, frozenset(["known.py"]))
    ]
    assert lines == stale


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_modules_that_comments_and_pages_name_are_there(texts: dict[Path, str]) -> None:
    absent_modules = [line for path, text in texts.items() for line in named(MODULE, path, text, is_there)]
    stale = [line for line in absent_modules if not excepted(line, MODULE_EXCEPTIONS)]
    assert not stale, "\n".join(stale)


@cache
def is_there(name: str) -> bool:
    """Return whether a dotted name is a module, or a member of one."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for member in parts[end:]:
            if not hasattr(value, member):
                return False
            value = getattr(value, member)
        return True
    return False


def test_a_module_that_is_gone_is_not_there() -> None:
    assert is_there("tt.core.dispatch") and is_there("tt.core.types.dtype.float32")
    assert not is_there("tt.core.dispatch.gone") and not is_there("tt.core.types.dtype.gone")


def test_notes_that_are_referred_to_are_written(texts: dict[Path, str]) -> None:
    written = {title for text in texts.values() for title in DEFINED.findall(text)}
    stale = []
    for path, text in texts.items():
        joined = re.sub(r"\n[ \t]*(?://|#|\*)?[ \t]*", " ", text)  # titles are wrapped like other words
        stale += [f"{path}: the note {title}" for title in NOTE.findall(joined) if title not in written]
    assert not stale, "\n".join(stale)
