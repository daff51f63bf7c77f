"""Compiles the native kernels: for the build hook of the project, and in place for developers (`make native`).

The build hook loads this module by its path, so it imports nothing of tt.  Each extension is compiled on its own and
again only when a file that it is made of has changed; `_native.json` in the root of the package records what was
compiled from which sources, and `status` compares that with what is there.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import source_hash
from pathlib import Path
from typing import Any, Final

__all__ = [
    "FLAGS", "RECORD", "NotBuiltError", "build_in_place", "compile_native", "digest", "library_of", "main",
    "native_modules", "read_record", "source_of", "withdraw", "write_record",
]  # fmt: skip

RECORD: Final = "_native.json"
"""Name of the record in the root of the package."""

FLAGS: Final = (
    "-std=gnu11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-semantic-interposition", "-ffp-contract=fast",
    "-fvisibility=hidden", "-pthread", "-Wall", "-Wextra", "-Wno-unused-function", "-Wno-unused-parameter",
    "-Wno-unknown-attributes", "-Wno-psabi",
)  # fmt: skip
"""No -ffast-math: NaN, infinities, signed zeros and denormal numbers stay what they are."""

WIDE_VECTORS: Final = frozenset({"_activation", "_pointwise"})
"""The extensions of long polynomials, whose steps wait for each other: with twice the elements in flight they are up
to a third faster.  For AVX-512 compilers prefer 256 bits, and for all that moves data
they are right: transposing a matrix takes half as long again with 512."""

INCLUDED: Final = re.compile(rb'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)


class NotBuiltError(Exception):
    """Why the native kernels were not compiled, in one line."""


# --- what is compiled from what ---


def native_modules(root: Path, paths: Iterable[str]) -> dict[str, Path]:
    """Map the import names of the extensions to their sources: pointwise.c becomes `_pointwise`.

    Parameters
    ----------
    root : Path
        The root of the repository.
    paths : iterable of str
        `native-modules` of pyproject.toml.
    """
    sources = [root / path for path in paths]
    return {
        ".".join(["tt", *source.relative_to(root).parent.parts, f"_{source.stem}"]): source
        for source in sources
        if source.is_file()
    }


def made_of(source: Path) -> list[Path]:
    """Return a source and all files beside it that it includes, also by way of others."""
    found, open_files = [source], [source]
    while open_files:
        file = open_files.pop()
        for name in INCLUDED.findall(file.read_bytes()):
            included = file.parent / name.decode()
            if included.is_file() and included not in found:
                found.append(included)
                open_files.append(included)
    return [source, *sorted(found[1:])]


def digest(source: Path) -> str:
    """Return a digest of all that an extension is made of."""
    return source_hash(b"\0".join(file.read_bytes() for file in made_of(source))).hex()


def source_of(module: str, package: Path) -> Path:
    """Return where the source of an extension lies under the root of the package."""
    *folders, name = module.split(".")[1:]
    return Path(package, *folders, f"{name.removeprefix('_')}.c")


def library_of(module: str, package: Path) -> Path:
    """Return where the library of an extension lies under the root of the package."""
    return source_of(module, package).with_name(module.rpartition(".")[2] + EXTENSION_SUFFIXES[0])


# --- the record ---


def read_record(package: Path) -> dict[str, Any]:
    """Return the record of the last build; an empty one where there is none that can be read."""
    try:
        record: dict[str, Any] = json.loads((package / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write the record at once, so that nobody reads half of it."""
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


# --- compiling ---


def compile_native(
    modules: Mapping[str, Path], into: Path, *, say: Any = None
) -> tuple[dict[str, Path], dict[str, Any]]:
    """Compile extensions, several at a time.

    Parameters
    ----------
    modules : mapping
        Import name -> source.
    into : Path
        A folder for what is made.
    say : callable, optional
        Is given a line for each extension that is done.

    Returns
    -------
    dict, dict
        Import name -> library, and the record.

    Raises
    ------
    NotBuiltError
        When there is nothing to compile, no compiler, or the compiler refuses a source.
    """
    if not modules:
        raise NotBuiltError("there are no native kernels")
    try:
        import numpy as np
        import setuptools  # noqa: F401  # before distutils, which it brings along
    except ImportError as error:
        raise NotBuiltError(f"{error.name} is not installed") from error
    probe = into / "probe.c"
    into.mkdir(parents=True, exist_ok=True)
    probe.write_text("#include <Python.h>\n#include <pthread.h>\nint tt_probe;\n", encoding="utf-8")
    try:
        compile_one("tt_probe", probe, into, np.get_include())
    except Exception as error:  # setuptools raises a dozen kinds
        raise NotBuiltError("no working C compiler with Python's headers was found") from error
    digests = {name: digest(source) for name, source in modules.items()}  # before the compiler reads them

    def build(name: str) -> Path:
        library = compile_one(name, modules[name], into, np.get_include())
        if say is not None:
            say(f"compiled {name}")
        return library

    # The largest first, so that the last ones to finish are short.
    order = sorted(modules, key=lambda name: -sum(file.stat().st_size for file in made_of(modules[name])))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        started = {name: pool.submit(build, name) for name in order}
    libraries = {}
    for name, future in started.items():
        try:
            libraries[name] = future.result()
        except Exception as error:
            first = (str(error).strip().splitlines() or [""])[0]
            raise NotBuiltError(f"compiling {modules[name].name} failed: {first}") from error
    record = {"numpy": np.__version__, "suffix": EXTENSION_SUFFIXES[0], "modules": digests}
    return libraries, record


