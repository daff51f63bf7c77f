"""Native kernels are built in each way, used all or not at all, only while they are current, and never needed."""

from __future__ import annotations

import json
import platform
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from .conftest import build, import_from, install_editable, make_miniature, run, succeed

REPORT = """
from tt.backends.cpu.native import loading
print(loading.status().active)
print(loading.status().reason)
threads = loading.load("threads")
print(None if threads is None else threads.number())
"""


def report(folder: Path, **environ: str) -> tuple[bool, str, str]:
    """Return whether native kernels are active, why (not), and the extension's answer."""
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
    done = run("-m", "tt.backends.cpu.native.build", cwd=project / ".editable")
    return succeed(done)


# --- current, stale, incomplete ---


def test_current_kernels_are_used_and_a_level_that_is_not_known_counts_as_the_baseline(native_miniature):
    active, reason, number = report(native_miniature / ".editable")
    assert (active, number) == (True, "42")
    assert reason.startswith("compiled against NumPy ") and reason.endswith(", running as baseline")


@pytest.mark.exhaustive
@pytest.mark.parametrize("changed", ["src/threads.c", "include/number.h"])
def test_a_changed_source_or_header_leaves_numpy_to_serve_until_it_is_built(native_miniature, changed):
    with (native_miniature / "backends" / "cpu" / "native" / changed).open("a") as file:
        file.write(
            "#undef NUMBER\n#define NUMBER 43\n" if changed == "include/number.h" else "/* changed */\n"
        )
    expected = (False, "stale: threads.c has changed since it was compiled", "None")
    assert report(native_miniature / ".editable") == expected
    assert "native kernels: compiled 1 of 1 extensions" in build_in_place(native_miniature)
    active, _, number = report(native_miniature / ".editable")
    assert (active, number) == (True, "43" if changed == "include/number.h" else "42")


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


# --- instruction sets ---

FAMILY = """
    #include <Python.h>
    #define JOIN(NAME, LEVEL) NAME##LEVEL
    #define ENTRY(LEVEL) JOIN(PyInit__pointwise_, LEVEL)
    #define TEXT_OF(WORD) #WORD
    #define TEXT(WORD) TEXT_OF(WORD)
    static PyObject *level(PyObject *self, PyObject *none) { return PyUnicode_FromString(TEXT(TT_LEVEL)); }
    static PyMethodDef methods[] = {{"level", level, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
    static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_pointwise", NULL, -1, methods};
    PyMODINIT_FUNC ENTRY(TT_LEVEL)(void) { return PyModule_Create(&module); }
    """

LEVEL = """
from tt.backends.cpu.native import loading
print(loading.load("pointwise").level(), loading.status().level, *loading.levels().usable)
"""


