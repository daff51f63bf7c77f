"""The kernels on 64-bit ARM: every source compiles without a warning, and its tests pass on an emulated processor.

This shows that results are right there.  It says nothing about speed.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.backends.cpu.native.arm import COMPILER, EMULATOR, MODULES, ROOT, Machine, MachineError, prepare

HERE: Final = Path(__file__).parent
FILES: Final = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*HERE.glob("test_*.py"), HERE.parent / "test_cores.py")
    if path.name != Path(__file__).name
)

NOT_EMULATED: Final = {
    "test_threads.py::test_a_child_starts_threads_of_its_own": "the emulator starts no threads after a fork of several",
    "test_memory.py::test_what_is_kept_goes_back_before_memory_runs_out": "the emulator's own memory counts, too",
}
"""Tests -> why the emulator cannot run them."""


@pytest.fixture(scope="module")
def machine() -> Machine:
    try:
        return prepare()
    except MachineError as reason:
        pytest.skip(f"no emulated ARM: {reason}")


@pytest.fixture(scope="module")
def installed(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of tt with kernels for the processor."""
    yield machine.install(tmp_path_factory.mktemp("arm"))


@pytest.mark.parametrize(
    ("program", "package"), [(COMPILER, "gcc-aarch64-linux-gnu"), (EMULATOR, "qemu-user")]
)
def test_what_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, package: str
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == program else name)
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(MachineError, match=rf"{program} is not installed \(Debian: .*{package}"):
        prepare(tmp_path / "arm")
    assert not (tmp_path / "arm").exists()


@pytest.mark.sweep
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.rpartition("._")[2])
def test_a_source_compiles_without_a_warning(machine: Machine, module: str, tmp_path: Path) -> None:
    assert machine.compile(module, tmp_path, strict=True).is_file()


@pytest.mark.sweep
def test_the_kernels_are_used_and_compiled_for_the_processor(machine: Machine, installed: Path) -> None:
    program = (
        "import platform, subprocess, sys\n"
        "from tt.backends.cpu.native.loading import load, status\n"
        "print(platform.machine(), status().active, status().level, load('pointwise').__file__)\n"
        "print(subprocess.run([sys.executable, '-c', 'import platform; print(platform.machine())'],"
        " capture_output=True, text=True).stdout)\n"
    )
    done = machine.run(installed, ["-c", program])
    processor, active, level, file, child = done.stdout.split()
    assert (processor, active, level, child) == ("aarch64", "True", "baseline", "aarch64"), done.stderr
    assert Path(file).parent == installed / "tt" / "backends" / "cpu" / "native"
    assert file.endswith("aarch64-linux-gnu.so")


@pytest.mark.sweep
@pytest.mark.parametrize("file", FILES)
def test_the_tests_of_kernels_pass(machine: Machine, installed: Path, file: str) -> None:
    left_out = [word for name in NOT_EMULATED for word in ("--deselect", f"{HERE.relative_to(ROOT)}/{name}")]
    done = machine.run(installed, ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfE", *left_out, file])
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert re.search(r"^\d+ passed", done.stdout, re.MULTILINE)


@pytest.mark.sweep
def test_operators_give_the_results_that_the_checks_expect(machine: Machine, installed: Path) -> None:
    words = ["-m", "tt.cli.main", "ops", "check", "--backend", "cpu", "--run"]
    checks = [word for check in ("runs", "inplace", "out") for word in ("--checks", check)]
    done = machine.run(installed, [*words, *checks])
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