def compile_one(name: str, source: Path, into: Path, numpy_headers: str) -> Path:
    """Compile one extension."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    flags = [] if sys.platform == "win32" else list(FLAGS)
    if (sys.platform, platform.machine()) == ("linux", "x86_64") and name.rpartition(".")[2] in WIDE_VECTORS:
        flags.append("-mprefer-vector-width=512")
    extension = Extension(
        name,
        [str(source)],
        include_dirs=[numpy_headers],
        depends=[str(file) for file in made_of(source)],
        extra_compile_args=flags,
        extra_link_args=["-pthread"] if flags else [],
    )
    command = build_ext(Distribution({"name": "tt", "ext_modules": [extension]}))
    command.build_lib = str(into / "libraries")
    command.build_temp = str(into / "objects" / name)
    command.force = True
    command.ensure_finalized()
    command.run()
    return Path(command.get_ext_fullpath(name))


# --- in place ---


def build_in_place(root: Path, package: Path, modules: Mapping[str, Path], say: Any = None) -> str:
    """Compile the extensions whose sources have changed, beside their sources; return what was done in a line."""
    record = read_record(package)
    before = record.get("modules", {}) if record.get("suffix") == EXTENSION_SUFFIXES[0] else {}
    current = {
        name for name, source in modules.items()
        if before.get(name) == digest(source) and library_of(name, package).is_file()
    }  # fmt: skip
    wanted = {name: source for name, source in modules.items() if name not in current}
    if not wanted and before.keys() == modules.keys():
        return f"native kernels: {len(modules)} extensions are current"
    new: dict[str, Any] = {}
    if wanted:
        with tempfile.TemporaryDirectory(prefix="tt-native-") as scratch:
            libraries, new = compile_native(wanted, Path(scratch), say=say)
            for name, library in libraries.items():
                # Replaced at once: a process that has the old one open keeps it.
                partial = library_of(name, package).with_suffix(f".{os.getpid()}.partial")
                shutil.copyfile(library, partial)
                partial.replace(library_of(name, package))
    digests = {name: new["modules"][name] if name in wanted else before[name] for name in modules}
    facts = new or {key: record[key] for key in ("numpy", "suffix")}
    write_record(package / RECORD, {**facts, "modules": digests})
    return f"native kernels: compiled {len(wanted)} of {len(modules)} extensions"


def withdraw(package: Path, modules: Mapping[str, Path], reason: str) -> None:
    """Remove what an earlier build compiled in place; the record goes first, so that no process mixes old and new."""
    write_record(package / RECORD, {"reason": reason, "modules": {}})
    for name in modules:
        library_of(name, package).unlink(missing_ok=True)


def main() -> int:
    """Compile the native kernels of a checkout in place; the command of `make native`."""
    folder = Path(__file__)
    package, root = folder.absolute().parents[3], folder.resolve().parents[3]
    project = root / "pyproject.toml"
    if not project.is_file():
        sys.stderr.write("native kernels are compiled in a checkout of the project, which this is not\n")
        return 2
    with project.open("rb") as file:
        options = tomllib.load(file)["tool"]["hatch"]["build"]["hooks"]["custom"]
    modules = native_modules(root, options["native-modules"])
    quiet = io.StringIO()

    def say(line: str) -> None:
        sys.stderr.write(line + "\n")

    try:
        with contextlib.redirect_stdout(quiet):  # setuptools names each command
            line = build_in_place(root, package, modules, say)
    except NotBuiltError as reason:
        sys.stderr.write(f"native kernels: {reason}\n")
        return 1
    sys.stdout.write(line + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
