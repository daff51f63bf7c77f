"""Compiles the native kernels: for the build hook of the project, and in place for developers (`make native`).

The build hook loads this module and `extensions` by their paths, without the package tt; so the import of the other is
relative.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .extensions import (
    RECORD,
    Files,
    digest,
    flags_of,
    include_folders,
    level_of,
    library_of,
    made_of,
    native_modules,
    read_record,
    write_record,
)

if TYPE_CHECKING:
    from concurrent.futures import Executor

__all__ = ["NotBuiltError", "build_in_place", "compile_native", "current", "full_disk", "main", "withdraw"]

NEEDED: Final = 32 << 20
"""Bytes: more than the compiler writes for an extension, its temporary files included."""


class NotBuiltError(Exception):
    """Why the native kernels were not compiled, in one line."""


# --- compiling ---


def compile_native(
    modules: Mapping[str, Path], into: Path, *, say: Any = None, pool: Executor | None = None
) -> tuple[dict[str, Path], dict[str, Any]]:
    """Compile extensions, several at a time.

    Parameters
    ----------
    modules : mapping
        Import name -> source.
    into : Path
        A folder for the extensions.
    say : callable, optional
        Is given a line for each extension that is done.
    pool : Executor, optional
        Runs the compiler; without it, as many threads as there are processors.

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
        raise NotBuiltError("there are no sources")
    try:
        import numpy as np
        import setuptools  # noqa: F401  # before distutils, which it brings along
    except ImportError as error:
        raise NotBuiltError(f"{error.name} is not installed") from error
    probe = into / "probe.c"
    try:
        into.mkdir(parents=True, exist_ok=True)
        probe.write_text("#include <Python.h>\n#include <pthread.h>\nint tt_probe;\n", encoding="utf-8")
    except OSError as error:
        raise NotBuiltError(full_disk(into.parent) or str(error)) from error
    refused = []
    # The first probe shows whether there is a compiler at all, the others which flags it knows.
    for level in ["", *sorted({level_of(name) for name in modules} - {"", "baseline"})]:
        try:
            compile_one(f"tt_probe_{level}", probe, into, np.get_include())
        except Exception as error:  # setuptools raises a dozen kinds
            full = full_disk(into)
            if full or not level:
                raise NotBuiltError(
                    full or "no working C compiler with Python's headers was found"
                ) from error
            refused.append(level)
    modules = without(modules, refused)
    files = Files()
    # Before the compiler reads.
    digests = {name: digest(name, source, files) for name, source in modules.items()}

    def build(name: str) -> Path:
        library = compile_one(name, modules[name], into, np.get_include())
        if say is not None:
            say(f"compiled {name}")
        return library

    # The longest first, so that the last ones to finish are short.
    order = sorted(modules, key=lambda name: -expected_work(name, modules[name]))
    own = contextlib.nullcontext(pool) if pool is not None else ThreadPoolExecutor(os.cpu_count())
    with own as threads:
        started = {name: threads.submit(build, name) for name in order}
        # All end before an error is raised: the folder is removed then, and compilers would still write to
        # it.
        wait(started.values())
    libraries = {}
    for name, future in started.items():
        try:
            libraries[name] = future.result()
        except Exception as error:
            first = (str(error).strip().splitlines() or [""])[0]
            reason = full_disk(into) or first
            raise NotBuiltError(f"compiling {modules[name].name} failed: {reason}") from error
    record = {
        "numpy": np.__version__,
        "suffix": EXTENSION_SUFFIXES[0],
        "refused": refused,  # the instruction sets that the compiler does not support
        "modules": digests,
    }
    return libraries, record


def full_disk(*folders: str | Path) -> str:
    """Return which folder's disk is full, as a message, or "" if none is; compilers' temporary folder is one of them.

    Compilers print it to the terminal and remove their output, so only writing as much as they do shows it.
    """
    # Python takes another folder than TMPDIR if nothing can be written there, and compilers do not.
    for folder in (*folders, tempfile.gettempdir(), os.environ.get("TMPDIR", "")):
        try:
            if not os.path.isdir(folder):
                continue
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(bytes(NEEDED))
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                return f"the disk of {folder} is full"
    return ""


def expected_work(module: str, source: Path) -> float:
    """Return a number that grows with how long an extension takes to compile."""
    size = sum(file.stat().st_size for file in made_of(source))
    return size * (0.5 if level_of(module) == "baseline" else 1.0)


def without(modules: Mapping[str, Path], levels: Iterable[str]) -> dict[str, Path]:
    """Return the extensions that are not compiled for any of these instruction sets."""
    left_out = set(levels)
    return {name: source for name, source in modules.items() if level_of(name) not in left_out}


