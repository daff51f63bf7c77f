"""The build of native kernels: extensions, flags, digests and the order of work."""

from __future__ import annotations

import errno
import json
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tt.backends.cpu.native import build as building
from tt.backends.cpu.native.build import FAMILY_LEVELS, LEVELS, NotBuiltError
from tt.core.extension.compilers import compiler_problem

SOURCES = ("pointwise.c", "scan.c", "sorting.c", "threads.c")


@pytest.fixture
def sources(tmp_path):
    """A root with a few families, of which one includes a header, that another one, and that a template."""
    folder = tmp_path / "backends" / "cpu" / "native"
    (folder / "src").mkdir(parents=True)
    (folder / "include").mkdir()
    for name in SOURCES:
        (folder / "src" / name).write_text(f"int {name[:-2]};\n", encoding="utf-8")
    (folder / "src" / "scan.c").write_text('#include "lines.h"\n#include <math.h>\n', encoding="utf-8")
    (folder / "include" / "lines.h").write_text(' # include "rows.h"\n', encoding="utf-8")
    (folder / "include" / "rows.h").write_text('#include "fold.inc"\n', encoding="utf-8")
    (folder / "src" / "fold.inc").write_text("int rows;\n", encoding="utf-8")
    return tmp_path


def modules(root: Path, machine: str = "x86_64") -> dict[str, Path]:
    found = building.native_modules(
        root, [f"backends/cpu/native/src/{name}" for name in (*SOURCES, "gone.c")], machine
    )
    return {name.rpartition("._")[2]: path for name, path in found.items()}


def test_a_family_is_an_extension_for_each_of_its_instruction_sets(sources):
    assert list(modules(sources)) == [
        *(f"pointwise_{level}" for level in LEVELS),
        *(f"scan_{level}" for level in FAMILY_LEVELS["scan"]),
        "sorting_baseline",
        "threads",
    ]


def test_other_processors_have_the_baseline_alone(sources):
    assert list(modules(sources, "aarch64")) == [
        "pointwise_baseline",
        "scan_baseline",
        "sorting_baseline",
        "threads",
    ]


def test_an_extension_is_made_of_all_that_its_source_includes(sources):
    scan = modules(sources)["scan_avx2"]
    assert [path.name for path in building.made_of(scan)] == ["scan.c", "lines.h", "rows.h", "fold.inc"]


@pytest.mark.parametrize("changed", ["include/rows.h", "src/fold.inc"])
def test_a_digest_changes_with_a_header_a_template_and_the_flags(sources, changed):
    scan = modules(sources)["scan_avx2"]
    name = "tt.backends.cpu.native._scan_"
    before = {level: building.digest(name + level, scan) for level in ("baseline", "avx2")}
    assert before["baseline"] != before["avx2"]
    files = building.Files()
    assert building.digest(name + "avx2", scan, files) == before["avx2"] and files.read(str(scan)) is not None
    (scan.parent.parent / changed).write_text("int more_rows;\n", encoding="utf-8")
    assert building.digest(name + "avx2", scan, files) == before["avx2"]  # as it was read before
    assert building.digest(name + "avx2", scan) != before["avx2"]


@pytest.mark.skipif(sys.platform == "win32", reason="its compiler takes other flags")
def test_flags_name_the_instruction_set():
    flags = {level: building.flags_of(f"tt.backends.cpu.native._activation_{level}") for level in LEVELS}
    assert all(f"-DTT_LEVEL={level}" in flags[level] for level in LEVELS)
    assert "-march=x86-64-v3" in flags["avx2"] and "-march=x86-64-v4" in flags["avx512"]
    assert "-mprefer-vector-width=512" in flags["avx512"]
    assert not [flag for flag in building.flags_of("tt.backends.cpu.native._threads") if "TT_LEVEL" in flag]


def test_what_takes_longest_is_compiled_first_and_refused_levels_are_left_out(sources):
    found = modules(sources)
    assert building.expected_work("_scan_avx2", found["scan_avx2"]) > building.expected_work(
        "_scan_baseline", found["scan_baseline"]
    )
    left = building.without({f"tt._{name}": path for name, path in found.items()}, ["avx512"])
    assert "tt._pointwise_avx512" not in left and len(left) == len(found) - 1


# --- compiling in place ---

EMPTY = """
    #include <Python.h>
    #include "%(name)s.h"
    static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_%(name)s", NULL, -1, NULL};
    PyMODINIT_FUNC PyInit__%(name)s(void) { return PyModule_Create(&module); }
    """


