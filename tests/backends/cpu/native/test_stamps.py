"""Stamps of the sources of native kernels: unchanged sources are not read, changed ones are."""

from __future__ import annotations

import json
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from tt.backends.cpu.native import loading
from tt.backends.cpu.native.extensions import RECORD, Files, digest
from tt.backends.cpu.native.stamps import STAMP

MODULE = "tt.one._pointwise_baseline"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with one extension that is current."""
    monkeypatch.delenv(loading.SWITCH, raising=False)
    for folder in ("src/pointwise", "include"):
        (tmp_path / "one" / folder).mkdir(parents=True)
    source = tmp_path / "one" / "src" / "pointwise" / "pointwise.c"
    source.write_text('#include "common.h"\n')
    (tmp_path / "one" / "include" / "common.h").write_text("int x;\n")
    (tmp_path / "one" / f"_pointwise_baseline{EXTENSION_SUFFIXES[0]}").touch()
    record = {"modules": {MODULE: digest(MODULE, source)}, "suffix": EXTENSION_SUFFIXES[0], "numpy": "2.0"}
    (tmp_path / RECORD).write_text(json.dumps(record))
    return tmp_path


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are read."""
    found: list[str] = []
    original = Files.read

    def noting(self: Files, path: str) -> object:
        found.append(os.path.basename(path))
        return original(self, path)

    monkeypatch.setattr(Files, "read", noting)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return found


def test_sources_are_read_once_where_nothing_changes(package: Path, read: list[str]) -> None:
    assert loading.examine(package).active and "common.h" in read and (package / STAMP).is_file()
    read.clear()
    assert loading.examine(package).active and read == []


@pytest.mark.parametrize("change", ["source", "header", "older", "new"])
def test_sources_are_read_where_one_has_changed(package: Path, read: list[str], change: str) -> None:
    assert loading.examine(package).active
    header = package / "one" / "include" / "common.h"
    if change == "source":
        (package / "one" / "src" / "pointwise" / "pointwise.c").write_text('#include "common.h"\nint y;\n')
    elif change == "header":
        header.write_text("int y;\n")  # of the same size
    elif change == "older":  # a file of another branch, say
        header.write_text("int z;\n")
        os.utime(header, ns=(1, 1))
    else:  # comes before the header that was included
        (package / "one" / "src" / "common.h").write_text("int y;\n")
    found = loading.examine(package)
    assert not found.active and "pointwise.c has changed" in found.reason
    assert not loading.examine(package).active  # and nothing else is noted


def test_a_missing_source_or_library_is_found_with_a_stamp(package: Path, read: list[str]) -> None:
    assert loading.examine(package).active
    library = package / "one" / f"_pointwise_baseline{EXTENSION_SUFFIXES[0]}"
    library.unlink()
    assert "incomplete" in loading.examine(package).reason
    library.touch()
    (package / "one" / "src" / "pointwise" / "pointwise.c").unlink()
    assert "has changed" in loading.examine(package).reason


def test_nothing_is_written_where_python_writes_no_bytecode(
    package: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert loading.examine(package).active
    assert not (package / STAMP).exists()


@pytest.mark.parametrize("content", ["", "{", "[]"])
def test_a_stamp_that_cannot_be_read_counts_as_none(package: Path, read: list[str], content: str) -> None:
    (package / STAMP).parent.mkdir()
    (package / STAMP).write_text(content)
    assert loading.examine(package).active and "common.h" in read
