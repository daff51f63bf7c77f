"""Compiles sources into a library, or finds the one that was compiled before."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final

from tt.core.errors import CompileError
from tt.core.extension.cache import Store, digest
from tt.core.extension.compilers import Compiler, Language, find_compiler, messages_in_english
from tt.core.extension.diagnostics import compile_error, disk_error, is_full, link_error, read_output

__all__ = ["INCLUDE", "BuildPlan", "Unit", "build", "include_paths"]

INCLUDE: Final = Path(__file__).parent / "include"
"""The folder of tt/extension.h."""

_FLAGS: Final[Mapping[Language, tuple[str, ...]]] = {
    "c": ("-std=gnu11",),
    "c++": ("-std=gnu++17",),
}
# Results do not depend on the machine: no -march=native, and no fused multiply-add where the source has none.
_COMMON: Final = (
    "-O3", "-fPIC", "-fvisibility=hidden", "-fno-math-errno", "-ffp-contract=off", "-Wall",
    "-fdiagnostics-color=never",
)  # fmt: skip


def include_paths() -> list[str]:
    """Return the folders of the headers of extensions, for other build systems and for editors.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tt.utils.cpp_extension import include_paths
    >>> [(Path(folder) / "tt" / "extension.h").is_file() for folder in include_paths()]
    [True]
    """
    return [str(INCLUDE)]


@dataclass(frozen=True)
class Unit:
    """A text that the compiler is given, which may include files of the user's.

    Attributes
    ----------
    language : str
        c or c++.
    text : str
        The source to compile.
    folder : str
        Where `#include "..."` looks first; "" for a source without a file.
    """

    language: Language
    text: str
    folder: str = ""


@dataclass(frozen=True)
class BuildPlan:
    """Everything that determines the build.

    Attributes
    ----------
    name : str
        The name of the extension.
    units : sequence of Unit
        The sources to compile and link.
    cflags, ldflags, include_paths : sequence of str
        Options of the user's.
    sources : mapping
        Name of a file in messages -> its text.
    names : mapping
        File name for the compiler -> file name for the user.
    declared : sequence of str
        The functions that the sources declare.
    python : bool
        The library is a module of CPython.
    """

    name: str
    units: Sequence[Unit]
    cflags: Sequence[str] = ()
    ldflags: Sequence[str] = ()
    include_paths: Sequence[str] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    declared: Sequence[str] = ()
    python: bool = False

    def key(self, compilers: Mapping[Language, Compiler]) -> str:
        """Return the digest of everything that determines the build."""
        parts = [
            _interface(),
            self.name,
            [[unit.language, unit.text, unit.folder] for unit in self.units],
            [list(self.cflags), list(self.ldflags), list(self.include_paths), *_COMMON, list(_FLAGS.items())],
            [compilers[language].identity() for language in sorted(compilers)],
            # A library of the user's has nothing of Python in it and serves every version.
            sys.implementation.cache_tag if self.python else "",
        ]
        # Half of the digest is enough to tell builds apart, and keeps file names short.
        return digest(json.dumps(parts).encode())[:32]


@lru_cache(maxsize=1)
def _interface() -> str:
    """Return the digest of the headers that generated code depends on."""
    return digest(b"".join(path.read_bytes() for path in sorted(INCLUDE.rglob("*.h"))))


def build(plan: BuildPlan, folder: Path, *, verbose: bool = False) -> Path:
    """Return the library of a plan, compiling it unless the folder has it.

    Parameters
    ----------
    plan : BuildPlan
        What to build.
    folder : Path
        Where libraries are kept.
    verbose : bool
        Print the commands and their output, to standard error.

    Raises
    ------
    NoCompilerError
        If no compiler is found; also for a library in the cache, since its compiler cannot be compared.
    CompileError
        With the compiler's errors at the user's lines, or because the disk is full.
    """
    compilers = {language: find_compiler(language) for language in {unit.language for unit in plan.units}}
    key, store = plan.key(compilers), Store(folder, plan.name)
    cached = store.find(key)
    if cached is not None:
        _say(verbose, f"{plan.name}: {cached} is current")
        return cached
    with store.building():
        cached = store.find(key)  # another process may have built it while this one waited
        if cached is not None:
            return cached
        try:
            with tempfile.TemporaryDirectory(prefix="tt-extension-") as scratch:
                library, dependencies, command = _compile(plan, compilers, Path(scratch), verbose)
                return store.publish(key, library, dependencies, command)
        except OSError as error:
            if not is_full(error):
                raise
            raise disk_error(plan.name, _temporary_folder()) from error


def _compile(
    plan: BuildPlan, compilers: Mapping[Language, Compiler], scratch: Path, verbose: bool
) -> tuple[Path, dict[str, str], list[str]]:
    objects, dependencies = [], {}
    for number, unit in enumerate(plan.units):
        source = scratch / f"unit{number}{'.c' if unit.language == 'c' else '.cpp'}"
        source.write_text(unit.text, encoding="utf-8")
        compiled, listed = source.with_suffix(".o"), source.with_suffix(".d")
        command = [
            *compilers[unit.language].command, *_COMMON, *_FLAGS[unit.language], f"-I{INCLUDE}",
            # -iquote: includes in quotes are looked for beside the user's file, as if it were compiled itself.
            *(["-iquote", unit.folder] if unit.folder else []), *(f"-I{path}" for path in plan.include_paths),
            *plan.cflags, "-MMD", "-MF", str(listed), "-c", str(source), "-o", str(compiled),
        ]  # fmt: skip
        done = _run(command, plan.name, verbose)
        if done.returncode:
            _check_disk(plan.name, done)
            problems = read_output(done.stderr, plan.sources, plan.names)
            raise compile_error(plan.name, done.stderr, problems, command)
        objects.append(str(compiled))
        dependencies.update(_dependencies(listed, scratch))
    library = scratch / "library.so"
    # The C++ linker brings its standard library; it links C, too.
    linker = compilers.get("c++") or compilers["c"]
    command = [*linker.command, "-shared", "-o", str(library), *objects, *_link_flags(plan), *plan.ldflags]
    command += ["-lm"]  # last: linkers search a library for symbols of earlier arguments
    done = _run(command, plan.name, verbose)
    if done.returncode:
        _check_disk(plan.name, done)
        raise link_error(plan.name, done.stderr, plan.declared, command)
    return library, dependencies, command


def _temporary_folder() -> str:
    """Return the folder that compilers use: Python takes another one if nothing can be written there."""
    return os.environ.get("TMPDIR") or tempfile.gettempdir()


def _check_disk(name: str, done: subprocess.CompletedProcess[str]) -> None:
    """Raise if a compiler failed because the disk is full, which it reports as an error of the source."""
    if is_full(done.stderr):
        raise disk_error(name, _temporary_folder(), done.stderr, done.args)


def _link_flags(plan: BuildPlan) -> list[str]:
    """Return the options that make a missing symbol an error now, not when it is called."""
    if sys.platform == "darwin":
        return ["-undefined", "dynamic_lookup"] if plan.python else []
    # A sanitizer's functions are defined by the program that is run under it.
    sanitized = any("-fsanitize" in flag for flag in (*plan.cflags, *plan.ldflags))
    return [] if plan.python or sanitized else ["-Wl,-z,defs"]


def _run(command: list[str], name: str, verbose: bool) -> subprocess.CompletedProcess[str]:
    _say(verbose, f"{name}: {shlex.join(command)}")
    try:
        # In English, since messages are parsed; without input, since a compiler that reads it would wait for ever.
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            env=messages_in_english(),
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        raise CompileError(name, f"the compiler cannot be run: {error}", command=command) from error
    if done.stdout or done.stderr:
        _say(verbose, (done.stdout + done.stderr).rstrip())
    return done


def _dependencies(listed: Path, scratch: Path) -> dict[str, str]:
    """Return the included files, except system headers, with their digests."""
    try:
        text = listed.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return {}
    # Make's rules escape spaces and dollars, and continue lines by a backslash.
    words = re.findall(r"(?:\\.|[^\s\\])+", text.replace("\\\n", " ").partition(":")[2])
    digests = {}
    for word in words:
        path = Path(os.path.abspath(re.sub(r"\\(.)", r"\1", word).replace("$$", "$")))
        # tt's own headers count by `_interface`, and the scratch folder is gone after the build.
        if not path.is_relative_to(scratch) and not path.is_relative_to(INCLUDE):
            digests[str(path)] = digest(path.read_bytes())
    return digests


def _say(verbose: bool, text: str) -> None:
    if verbose:
        sys.stderr.write(text + "\n")