class Checkout:
    """Two families whose extensions are compiled in place."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder = root, root / "backends" / "cpu" / "native"
        self.sources, self.headers = self.folder / "src", self.folder / "include"
        self.sources.mkdir(parents=True)
        self.headers.mkdir()
        for name in ("threads", "random"):
            (self.sources / f"{name}.c").write_text(EMPTY % {"name": name}, encoding="utf-8")
            (self.headers / f"{name}.h").write_text("", encoding="utf-8")
        self.modules = {
            f"tt.backends.cpu.native._{name}": self.sources / f"{name}.c" for name in ("threads", "random")
        }

    def build(self, **options) -> tuple[str, list[str]]:
        """Return the line that says what was done, and what was said of each extension."""
        said: list[str] = []
        line = building.build_in_place(self.root, self.root, self.modules, said.append, **options)
        return line, sorted(said)

    def libraries(self) -> list[str]:
        return sorted(path.name.partition(".")[0] for path in self.folder.glob("_*"))

    def record(self) -> dict:
        return json.loads((self.root / building.RECORD).read_text(encoding="utf-8"))


@pytest.fixture
def checkout(tmp_path):
    problem = compiler_problem("c")
    if problem:
        pytest.skip(f"native kernels need a compiler: {problem}")
    return Checkout(tmp_path)


def test_what_has_changed_is_compiled_into_the_folder_above_its_source(checkout):
    line, said = checkout.build()
    assert line == "native kernels: compiled 2 of 2 extensions"
    assert said == [f"compiled tt.backends.cpu.native._{name}" for name in ("random", "threads")]
    assert checkout.libraries() == ["_random", "_threads"]
    record = checkout.record()
    assert record["modules"].keys() == checkout.modules.keys() and record["refused"] == []
    assert checkout.build() == ("native kernels: 2 extensions are current", [])

    (checkout.headers / "random.h").write_text("int more;\n", encoding="utf-8")
    with ThreadPoolExecutor(1) as pool:
        line, said = checkout.build(pool=pool)
    assert (line, said) == (
        "native kernels: compiled 1 of 2 extensions",
        ["compiled tt.backends.cpu.native._random"],
    )
    assert checkout.record()["modules"] != record["modules"]

    del checkout.modules["tt.backends.cpu.native._random"]
    assert checkout.build() == ("native kernels: compiled 0 of 1 extensions", [])
    assert checkout.libraries() == ["_threads"]


def test_what_was_compiled_can_be_withdrawn_with_a_reason(checkout):
    checkout.build()
    building.withdraw(checkout.root, checkout.modules, "not wanted")
    assert checkout.libraries() == []
    assert checkout.record() == {"reason": "not wanted", "modules": {}}


def test_a_source_that_does_not_compile_changes_nothing(checkout):
    checkout.build()
    before = checkout.record()
    (checkout.headers / "random.h").write_text("int more\n", encoding="utf-8")
    with pytest.raises(NotBuiltError, match=r"compiling random\.c failed: "):
        checkout.build()
    assert checkout.record() == before and checkout.libraries() == ["_random", "_threads"]


def test_without_kernels_or_without_a_compiler_nothing_is_built(checkout, monkeypatch):
    with pytest.raises(NotBuiltError, match="no native kernels are listed"):
        building.compile_native({}, checkout.root / "scratch")
    monkeypatch.setenv("CC", str(checkout.root / "no_compiler"))
    with pytest.raises(NotBuiltError, match="no working C compiler with Python's headers was found"):
        checkout.build()
    assert checkout.libraries() == []


@pytest.fixture
def full_disk(monkeypatch):
    def fail(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", fail)


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_is_neither_a_missing_compiler_nor_a_mistake_in_a_source(checkout, monkeypatch):
    (checkout.headers / "random.h").write_text("int more\n", encoding="utf-8")
    with pytest.raises(NotBuiltError, match=r"compiling random\.c failed: the disk of .* is full"):
        checkout.build()
    monkeypatch.setenv("CC", str(checkout.root / "no_compiler"))
    with pytest.raises(NotBuiltError, match=r"^the disk of .* is full$"):
        checkout.build()
    assert checkout.libraries() == []


def test_a_full_disk_leaves_no_half_library(checkout, monkeypatch):
    def fail(source, target):
        target.touch()
        raise OSError(errno.ENOSPC, "No space left on device", str(target))

    monkeypatch.setattr(shutil, "copyfile", fail)
    with pytest.raises(NotBuiltError, match="No space left on device"):
        checkout.build()
    assert checkout.libraries() == []


def test_only_disks_without_space_are_full(tmp_path, monkeypatch):
    assert building.full_disk(tmp_path, tmp_path / "missing") == ""
    if not Path("/dev/full").exists():
        pytest.skip("the system has no device that is always full")
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda dir: open("/dev/full", "wb"))  # noqa: SIM115
    assert building.full_disk(tmp_path) == f"the disk of {tmp_path} is full"


@pytest.mark.parametrize("text", [None, "{"])
def test_a_record_that_cannot_be_read_counts_as_none(tmp_path, text):
    if text is not None:
        (tmp_path / building.RECORD).write_text(text, encoding="utf-8")
    assert building.read_record(tmp_path) == {}


def test_the_command_compiles_a_checkout_and_refuses_other_places(checkout, monkeypatch, capsys):
    monkeypatch.setattr(building, "__file__", str(checkout.folder / "build.py"))
    assert building.main() == 2
    refusal = "native kernels are compiled in a checkout of the project, which this is not\n"
    assert tuple(capsys.readouterr()) == ("", refusal)

    hook = '[tool.hatch.build.hooks.custom]\nnative-modules = ["backends/cpu/native/src/threads.c"]\n'
    (checkout.root / "pyproject.toml").write_text(hook, encoding="utf-8")
    assert building.main() == 0
    output, said = capsys.readouterr()
    assert output == "native kernels: compiled 1 of 1 extensions\n"
    assert said == "compiled tt.backends.cpu.native._threads\n"

    (checkout.headers / "threads.h").write_text("int more\n", encoding="utf-8")
    assert building.main() == 1
    output, said = capsys.readouterr()
    assert output == "" and said.startswith("native kernels: compiling threads.c failed: ")


def test_names_are_included_by_lines_that_begin_so():
    text = b'#include "a.h"\n  # include  "b.inc"\n// #include "c.h"\nx; #include "d.h"\n#include <e.h>\n'
    assert building.included_names(text + b'\t#\tinclude\t"f.h"') == ["a.h", "b.inc", "f.h"]
    assert building.included_names(b"") == []