def compile_one(name: str, source: Path, into: Path, numpy_headers: str) -> Path:
    """Compile one extension."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    flags, folders = flags_of(name), include_folders(source)
    if flags:  # not as include_dirs: <memory.h> and <threads.h> are headers of the system, too
        flags += [word for folder in folders for word in ("-iquote", folder)]
    extension = Extension(
        name,
        [str(source)],
        include_dirs=[numpy_headers] if flags else [numpy_headers, *folders],
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
    return type(source)(command.get_ext_fullpath(name))


def current(package: Path, modules: Mapping[str, Path]) -> tuple[dict[str, Path], dict[str, Any]] | None:
    """Return the libraries of a package and their record, if all of them were compiled from these sources."""
    record = read_record(package)
    if not record.get("modules") or record["suffix"] != EXTENSION_SUFFIXES[0]:
        return None
    files, modules = Files(), without(modules, record["refused"])
    libraries = {name: library_of(name, package) for name in modules}
    same = record["modules"] == {name: digest(name, source, files) for name, source in modules.items()}
    return (libraries, record) if same and all(path.is_file() for path in libraries.values()) else None


# --- in place ---


def build_in_place(
    root: Path, package: Path, modules: Mapping[str, Path], say: Any = None, pool: Executor | None = None
) -> str:
    """Compile the extensions whose sources have changed, into their package; return a line that reports it."""
    record = read_record(package)
    modules = without(modules, record.get("refused", ()))
    before = record.get("modules", {}) if record.get("suffix") == EXTENSION_SUFFIXES[0] else {}
    files = Files()
    current = {
        name for name, source in modules.items()
        if before.get(name) == digest(name, source, files) and library_of(name, package).is_file()
    }  # fmt: skip
    outdated = {name: source for name, source in modules.items() if name not in current}
    # A module that is no more leaves a library behind, so the names are compared, too.
    if not outdated and before.keys() == modules.keys():
        return f"native kernels: {len(modules)} extensions are current"
    new: dict[str, Any] = {}
    if outdated:
        with tempfile.TemporaryDirectory(prefix="tt-native-") as scratch:
            libraries, new = compile_native(outdated, Path(scratch), say=say, pool=pool)
            for name, library in libraries.items():
                # Replaced at once: a process that has the old one open keeps it.
                partial = library_of(name, package).with_suffix(f".{os.getpid()}.partial")
                try:
                    shutil.copyfile(library, partial)
                    partial.replace(library_of(name, package))
                except OSError as error:
                    partial.unlink(missing_ok=True)
                    raise NotBuiltError(full_disk(partial.parent) or str(error)) from error
        modules = without(modules, new["refused"])
        outdated = without(outdated, new["refused"])
    digests = {name: new["modules"][name] if name in outdated else before[name] for name in modules}
    facts = new or {key: record[key] for key in ("numpy", "suffix", "refused")}
    write_record(package / RECORD, {**facts, "modules": digests})
    sweep(package, modules)
    return f"native kernels: compiled {len(outdated)} of {len(modules)} extensions"


def sweep(package: Path, modules: Mapping[str, Path]) -> None:
    """Remove the libraries of sources and levels that are no more."""
    kept = {library_of(name, package) for name in modules}
    for folder in {library.parent for library in kept}:
        for library in folder.glob(f"_*{EXTENSION_SUFFIXES[0]}"):
            if library not in kept:
                library.unlink(missing_ok=True)


def withdraw(package: Path, modules: Mapping[str, Path], reason: str) -> None:
    """Remove what an earlier build compiled in place; the record goes first, so that no process mixes old and new."""
    write_record(package / RECORD, {"reason": reason, "modules": {}})
    for folder in {library_of(name, package).parent for name in modules}:
        for library in folder.glob(f"_*{EXTENSION_SUFFIXES[0]}"):
            library.unlink(missing_ok=True)


def main() -> int:
    """Compile the native kernels of a checkout in place; the command of `make native`."""
    folder = Path(__file__)
    package, root = folder.absolute().parents[3], folder.resolve().parents[3]
    if not (root / "pyproject.toml").is_file():
        sys.stderr.write("native kernels are compiled in a checkout of the project, which this is not\n")
        return 2
    modules = native_modules(root)
    quiet = io.StringIO()

    def say(line: str) -> None:
        sys.stderr.write(line + "\n")

    try:
        with contextlib.redirect_stdout(quiet):  # setuptools names each command
            line = build_in_place(root, package, modules, say)
    except (NotBuiltError, OSError) as reason:
        sys.stderr.write(f"native kernels: {reason}\n")
        return 1
    sys.stdout.write(line + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