@pytest.fixture(scope="module")
def family_once(native_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an editable installation with one family, on a processor that claims to have AVX2 and no more."""
    if sys.platform == "win32" or platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("other processors have the baseline only")
    base = tmp_path_factory.mktemp("family")
    project = make_miniature(base / "project")
    folder = project / "backends" / "cpu" / "native"
    (folder / "src" / "pointwise").mkdir()
    (folder / "src" / "pointwise" / "pointwise.c").write_text(FAMILY)
    threads = folder / "src" / "threads.c"
    threads.write_text(threads.read_text().replace('"level")', '"avx2")'))
    succeed(install_editable(project, base / "built", TT_BUILD="native"))
    return project


@pytest.fixture
def family(family_once: Path, tmp_path: Path) -> Path:
    return shutil.copytree(family_once, tmp_path / "project", symlinks=True)


def extensions(project: Path) -> set[str]:
    found = (project / "backends" / "cpu" / "native").glob("_*.so")
    return {library.name.partition(".")[0] for library in found}


def test_a_family_is_compiled_for_each_instruction_set_and_the_highest_is_loaded(family):
    assert extensions(family) == {"_threads", "_pointwise_baseline", "_pointwise_avx2", "_pointwise_avx512"}
    lines = import_from(family / ".editable", LEVEL, TT_ISA="")
    assert lines == ["avx2 avx2 baseline avx2"]


def test_the_environment_chooses_the_instruction_set(family):
    lines = import_from(family / ".editable", LEVEL, TT_ISA="baseline")
    assert lines == ["baseline baseline baseline avx2"]


@pytest.mark.exhaustive
def test_only_what_changed_is_compiled_again(family):
    kept = family / "backends" / "cpu" / "native" / "src" / "threads.c"
    kept.write_text(kept.read_text() + "/* changed */\n")
    assert "native kernels: compiled 1 of 4 extensions" in build_in_place(family)
    source = family / "backends" / "cpu" / "native" / "src" / "pointwise" / "pointwise.c"
    source.write_text(source.read_text() + "/* changed */\n")
    assert "native kernels: compiled 3 of 4 extensions" in build_in_place(family)


@pytest.mark.exhaustive
def test_changed_flags_compile_an_extension_again(family):
    module = family / "backends" / "cpu" / "native" / "extensions.py"
    module.write_text(module.read_text().replace("-march=x86-64-v3", "-mavx2"))
    stale = "stale: pointwise.c has changed since it was compiled"
    assert report(family / ".editable", TT_ISA="")[1] == stale
    assert "native kernels: compiled 1 of 4 extensions" in build_in_place(family)


def test_an_instruction_set_that_the_compiler_does_not_know_is_left_out(family):
    module = family / "backends" / "cpu" / "native" / "extensions.py"
    module.write_text(module.read_text().replace("-march=x86-64-v4", "-march=no-such-processor"))
    assert "native kernels: compiled 0 of 3 extensions" in build_in_place(family)
    assert extensions(family) == {"_threads", "_pointwise_baseline", "_pointwise_avx2"}
    assert import_from(family / ".editable", LEVEL, TT_ISA="") == ["avx2 avx2 baseline avx2"]
    assert build_in_place(family) == "native kernels: 3 extensions are current\n"


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


@pytest.mark.exhaustive
def test_a_wheel_holds_libraries_and_sources(native_once, tmp_path):
    wheel, _ = build(native_once, "wheel", tmp_path / "dist", TT_BUILD="native")
    assert not wheel.name.endswith("-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    assert report(tmp_path / "site")[2] == "42"
    # Nothing compiles an installed source, so a change of one does not matter.
    (tmp_path / "site/tt/backends/cpu/native/src/threads.c").write_text("changed")
    assert report(tmp_path / "site")[2] == "42"
    done = run("-m", "tt.backends.cpu.native.build", cwd=tmp_path / "site")
    assert done.returncode == 2 and "compiled in a checkout of the project" in done.stderr


def test_without_a_compiler_a_wheel_is_built_and_says_so(miniature, tmp_path):
    wheel, output = build(miniature, "wheel", tmp_path / "dist", CC="there-is-no-such-compiler")
    (notice,) = [line for line in output.splitlines() if "native kernels" in line]
    assert "NumPy serves instead of native kernels: no working C compiler" in notice
    shutil.unpack_archive(wheel, tmp_path / "site", "zip")
    assert report(tmp_path / "site")[1] == "no working C compiler with Python's headers was found"


@pytest.mark.exhaustive
@pytest.mark.parametrize("choice", ["native", "compiled"])
def test_asking_for_native_kernels_without_a_compiler_fails_and_says_why(miniature, tmp_path, choice):
    done = install_editable(miniature, tmp_path, TT_BUILD=choice, CC="there-is-no-such-compiler")
    assert done.returncode != 0
    assert f"TT_BUILD={choice}, but no working C compiler with Python's headers was found" in done.stderr


def test_a_source_that_the_compiler_refuses_is_named(native_miniature):
    with (native_miniature / "backends" / "cpu" / "native" / "src" / "threads.c").open("a") as file:
        file.write("no C\n")
    done = run("-m", "tt.backends.cpu.native.build", cwd=native_miniature / ".editable")
    assert done.returncode == 1
    assert "native kernels: compiling threads.c failed" in done.stderr
    assert report(native_miniature / ".editable")[1].startswith("stale: threads.c")
