"""A machine of 64-bit ARM for tests: a cross compiler, an emulator, and a Python of that processor with its packages.

The compiler and the emulator are the distribution's (Debian: gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user).
Everything else goes into build/arm, without root: Python from the distribution's packages for that processor, NumPy and
the rest from wheels, and a copy of tt with kernels from the cross compiler.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import tt
from tt.backends.cpu.native import extensions

__all__ = ["COMPILER", "EMULATOR", "MODULES", "Machine", "MachineError", "prepare"]

ROOT: Final = Path(__file__).resolve().parents[4]
FOLDER: Final = ROOT / "build" / "arm"
COMPILER: Final = "aarch64-linux-gnu-gcc"
EMULATOR: Final = "qemu-aarch64"
PYTHON: Final = ("python3-minimal", "libpython3-stdlib", "libpython3-dev", "libstdc++6")
"""Packages of the distribution; apt adds those that they need."""

WHEELS: Final = (
    "numpy", "scipy", "ml_dtypes", "pluggy", "pyyaml", "typer", "rich", "pytest", "pytest-xdist", "hypothesis",
    "array-api-strict", "jsonschema", "setuptools",
)  # fmt: skip
PINNED: Final = ("numpy", "scipy", "ml_dtypes")

MODULES: Final = extensions.native_modules(ROOT, machine="aarch64")
"""The extensions that are compiled for the processor -> their sources."""

START: Final = """#!/bin/sh
export PYTHONHOME={root}/usr
exec {emulator} -0 "$0" -L {root} {python} "$@"
"""


class MachineError(Exception):
    """Why there is no such machine here, in one line."""


@dataclass(frozen=True)
class Machine:
    """The folders of the emulated machine.

    Attributes
    ----------
    root : Path
        Its file system, with Python and the headers of C and Python.
    packages : Path
        Its packages from wheels.
    start : Path
        A program that runs its Python; the interpreter takes it for its own path, so that it can start others.
    """

    root: Path
    packages: Path
    start: Path

    @property
    def version(self) -> str:
        """The version of its Python, as 3.11."""
        return python_of(self.root).name.removeprefix("python")

    def compile(self, module: str, into: Path, *, strict: bool = False) -> Path:
        """Compile an extension with its own flags; a warning is an error if `strict`.

        Raises
        ------
        MachineError
            With what the compiler says.
        """
        source = MODULES[module]
        headers, version = self.root / "usr" / "include", self.version
        library = (
            into / f"{module.rpartition('.')[2]}.cpython-{version.replace('.', '')}-aarch64-linux-gnu.so"
        )
        command = [
            COMPILER,
            *extensions.flags_of(module, machine="aarch64"),
            *(["-Werror"] if strict else []),
        ]
        command += ["-fPIC", "-shared", "-isystem", f"{headers}/python{version}", "-idirafter", str(headers)]
        command += ["-isystem", f"{self.packages}/numpy/_core/include"]
        command += [word for folder in extensions.include_folders(source) for word in ("-iquote", folder)]
        done = subprocess.run(
            [*command, str(source), "-o", str(library), "-lm"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise MachineError(done.stderr)
        return library

    def install(self, into: Path) -> Path:
        """Copy tt into a folder, and compile the kernels there."""
        package = into / "tt"
        source = Path(tt.__file__).parent
        ignored = shutil.ignore_patterns("*.so", "__pycache__", "_compiled.json", "_native.json", "examples")
        shutil.copytree(source, package, ignore=ignored)
        for module in MODULES:
            library = self.compile(module, into)
            library.replace(package.joinpath(*module.split(".")[1:-1], library.name))
        record = {
            "numpy": metadata.version("numpy"),
            "suffix": f".cpython-{self.version.replace('.', '')}-aarch64-linux-gnu.so",
            "refused": [],
            "modules": dict.fromkeys(MODULES, ""),
        }
        (package / extensions.RECORD).write_text(json.dumps(record), encoding="utf-8")
        about = metadata.distribution("tt-tensor")
        info = into / f"tt_tensor-{about.version}.dist-info"
        info.mkdir()
        for name in ("METADATA", "entry_points.txt"):  # by which tt finds its plugins
            (info / name).write_text(about.read_text(name) or "", encoding="utf-8")
        return into

    def run(
        self, installed: Path, words: Sequence[str], **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run its Python, with tt from a folder and the tests of this checkout."""
        path = os.pathsep.join(map(str, (installed, self.packages, ROOT)))
        compiler = {"CC": COMPILER, "C_INCLUDE_PATH": str(self.root / "usr" / "include")}
        environment = clean(os.environ) | compiler | {"PYTHONPATH": path} | variables
        return subprocess.run(
            [str(self.start), *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without those that change the form of tt."""
    return {
        name: value for name, value in environment.items() if not name.startswith(("TT_", "PYTHON", "COV_"))
    }


def python_of(root: Path) -> Path:
    """Return the interpreter in a file system."""
    found = sorted(root.glob("usr/bin/python3.*[0-9]"))
    if not found:
        raise MachineError(f"{root} has no Python")
    return found[0]


# --- making it -------------------------------------------------------------------------------------------------


def prepare(folder: Path = FOLDER) -> Machine:
    """Return the machine; what is missing of it is fetched.

    Raises
    ------
    MachineError
        If a program is missing, or something cannot be fetched.
    """
    if sys.platform != "linux":
        raise MachineError("emulators of processors for single programs exist on Linux only")
    for program, package in (
        (COMPILER, "gcc-aarch64-linux-gnu, libc6-dev-arm64-cross"),
        (EMULATOR, "qemu-user"),
    ):
        if shutil.which(program) is None:
            raise MachineError(f"{program} is not installed (Debian: {package})")
    complete = folder / "complete"
    machine = Machine(folder / "root", folder / "packages", folder / "python")
    if not complete.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        fetch_python(folder, machine.root)
        fetch_packages(machine)
        text = START.format(root=machine.root, emulator=EMULATOR, python=python_of(machine.root))
        machine.start.write_text(text, encoding="utf-8")
        machine.start.chmod(0o755)
        complete.touch()
    return machine


def fetch_python(folder: Path, root: Path) -> None:
    """Unpack the distribution's Python for the processor, with what it needs, into a folder."""
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise MachineError(
                f"{program} is not installed: Python for ARM is fetched from Debian's packages"
            )
    own = folder / "apt"  # lists and records of its own: nothing is installed
    for name in ("state/lists/partial", "cache/archives/partial"):
        (own / name).mkdir(parents=True)
    (own / "status").touch()
    options = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "Dir::State": own / "state",
        "Dir::State::status": own / "status",
        "Dir::Cache": own / "cache",
        "Debug::NoLocking": "1",
    }
    apt = [
        "apt-get",
        "--quiet",
        *(word for name, value in options.items() for word in ("-o", f"{name}={value}")),
    ]
    run([*apt, "update"])
    run([*apt, "install", "--yes", "--no-install-recommends", "--download-only", *PYTHON])
    for archive in sorted((own / "cache" / "archives").glob("*.deb")):
        run(["dpkg-deb", "--extract", str(archive), str(root)])
    shutil.rmtree(own)


def fetch_packages(machine: Machine) -> None:
    """Unpack wheels for the processor, of the versions of arrays that are installed here."""
    pip = [sys.executable, "-m", "pip"] if importlib.util.find_spec("pip") else [shutil.which("pip") or ""]
    if not pip[0]:
        raise MachineError("pip is not installed")
    wanted = [f"{name}=={metadata.version(name)}" if name in PINNED else name for name in WHEELS]
    systems = ("manylinux2014", "manylinux_2_17", "manylinux_2_27", "manylinux_2_28")
    words = [word for system in systems for word in ("--platform", f"{system}_aarch64")]
    words += ["--python-version", machine.version, "--implementation", "cp", "--only-binary=:all:"]
    words += [
        word for abi in (f"cp{machine.version.replace('.', '')}", "abi3", "none") for word in ("--abi", abi)
    ]
    run([*pip, "install", "--quiet", "--no-compile", "--target", str(machine.packages), *words, *wanted])


def run(command: list[str]) -> None:
    """Run a command; the end of its errors is the reason if it fails."""
    done: Any = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = ([line for line in done.stderr.splitlines() if line.strip()] or [str(done.returncode)])[-1]
        raise MachineError(f"{' '.join(command[:1])} failed: {last}")
