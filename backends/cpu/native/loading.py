"""Decides whether the native kernels are used, and for which instruction set, and loads them.

They are all used or none: the build leaves a record of the sources from which each library was made, and where one
has changed since or a library is missing, NumPy's kernels serve.  Each source was compiled for several instruction
sets; the highest that this processor has is loaded, or the one that TT_ISA names.  The extension of threads, which
reports the processor, and that of memory, which needs this NumPy, are loaded to decide it; those of kernels when an
operator of theirs is first used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from tt.backends.cpu.cores import default_threads
from tt.backends.cpu.native.extensions import (
    LEVELS,
    RECORD,
    Files,
    digest,
    level_of,
    read_record,
    source_name,
    sources_in,
)  # fmt: skip
from tt.backends.cpu.native.stamps import STAMP, read_stamp, stamp, write_stamp

if TYPE_CHECKING:
    from pathlib import Path

    from tt.core.library import KernelTable

__all__ = [
    "SWITCH",
    "VARIABLE",
    "Levels",
    "NativeStatus",
    "adder",
    "choose",
    "examine",
    "levels",
    "load",
    "status",
]

SWITCH: Final = "TT_NATIVE"
"""The environment variable that switches native kernels off when it is 0."""

VARIABLE: Final = "TT_ISA"
"""The environment variable that names the instruction set of the native kernels: baseline, avx2 or avx512."""

THREADS: Final = "tt.backends.cpu.native._threads"

PACKAGE: Final = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))


class NativeStatus(NamedTuple):
    """Whether the native kernels are in use, why or why not, which extensions there are, and which level is used."""

    active: bool
    reason: str
    modules: tuple[str, ...]
    level: str = ""


class Levels(NamedTuple):
    """Which instruction sets native kernels can run with here.

    Attributes
    ----------
    usable : tuple of str
        Those that this processor has and that were compiled, lowest first: each can be given as TT_ISA.
    missing : dict of str to str
        The others, and why each cannot be used.
    processor : tuple of str
        Those that this processor has; empty where nothing is compiled that could find out.
    compiled : tuple of str
        Those that were compiled.
    """

    usable: tuple[str, ...]
    missing: dict[str, str]
    processor: tuple[str, ...]
    compiled: tuple[str, ...]


def examine(package: Path | str = PACKAGE) -> NativeStatus:
    """Compare the build record with the current files.

    Parameters
    ----------
    package : Path or str
        The root of the package, which holds the record.

    Returns
    -------
    NativeStatus
        Inactive, with the first reason found, unless every library is there and current.
    """
    record = read_record(package)
    if not record:
        problem = "is not readable" if os.path.exists(os.path.join(package, RECORD)) else "is not there"
        return NativeStatus(False, f"the record of native kernels, {RECORD}, {problem}", ())
    digests: dict[str, str] = record["modules"]
    modules = tuple(digests)
    if "reason" in record:
        return NativeStatus(False, record["reason"], modules)
    if os.environ.get(SWITCH) == "0":
        return NativeStatus(False, f"switched off by {SWITCH}=0", modules)
    if record["suffix"] != EXTENSION_SUFFIXES[0]:
        return NativeStatus(False, f"compiled for another Python ({record['suffix']})", modules)
    # As `library_of`, without pathlib, which takes 3 ms to import.
    # The layout of folders is that of the import names, without the leading tt.
    folders = {module: os.path.join(package, *module.split(".")[1:-1]) for module in modules}
    # Of an installation the digests are empty: no edit of its sources is meant to have an effect.
    checked = {module: expected for module, expected in digests.items() if expected}
    checked_folders = sorted({folders[module] for module in checked})
    # Sizes and times of files are compared first; contents are read only where one has changed.
    state = stamp((os.path.join(package, RECORD),), checked_folders) if checked else []
    kept = os.path.join(os.fspath(package), STAMP)
    if checked and state != read_stamp(kept):
        files = Files()
        sources = {folder: sources_in(folder) for folder in checked_folders}
        for module, expected in checked.items():
            name = source_name(module)
            source = sources[folders[module]].get(name)
            if source is None or digest(module, source, files) != expected:
                return NativeStatus(False, f"stale: {name}.c has changed since it was compiled", modules)
        # The sources are as recorded though their times changed, so the next start need not read them.
        write_stamp(kept, state)
    # One listing for each folder is faster than a question for each library.
    libraries = {folder: {*os.listdir(folder)} for folder in {*folders.values()} if os.path.isdir(folder)}
    for module, folder in folders.items():
        if module.rpartition(".")[2] + EXTENSION_SUFFIXES[0] not in libraries.get(folder, ()):
            return NativeStatus(False, f"incomplete: the library of {module} is missing", modules)
    return NativeStatus(True, f"compiled against NumPy {record['numpy']}", modules)


def adder(table: KernelTable, extension: Any) -> Callable[..., None]:
    """Return a function that registers functions of an extension under the names of operators."""

    def add(op: str, function: str, takes: str, **options: Any) -> None:
        table.kernel(op, getattr(extension, function), takes=takes.split(), native=True, **options)

    return add


# --- instruction sets ---


def _up_to(level: str) -> tuple[str, ...]:
    """Return a level and the lower ones; only the lowest for an unknown level."""
    return LEVELS[: LEVELS.index(level) + 1] if level in LEVELS else LEVELS[:1]


def _compiled(modules: tuple[str, ...]) -> tuple[str, ...]:
    """Return the levels of which there are extensions."""
    present = {level_of(module) for module in modules}
    return tuple(level for level in LEVELS if level in present)


def choose(asked: str, processor: tuple[str, ...], compiled: tuple[str, ...]) -> str:
    """Return the level that kernels run with.

    Parameters
    ----------
    asked : str
        The value of TT_ISA; empty for the highest level that works.
    processor, compiled : tuple of str
        The levels that this processor has, and those that were compiled.

    Raises
    ------
    ConfigurationError
        If the requested level cannot be used.

    Examples
    --------
    >>> from tt.backends.cpu.native.loading import choose
    >>> choose("", ("baseline", "avx2"), ("baseline", "avx2", "avx512"))
    'avx2'
    >>> choose("baseline", ("baseline", "avx2"), ("baseline", "avx2", "avx512"))
    'baseline'
    """
    usable = [level for level in LEVELS if level in processor and level in compiled]
    if not asked:
        return usable[-1] if usable else LEVELS[0]
    if asked in usable:
        return asked
    if asked not in LEVELS:
        problem = f"unknown instruction set; known: {', '.join(LEVELS)}"
    elif asked not in processor:
        problem = f"this processor does not have {asked}"
    else:
        problem = f"the native kernels were not compiled for {asked}"
    _refuse(
        asked, problem, f"this processor has: {', '.join(processor) or '(not known)'}",
        f"compiled: {', '.join(compiled) or '(none)'}",
        hint=f"{VARIABLE}={usable[-1]}, or unset {VARIABLE}" if usable else f"unset {VARIABLE}",
    )  # fmt: skip


def _refuse(asked: str, problem: str, *facts: str, hint: str) -> NoReturn:
    from tt.core.library import errors

    lines = "".join(f"\n  {fact}" for fact in facts)
    raise errors.ConfigurationError(f"{VARIABLE}={asked}", problem + lines, hint=hint)


def levels() -> Levels:
    """Return which instruction sets native kernels can run with here, independent of TT_ISA.

    Examples
    --------
    To run a program once with each, and name those that could not run:

    >>> from tt.backends.cpu.native.loading import levels
    >>> found = levels()
    >>> sorted([*found.usable, *found.missing])
    ['avx2', 'avx512', 'baseline']
    """
    status = examine()
    if not status.active:
        return Levels((), dict.fromkeys(LEVELS, status.reason), (), ())
    try:
        processor = _up_to(import_module(THREADS).cpu_level())
    except ImportError as error:
        return Levels((), dict.fromkeys(LEVELS, _unloadable(THREADS, error)), (), ())
    compiled = _compiled(status.modules)
    missing = {
        level: "not compiled" if level not in compiled else "this processor does not have it"
        for level in LEVELS
        if level not in compiled or level not in processor
    }
    return Levels(tuple(level for level in LEVELS if level not in missing), missing, processor, compiled)


def chosen_modules(modules: tuple[str, ...], level: str) -> dict[str, str]:
    """Map the name of each source to its extension for a level: the one of the highest level that is not above it.

    Examples
    --------
    >>> from tt.backends.cpu.native.loading import chosen_modules
    >>> chosen_modules(("tt.n._threads", "tt.n._sorting_baseline", "tt.n._sorting_avx2"), "avx512")
    {'threads': 'tt.n._threads', 'sorting': 'tt.n._sorting_avx2'}
    """
    rank = {"": -1} | {name: number for number, name in enumerate(LEVELS)}
    chosen: dict[str, str] = {}
    # By rising levels, so that the highest that serves is written last.
    for module in sorted(modules, key=lambda module: rank[level_of(module)]):
        if rank[level_of(module)] <= rank[level]:
            chosen[source_name(module)] = module
    return chosen


# --- loading ---


def _unloadable(module: str, error: ImportError) -> str:
    return f"{module} cannot be loaded: {(str(error).splitlines() or [''])[0]}"


def _broken(module: str, error: ImportError) -> NoReturn:
    from tt.core.library import errors

    raise errors.ConfigurationError(
        "native kernels",
        _unloadable(module, error),
        hint=f"install tt again (in a checkout, make native), or {SWITCH}=0, and NumPy serves",
    ) from error


@cache
def _chosen() -> tuple[NativeStatus, dict[str, str]]:
    """Decide whether native kernels are used; return source -> extension, of one level."""
    status, asked = examine(), os.environ.get(VARIABLE, "")
    # A word that names no level is an error in any case, even where no native kernels are there.
    if asked and asked not in LEVELS:
        known = levels()
        choose(asked, known.processor, known.compiled)
    extensions: dict[str, str] = {}
    level = ""
    if status.active:
        module = THREADS
        try:
            level = choose(asked, _up_to(import_module(THREADS).cpu_level()), _compiled(status.modules))
            extensions = chosen_modules(status.modules, level)
            # It needs the NumPy that it was compiled for: whether it loads decides about all.
            if "memory" in extensions:
                module = extensions["memory"]
                import_module(module)
            # Before the first kernel runs, so that the pool never has the wrong size.
            import_module(THREADS).set_num_threads(default_threads())
        except ImportError as error:  # made for another NumPy, or another processor's library
            status = NativeStatus(False, _unloadable(module, error), status.modules)
    if status.active:
        return status._replace(reason=f"{status.reason}, running as {level}", level=level), extensions
    # Asking for a level and getting NumPy would make measurements and tests mean something else.
    if asked and os.environ.get(SWITCH) != "0":
        hint = f"in a checkout, make native; or unset {VARIABLE}, and NumPy serves"
        _refuse(asked, f"the native kernels cannot be used: {status.reason}", hint=hint)
    return status, {}


def load(source: str) -> Any:
    """Return the extension that was compiled from a source, or None where NumPy's kernels serve.

    Raises
    ------
    ConfigurationError
        When its library, unlike those of threads and memory, cannot be loaded.

    Examples
    --------
    >>> from tt.backends.cpu.native.loading import load
    >>> pointwise = load("pointwise")
    >>> pointwise is None or callable(pointwise.exp)
    True
    """
    module = _chosen()[1].get(source)
    if module is None:
        return None
    try:
        return import_module(module)
    except ImportError as error:
        _broken(module, error)


def status() -> NativeStatus:
    """Return whether the native kernels are in use.

    Examples
    --------
    >>> from tt.backends.cpu.native.loading import status
    >>> isinstance(status().active, bool), isinstance(status().reason, str)
    (True, True)
    """
    return _chosen()[0]
