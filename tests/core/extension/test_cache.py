"""Which changes compile again, damage, and several builders at once."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tt
from tt.core.extension.cache import Store, default_folder
from tt.core.extension.compilers import find_compiler
from tt.utils.cpp_extension import load_inline

pytestmark = pytest.mark.sampled(6)

SOURCE = "float f(float x) { return x + 1; }"


def test_the_folder_follows_the_variables(tmp_path, monkeypatch):
    assert default_folder({"TT_EXTENSIONS_DIR": str(tmp_path)}) == tmp_path
    assert default_folder({"XDG_CACHE_HOME": "/caches"}) == Path("/caches/tt/extensions")
    monkeypatch.setattr(sys, "platform", "linux")
    assert default_folder({}) == Path.home() / ".cache/tt/extensions"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert default_folder({}) == Path.home() / "Library/Caches/tt/extensions"


def test_the_same_source_is_compiled_once(compiler, commands, tmp_path):
    for _ in range(2):
        assert load_inline("once", SOURCE, build_directory=tmp_path).f(tt.ones(1)).tolist() == [2.0]
    assert len(commands) == 2  # compiled and linked
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".so"]


@pytest.mark.parametrize(
    "change",
    [
        {"cpp_sources": SOURCE.replace("1", "2")},
        {"extra_cflags": ["-DANYTHING"]},
        {"extra_ldflags": ["-lm"]},
        {"extra_include_paths": ["."]},
        {"dtypes": ["float32"], "cpp_sources": "template <typename T> T f(T x) { return x; }"},
    ],
)
def test_whatever_changes_the_result_compiles_anew(compiler, commands, tmp_path, change):
    load_inline("again", SOURCE, build_directory=tmp_path)
    load_inline("again", **{"cpp_sources": SOURCE, "build_directory": tmp_path, **change})
    assert len(commands) == 4


@pytest.mark.exhaustive
def test_another_compiler_compiles_anew(compiler, commands, tmp_path, monkeypatch):
    load_inline("again", SOURCE, build_directory=tmp_path)
    command = find_compiler("c++").command
    monkeypatch.setenv("CXX", " ".join([*command, "-O1"]))
    load_inline("again", SOURCE, build_directory=tmp_path)
    assert len(commands) == 4


@pytest.mark.exhaustive
def test_a_header_that_changes_compiles_anew(compiler, commands, tmp_path):
    header = tmp_path / "value with space.h"
    folder = tmp_path / "kept"
    source = '#include "value with space.h"\nfloat f(float x) { return x + VALUE; }'
    for value in (1, 2, 2, 1):
        header.write_text(f"#define VALUE {value}\n")
        module = load_inline("headers", source, extra_include_paths=[tmp_path], build_directory=folder)
        assert module.f(tt.zeros(1)).tolist() == [float(value)]
    assert len(commands) == 6
    assert len(list(folder.glob("*.so"))) == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "damage", ["library", "library gone", "manifest", "manifest of another kind", "half"]
)
def test_a_damaged_entry_is_built_again(compiler, commands, tmp_path, damage):
    load_inline("damaged", SOURCE, build_directory=tmp_path)
    (library,), (manifest,) = tmp_path.glob("*.so"), tmp_path.glob("*.json")
    if damage == "library":
        library.unlink()  # another file: the one that is loaded stays as it is
        library.write_bytes(b"not a library")
    elif damage == "library gone":
        library.unlink()
    elif damage == "manifest":
        manifest.write_text('{"library": ')
    elif damage == "manifest of another kind":
        manifest.write_text("[1, 2]")
    else:
        manifest.write_text(json.dumps({"library": library.name}))
    assert load_inline("damaged", SOURCE, build_directory=tmp_path).f(tt.ones(1)).tolist() == [2.0]
    assert len(commands) == 4
    assert load_inline("damaged", SOURCE, build_directory=tmp_path).f(tt.ones(1)).tolist() == [2.0]
    assert len(commands) == 4


def test_what_a_killed_builder_left_is_removed(compiler, tmp_path):
    left = tmp_path / ".killed.so.1.partial"
    left.write_bytes(b"half a library")
    load_inline("after", SOURCE, build_directory=tmp_path)
    assert not left.exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with (
        pytest.raises(
            tt.errors.ValueRangeError, match=r"cannot be kept in .*: Permission denied\n  try: another"
        ),
        Store(tmp_path / "closed", "any").building(),
    ):
        raise AssertionError("not reached")


@pytest.mark.parametrize("operation", ["mkdir", "write_bytes", "write_text"])
def test_a_full_disk_is_named_and_nothing_is_left(compiler, tmp_path, monkeypatch, operation):
    def fail(self, *args, **kwargs):
        if operation != "mkdir":
            self.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, operation, fail)
    scratch = tmp_path / "temporary"
    os.mkdir(scratch)
    monkeypatch.setenv("TMPDIR", str(scratch))
    with pytest.raises(tt.errors.CompileError) as caught:
        load_inline("full", SOURCE, build_directory=tmp_path / "cache")
    folder = scratch if operation == "write_text" else tmp_path / "cache"
    assert f"the disk of {folder}" in str(caught.value) and "TT_EXTENSIONS_DIR" in str(caught.value)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_file_where_the_folder_would_be_is_named(compiler, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(tt.errors.ValueRangeError, match=r"compiled extensions cannot be kept in .*file"):
        load_inline("anywhere", SOURCE, build_directory=tmp_path / "file")


@pytest.mark.exhaustive
def test_several_processes_build_the_same_source(compiler, tmp_path):
    program = textwrap.dedent("""
        import sys, tt
        from tt.core.extension import build
        from tt.utils.cpp_extension import load_inline
        run, compiled = build._run, []
        def noting(command, name, verbose):
            compiled.append(name)
            return run(command, name, verbose)
        build._run = noting
        sys.stdin.readline()
        module = load_inline("shared", "float f(float x) { return 3 * x; }")
        print(module.f(tt.ones(2)).tolist(), compiled.count("shared"))
    """)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env={**os.environ, "TT_EXTENSIONS_DIR": str(tmp_path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(5)
    ]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0] * 5, answers
    found = sorted(out.strip() for out, _ in answers)
    assert {line[:10] for line in found} == {"[3.0, 3.0]"}
    if sys.platform != "win32":  # without locks, several may do the work
        assert [line[11:] for line in found] == ["0", "0", "0", "0", "2"]
    assert sorted(p.suffix for p in (tmp_path / "shared").iterdir()) == [".json", ".so"]
