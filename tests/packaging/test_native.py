"""Native kernels are built in each way, used all or not at all, only while they are current, and never needed."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from .conftest import build, import_from, install_editable, run, succeed

REPORT = """
from tt.backends.cpu.native import loading
print(loading.status().active)
print(loading.status().reason)
threads = loading.load("threads")
print(None if threads is None else threads.number())
"""


def report(folder: Path, **environ: str) -> tuple[bool, str, str]:
    """Return whether native kernels are active, why (not), and what the extension says."""
    active, reason, number = import_from(folder, REPORT, **environ)
    return active == "True", reason, number


def libraries(project: Path) -> list[Path]:
    return sorted((project / "backends" / "cpu" / "native").glob("_threads.*"))


@pytest.fixture(scope="session")
def native_once(compiled_once: Path) -> Path:
    """Return an editable installation with native kernels; for `native_miniature` to copy."""
    assert libraries(compiled_once)
    return compiled_once


@pytest.fixture
def native_miniature(native_once: Path, tmp_path: Path) -> Path:
    return shutil.copytree(native_once, tmp_path / "project", symlinks=True)


def build_in_place(project: Path) -> str:
    done = run("-m", "tt.backends.cpu.native.building", cwd=project / ".editable")
    return succeed(done)


# --- current, stale, incomplete ---


def test_current_kernels_are_used_at_the_level_of_the_processor(native_miniature):
    active, reason, number = report(native_miniature / ".editable")
    assert (active, number) == (True, "42")
    assert reason.startswith("compiled against NumPy ") and reason.endswith(", running as level")


@pytest.mark.parametrize("changed", ["threads.c", "number.h"])
def test_a_changed_source_or_header_leaves_numpy_to_serve_until_it_is_built(native_miniature, changed):
    with (native_miniature / "backends" / "cpu" / "native" / changed).open("a") as file:
        file.write("#undef NUMBER\n#define NUMBER 43\n" if changed == "number.h" else "/* changed */\n")
    expected = (False, "stale: threads.c has changed since it was compiled", "None")
    assert report(native_miniature / ".editable") == expected
    assert "native kernels: compiled 1 of 1 extensions" in build_in_place(native_miniature)
    active, _, number = report(native_miniature / ".editable")
    assert (active, number) == (True, "43" if changed == "number.h" else "42")


def test_what_is_current_is_not_built_again(native_miniature):
    (library,) = libraries(native_miniature)
    before = library.stat().st_mtime_ns
    assert build_in_place(native_miniature) == "native kernels: 1 extensions are current\n"
    assert library.stat().st_mtime_ns == before


def test_a_missing_library_leaves_numpy_to_serve(native_miniature):
    (library,) = libraries(native_miniature)
    library.unlink()
    reason = "incomplete: the library of tt.backends.cpu.native._threads is missing"
    assert report(native_miniature / ".editable") == (False, reason, "None")


def test_a_library_that_cannot_be_loaded_leaves_numpy_to_serve(native_miniature):
    (library,) = libraries(native_miniature)
    library.write_bytes(b"no library")
    active, reason, number = report(native_miniature / ".editable")
    assert (active, number) == (False, "None")
    assert reason.startswith("tt.backends.cpu.native._threads cannot be loaded: ")


def test_the_environment_switches_native_kernels_off(native_miniature):
    found = report(native_miniature / ".editable", TT_NATIVE="0")
    assert found == (False, "switched off by TT_NATIVE=0", "None")


def test_libraries_of_another_python_are_not_used(native_miniature):
    record_file = native_miniature / ".editable" / "tt" / "_native.json"
    record = json.loads(record_file.read_text())
    record_file.write_text(json.dumps(record | {"suffix": ".cpython-39-x86_64-linux-gnu.so"}))
    active, reason, _ = report(native_miniature / ".editable")
    assert (active, reason) == (False, "compiled for another Python (.cpython-39-x86_64-linux-gnu.so)")


@pytest.mark.parametrize("text", [None, "{"])
def test_without_a_readable_record_numpy_serves(native_miniature, text):
    record_file = native_miniature / ".editable" / "tt" / "_native.json"
    record_file.unlink()
    if text is not None:
        record_file.write_text(text)
    active, reason, _ = report(native_miniature / ".editable")
    assert not active and reason.startswith("the record of native kernels, _native.json, is not ")


# --- building ---


def test_native_kernels_alone_leave_the_hot_modules_interpreted(native_miniature, tmp_path):
    succeed(install_editable(native_miniature, tmp_path / "built", TT_BUILD="native"))
    assert report(native_miniature / ".editable")[0]
    lines = import_from(
        native_miniature / ".editable", "from tt.core import compiled; print(*compiled.status()[:2])"
    )
    assert lines == ["False built with TT_BUILD=native"]


def test_installing_interpreted_removes_what_was_built(native_miniature, tmp_path):
    succeed(install_editable(native_miniature, tmp_path / "built", TT_BUILD="interpreted"))
    assert libraries(native_miniature) == []
    found = report(native_miniature / ".editable")
    assert found == (False, "built with TT_BUILD=interpreted", "None")


def test_a_wheel_holds_libraries_and_sources(native_once, tmp_path):
    wheel, _ = build(native_once, "wheel", tmp_path / "dist", TT_BUILD="native")
    assert not wheel.name.endswith("-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    assert report(tmp_path / "site")[2] == "42"
    done = run("-m", "tt.backends.cpu.native.building", cwd=tmp_path / "site")
    assert done.returncode == 2 and "compiled in a checkout of the project" in done.stderr


def test_without_a_compiler_a_wheel_is_built_and_says_so(miniature, tmp_path):
    wheel, output = build(miniature, "wheel", tmp_path / "dist", CC="there-is-no-such-compiler")
    (notice,) = [line for line in output.splitlines() if "native kernels" in line]
    assert "NumPy serves in the place of native kernels: no working C compiler" in notice
    shutil.unpack_archive(wheel, tmp_path / "site", "zip")
    assert report(tmp_path / "site")[1] == "no working C compiler with Python's headers was found"


@pytest.mark.parametrize("choice", ["native", "compiled"])
def test_asking_for_native_kernels_without_a_compiler_fails_and_says_why(miniature, tmp_path, choice):
    done = install_editable(miniature, tmp_path, TT_BUILD=choice, CC="there-is-no-such-compiler")
    assert done.returncode != 0
    assert f"TT_BUILD={choice}, but no working C compiler with Python's headers was found" in done.stderr


def test_a_source_that_the_compiler_refuses_is_named(native_miniature):
    with (native_miniature / "backends" / "cpu" / "native" / "threads.c").open("a") as file:
        file.write("no C\n")
    done = run("-m", "tt.backends.cpu.native.building", cwd=native_miniature / ".editable")
    assert done.returncode == 1
    assert "native kernels: compiling threads.c failed" in done.stderr
    assert report(native_miniature / ".editable")[1].startswith("stale: threads.c")
