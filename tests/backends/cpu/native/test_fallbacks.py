"""The functions that C names for what it leaves to Python are there; a call would be the first to notice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[4]
FOLDERS: Final = ("src", "include")
DIRECT: Final = re.compile(
    r'(?:TT_PYTHON\(\w+, |tt_call_python(?:_into)?\(|tt_python \w+ = \{)"([\w.]+)", "(\w+)"'
)
BY_ENTRY: Final = re.compile(r'^[A-Z_]+\(.*"(tt\.[\w.]+)", "(\w+)"\)$', re.M)
MACRO: Final = re.compile(
    r'#define NUMPY\(([\w, ]+)\) TT_PYTHON\(numpy_##NAME, "([\w.]+)"( MODULE)?, (#NAME|FUNCTION)\)'
)
USE: Final = re.compile(r'^NUMPY\((\w+)(?:, "(\w+)")?(?:, "(\w+)")?\);', re.M)


def named_in(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the modules and names in a source; one that is included uses the macro of the source that includes it."""
    text = file.read_text(encoding="utf-8")
    yield from DIRECT.findall(text)
    yield from BY_ENTRY.findall(text)
    whole = file.with_name(f"{file.stem.partition('_')[0]}.c")
    macro = MACRO.search(text) or (
        MACRO.search(whole.read_text(encoding="utf-8")) if whole.is_file() else None
    )
    for name, first, second in USE.findall(text):
        assert macro is not None, file
        module = macro[2] + (first if macro[3] else "")
        yield module, name if macro[4] == "#NAME" else second if macro[3] else first


SOURCES: Final = sorted(
    path for folder in FOLDERS for path in (ROOT / "backends" / "cpu" / "native" / folder).rglob("*.*")
    if path.suffix in (".c", ".h", ".inc")
)  # fmt: skip
NAMED: Final = sorted({pair for path in SOURCES for pair in named_in(path)})


@pytest.mark.parametrize(("module", "name"), NAMED, ids=[f"{module}.{name}" for module, name in NAMED])
def test_what_c_calls_is_there(module: str, name: str) -> None:
    assert callable(getattr(import_module(module), name))


def test_all_ways_to_name_a_function_are_read() -> None:
    assert {
        ("tt.backends.cpu.linalg", "cdist"), ("tt.backends.cpu.activation", "gelu"), ("tt.core.errors", "PlaceError"),
        ("tt.backends.cpu.optimizer", "fused_sgd"), ("tt.backends.cpu.random", "native_dropout_backward"),
        ("tt.backends.cpu.pointwise", "remainder"), ("tt.backends.cpu.sorting", "topk"),
        ("tt.operators.activation.composites", "check_alpha"),
    } <= {*NAMED}  # fmt: skip
    mentions = sum(path.read_text(encoding="utf-8").count('"tt.backends.cpu.') for path in SOURCES)
    assert mentions > 40
