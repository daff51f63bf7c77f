"""The build of native kernels: the order of work, compiling in place, and what makes it fail."""

from __future__ import annotations

import errno
import json
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tt.backends.cpu.native import build as building
from tt.backends.cpu.native.build import NotBuiltError
from tt.core.extension.compilers import compiler_problem


def test_what_takes_longest_is_compiled_first_and_refused_levels_are_left_out(tmp_path):
    source = tmp_path / "src" / "scan.c"
    source.parent.mkdir()
    source.write_text("int scan;\n", encoding="utf-8")
    assert building.expected_work("_scan_avx2", source) > building.expected_work("_scan_baseline", source)
    left = building.without(
        dict.fromkeys(["tt._scan_avx2", "tt._scan_avx512", "tt._threads"], source), ["avx512"]
    )
    assert list(left) == ["tt._scan_avx2", "tt._threads"]


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


def test_what_has_changed_is_compiled_into_the_folder_of_its_kernels(checkout):
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
    with pytest.raises(NotBuiltError, match="there are no sources"):
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


def test_the_command_compiles_a_checkout_and_refuses_other_places(checkout, monkeypatch, capsys):
    monkeypatch.setattr(building, "__file__", str(checkout.folder / "build.py"))
    assert building.main() == 2
    refusal = "native kernels are compiled in a checkout of the project, which this is not\n"
    assert tuple(capsys.readouterr()) == ("", refusal)

    (checkout.sources / "random.c").unlink()
    (checkout.root / "pyproject.toml").touch()
    assert building.main() == 0
    output, said = capsys.readouterr()
    assert output == "native kernels: compiled 1 of 1 extensions\n"
    assert said == "compiled tt.backends.cpu.native._threads\n"

    (checkout.headers / "threads.h").write_text("int more\n", encoding="utf-8")
    assert building.main() == 1
    output, said = capsys.readouterr()
    assert output == "" and said.startswith("native kernels: compiling threads.c failed: ")
