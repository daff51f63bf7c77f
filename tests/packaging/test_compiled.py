"""Compiled modules are used all or not at all, only while they are current, and never needed."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from tt.core import compiled

from .conftest import ROOT, build, import_from, install_editable, run, succeed

pytestmark = pytest.mark.exhaustive

REPORT = """
import sys
import tt
from tt.core import compiled
print(compiled.status().active)
print(compiled.status().reason)
for name in ("storage", "base"):
    print(type(sys.modules["tt.core.tensor." + name].__loader__).__name__)
print(tt.TensorBase().bump())
"""
COMPILED = ["ExtensionFileLoader", "ExtensionFileLoader", "1"]
INTERPRETED = ["SourceFileLoader", "SourceFileLoader", "1"]


def report(project: Path, **environ: str) -> tuple[bool, str, list[str]]:
    """Return whether the compiled modules are active, why (not), and how they were loaded and worked."""
    active, reason, *loaded = import_from(project / ".editable", REPORT, **environ)
    return active == "True", reason, loaded


def libraries(project: Path) -> list[str]:
    return sorted(
        path.name.partition(".")[0]
        for path in (project / "core" / "tensor").iterdir()
        if path.suffix in (".so", ".pyd")
    )


# --- current, stale, incomplete ---


@pytest.mark.exhaustive
def test_compiled_modules_that_are_current_are_used(compiled_miniature):
    active, reason, loaded = report(compiled_miniature)
    assert active and reason.startswith("compiled by Cython ")
    assert loaded == COMPILED


@pytest.mark.exhaustive
def test_the_generated_c_is_not_left_behind(compiled_miniature):
    assert [path.name for path in compiled_miniature.rglob("*.c")] == [
        "threads.c"
    ]  # a native kernel's source
    assert libraries(compiled_miniature) == ["base", "storage"]


@pytest.mark.parametrize("changed", ["storage.py", "storage.pxd", "base.py", "base.pxd"])
def test_a_changed_source_makes_every_module_interpreted_and_is_named(compiled_miniature, changed):
    with (compiled_miniature / "core" / "tensor" / changed).open("a") as source:
        source.write("\n# changed\n")
    module = f"tt.core.tensor.{changed.partition('.')[0]}"
    assert report(compiled_miniature) == (
        False,
        f"stale: {module} has changed since it was compiled",
        INTERPRETED,
    )


def test_a_stale_module_runs_the_new_source(compiled_miniature):
    source = compiled_miniature / "core" / "tensor" / "base.py"
    source.write_text(source.read_text().replace("version += by", "version += 10 * by"))
    assert report(compiled_miniature)[2][-1] == "10"


def test_a_source_that_is_changed_back_is_current_again(compiled_miniature):
    source = compiled_miniature / "core" / "tensor" / "storage.py"
    text = source.read_text()
    source.write_text(text + "# changed\n")
    assert not report(compiled_miniature)[0]
    source.write_text(text)
    assert report(compiled_miniature)[0]


def test_a_missing_library_makes_every_module_interpreted(compiled_miniature):
    (library,) = (compiled_miniature / "core" / "tensor").glob("storage.*.*")
    library.unlink()
    expected = "incomplete: the library of tt.core.tensor.storage is missing"
    assert report(compiled_miniature) == (False, expected, INTERPRETED)


def test_the_environment_switches_compiled_modules_off(compiled_miniature):
    assert report(compiled_miniature, TT_COMPILED="0") == (
        False,
        "switched off by TT_COMPILED=0",
        INTERPRETED,
    )


def test_libraries_of_another_python_are_not_used(compiled_miniature):
    record_file = compiled_miniature / ".editable" / "tt" / compiled.RECORD
    record = json.loads(record_file.read_text())
    record_file.write_text(json.dumps(record | {"suffix": ".cpython-39-x86_64-linux-gnu.so"}))
    active, reason, loaded = report(compiled_miniature)
    assert (active, loaded) == (False, INTERPRETED)
    assert reason == "compiled for another Python (.cpython-39-x86_64-linux-gnu.so)"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "the build left no record of compiled modules"),
        ("{", "the record of compiled modules, _compiled.json, is"),
    ],
)
def test_without_a_readable_record_nothing_counts_as_compiled(tmp_path, text, reason):
    if text is not None:
        (tmp_path / compiled.RECORD).write_text(text)
    found = compiled.examine(str(tmp_path))
    assert not found.active and found.reason.startswith(reason)


def test_importing_a_stale_compiled_module_before_the_check_is_an_error(compiled_miniature):
    with (compiled_miniature / "core" / "tensor" / "storage.py").open("a") as source:
        source.write("# changed\n")
    init = compiled_miniature / "api" / "__init__.py"
    init.write_text("import tt.core.tensor.storage\n" + init.read_text())
    done = run("-c", "import tt", cwd=compiled_miniature / ".editable")
    assert done.returncode == 1
    assert (
        "ImportError: tt.core.tensor.storage was imported before tt.core.compiled.install() was called"
        in done.stderr
    )


# --- building ---


def test_installing_interpreted_removes_what_was_compiled(compiled_miniature, tmp_path):
    succeed(install_editable(compiled_miniature, tmp_path / "built", TT_BUILD="interpreted"))
    assert libraries(compiled_miniature) == []
    assert report(compiled_miniature) == (False, "built with TT_BUILD=interpreted", INTERPRETED)


@pytest.mark.exhaustive
def test_an_editable_installation_is_compiled_unless_asked(miniature, tmp_path):
    succeed(install_editable(miniature, tmp_path / "built"))
    active, reason, _ = report(miniature)
    assert active and reason.startswith("compiled by Cython")


def test_an_editable_installation_without_a_compiler_is_interpreted_and_says_so(miniature, tmp_path):
    done = install_editable(miniature, tmp_path / "built", CC="there-is-no-such-compiler")
    output = succeed(done) + done.stderr
    assert "the hot modules stay interpreted: no working C compiler" in output
    active, reason, _ = report(miniature)
    assert (active, reason) == (False, "no working C compiler with Python's headers was found")


def test_a_full_disk_is_said_to_be_full(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("hook_of_full_disks", ROOT / "hatch_build.py")
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    building = SimpleNamespace(full_disk=lambda folder: f"{folder} is full")
    monkeypatch.setenv("CC", "there-is-no-such-compiler")
    monkeypatch.setattr(hook, "building_module", lambda root: building)
    with pytest.raises(hook.NotCompiledError, match=f"^{re.escape(str(tmp_path))} is full$"):
        hook.need_compiler(ROOT, tmp_path)


@pytest.mark.exhaustive
def test_a_wheel_holds_the_libraries_beside_the_sources(compiled_once, tmp_path):
    wheel, _ = build(compiled_once, "wheel", tmp_path / "dist", TT_BUILD="compiled")
    assert not wheel.name.endswith("-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
        names = archive.namelist()
    assert (
        len([name for name in names if name.startswith("tt/core/tensor/storage.")]) == 3
    )  # .py, .pxd and the library
    active, _reason, *loaded = import_from(tmp_path / "site", REPORT)
    assert (active, loaded) == ("True", COMPILED)


def test_a_wheel_takes_libraries_that_are_current_and_needs_no_compiler(
    compiled_once, compiled_miniature, tmp_path
):
    given = {"TT_LIBRARIES": str(compiled_once / ".editable" / "tt"), "CC": "there-is-no-such-compiler"}
    wheel, _ = build(compiled_miniature, "wheel", tmp_path / "dist", TT_BUILD="compiled", **given)
    shutil.unpack_archive(wheel, tmp_path / "site", "zip")
    active, _reason, *loaded = import_from(tmp_path / "site", REPORT)
    assert (active, loaded) == ("True", COMPILED)


@pytest.mark.parametrize("changed", ["core/tensor/storage.pxd", "backends/cpu/native/include/number.h"])
def test_libraries_of_other_sources_are_not_taken(compiled_once, compiled_miniature, tmp_path, changed):
    with (compiled_miniature / changed).open("a") as file:
        file.write("\n")
    given = {"TT_LIBRARIES": str(compiled_once / ".editable" / "tt"), "CC": "there-is-no-such-compiler"}
    wheel, output = build(compiled_miniature, "wheel", tmp_path / "dist", **given)
    with zipfile.ZipFile(wheel) as archive:
        taken = {
            name.rpartition("/")[2].partition(".")[0] for name in archive.namelist() if name.endswith(".so")
        }
    if changed.endswith(".h"):
        assert taken == {"storage", "base"} and "NumPy serves instead of native kernels" in output
    else:
        assert taken == {"_threads"} and "the hot modules stay interpreted" in output


def test_a_folder_of_libraries_that_is_not_there_is_an_error(miniature, tmp_path):
    done = run("-m", "hatchling", "build", "-t", "wheel", cwd=miniature, TT_LIBRARIES="nowhere")
    assert done.returncode == 1 and done.stderr == "tt: TT_LIBRARIES='nowhere' is no folder\n"


def test_without_a_compiler_a_pure_wheel_is_built_and_a_line_says_so(miniature, tmp_path):
    wheel, output = build(miniature, "wheel", tmp_path / "dist", CC="there-is-no-such-compiler")
    (notice,) = [line for line in output.splitlines() if "interpreted" in line]
    assert "no working C compiler with Python's headers was found" in notice
    assert wheel.name.endswith("-py3-none-any.whl")
    shutil.unpack_archive(wheel, tmp_path / "site", "zip")
    active, reason, *loaded = import_from(tmp_path / "site", REPORT)
    assert (active, loaded) == ("False", INTERPRETED)
    assert reason == "no working C compiler with Python's headers was found"


@pytest.mark.exhaustive
def test_a_source_that_cython_refuses_leaves_the_wheel_interpreted(compiled_once, miniature, tmp_path):
    (miniature / "core" / "tensor" / "storage.pxd").write_text(
        "cdef class Storage:\n    cdef no_such_type version\n"
    )
    wheel, output = build(miniature, "wheel", tmp_path / "dist")
    assert "the hot modules stay interpreted: compiling failed: CompileError" in output
    with zipfile.ZipFile(wheel) as archive:  # native kernels need no Cython
        compiled_files = [name for name in archive.namelist() if name.endswith((".so", ".pyd"))]
    assert [name.rpartition("/")[2].partition(".")[0] for name in compiled_files] == ["_threads"]


def test_asking_for_compiled_modules_without_a_compiler_fails_and_says_why(miniature, tmp_path):
    done = install_editable(miniature, tmp_path, TT_BUILD="compiled", CC="there-is-no-such-compiler")
    assert done.returncode != 0
    assert "TT_BUILD=compiled, but no working C compiler with Python's headers was found" in done.stderr


def test_an_unknown_build_is_refused_with_the_known_ones(miniature, tmp_path):
    done = install_editable(miniature, tmp_path, TT_BUILD="fast")
    assert done.returncode != 0
    assert "TT_BUILD='fast' is none of auto, compiled, native, interpreted" in done.stderr
