"""Compiles the native kernels: for the build hook of the project, and in place for developers (`make native`).

The build hook loads this module by its path, so it imports nothing of tt.  A family is compiled once for each
instruction set, as an extension of its own: src/pointwise.c becomes `_pointwise_baseline`, `_pointwise_avx2` and
`_pointwise_avx512`, and `loading` takes one of them.  Each extension is compiled again only when a file that it is made
of, or its flags, have changed; `_native.json` in the root of the package records what was compiled from what.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import platform
import re
import sys
from collections.abc import Iterable, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import source_hash
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from pathlib import Path

__all__ = [
    "FAMILY_LEVELS", "FLAGS", "LEVELS", "LEVEL_FLAGS", "RECORD", "NotBuiltError", "build_in_place", "compile_native",
    "digest", "family_of", "flags_of", "level_of", "library_of", "main", "native_modules", "read_record", "source_of",
    "withdraw", "write_record",
]  # fmt: skip

RECORD: Final = "_native.json"
"""Name of the record in the root of the package."""

LEVELS: Final = ("baseline", "avx2", "avx512")
"""The instruction sets, lowest first: x86-64 (or any other processor), x86-64-v3, x86-64-v4."""

FAMILY_LEVELS: Final[Mapping[str, tuple[str, ...]]] = {
    "threads": (), "memory": (), "checksums": (),  # one for the process, whatever the kernels are compiled for
    # Sorting, adding at places, weighted sums of rows, joining and alignments wait for memory or for branches.
    "sorting": ("baseline",), "scattering": ("baseline",), "resampling": ("baseline",), "shaping": ("baseline",),
    "ctc": ("baseline",),
    # With AVX-512 they are as fast as with AVX2; a cumulative sum down the rows is slower, by its scattered stores.
    "scan": ("baseline", "avx2"), "pooling": ("baseline", "avx2"), "optimizer": ("baseline", "avx2"),
    "decomposition": ("baseline", "avx2"),
}  # fmt: skip
"""The families that are compiled for fewer instruction sets than all, or for none in particular, because no more speed
can be measured.  `loading` takes the highest level that is not above the one wanted."""

X86: Final = ("x86_64", "AMD64")

FLAGS: Final = (
    "-std=gnu11", "-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-fpeel-loops", "-funswitch-loops", "-g0",
    "-fno-math-errno", "-fno-trapping-math", "-fno-semantic-interposition", "-ffp-contract=fast",
    "-fvisibility=hidden", "-pthread", "-Wall", "-Wextra", "-Wno-unused-function", "-Wno-unused-parameter",
    "-Wno-unknown-attributes", "-Wno-psabi",
)  # fmt: skip
"""-O2 with the loop options of -O3, all of which take twice as long.  No -ffast-math: NaN, infinities, signed zeros and
denormal numbers keep their meaning."""

LEVEL_FLAGS: Final[Mapping[str, tuple[str, ...]]] = {
    "baseline": (),
    "avx2": ("-march=x86-64-v3",),
    "avx512": ("-march=x86-64-v4",),
}

WIDE_VECTORS: Final = frozenset({"activation", "pointwise", "recurrent", "reparametrization"})
"""The families of long polynomials, whose steps wait for each other: with twice the elements in flight they are up
to a third faster.  For AVX-512 compilers prefer 256 bits, and for all that moves data
they are right: transposing a matrix takes half as long again with 512."""

SOURCES: Final = "src"
"""The folder of the sources and of the templates (.inc) that they include."""

HEADERS: Final = "include"
"""The folder of the headers, next to the folder of the sources; extensions lie in the folder that holds both."""

INCLUDED: Final = re.compile(
    rb'#[ \t]*include[ \t]+"([^"]+)"'
)  # a search for `#` is faster than one for lines


NEEDED: Final = 32 << 20
"""Bytes: more than the compiler writes for an extension, its temporary files included."""


class NotBuiltError(Exception):
    """Why the native kernels were not compiled, in one line."""


# --- extensions and their sources ---


def native_modules(root: Path, paths: Iterable[str], machine: str = platform.machine()) -> dict[str, Path]:
    """Map the import names of the extensions to their sources: src/pointwise.c becomes `_pointwise_avx2` and others.

    Parameters
    ----------
    root : Path
        The root of the repository.
    paths : iterable of str
        `native-modules` of pyproject.toml.
    machine : str
        The processor, as `platform.machine` names it.  Only x86-64 has levels above the baseline.
    """
    levels = LEVELS if machine in X86 and sys.platform != "win32" else LEVELS[:1]
    modules: dict[str, Path] = {}
    for source in [root / path for path in paths]:
        if not source.is_file():
            continue
        prefix = ".".join(["tt", *source.relative_to(root).parent.parent.parts, f"_{source.stem}"])
        own = FAMILY_LEVELS.get(source.stem, LEVELS)
        names = [f"{prefix}_{level}" for level in own if level in levels] if own else [prefix]
        modules |= dict.fromkeys(names, source)
    return modules


def level_of(module: str) -> str:
    """Return the instruction set that an extension is compiled for, or "" if there is one extension for all.

    Examples
    --------
    >>> from tt.backends.cpu.native.build import level_of
    >>> level_of("tt.backends.cpu.native._pointwise_avx2"), level_of("tt.backends.cpu.native._threads")
    ('avx2', '')
    """
    ending = module.rpartition("_")[2]
    return ending if ending in LEVELS else ""


def family_of(module: str) -> str:
    """Return the family of an extension."""
    name = module.rpartition("._")[2]
    return name.removesuffix(f"_{level_of(module)}") if level_of(module) else name


def include_folders(source: Path) -> list[Path]:
    """Return the include folders of a source: templates lie with sources, headers apart."""
    return [source.parent, source.parent.with_name(HEADERS)]


def included_names(content: bytes) -> list[str]:
    """Return the names that a file includes, in its order."""
    found = INCLUDED.finditer(content)
    return [m[1].decode() for m in found if not content[: m.start()].rpartition(b"\n")[2].strip()]


class Files:
    """The sources and headers that were read.  Extensions share most of them, and every process checks all."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[bytes, list[str]] | None] = {}
        self._digests: dict[str, bytes] = {}
        self._places: dict[tuple[str, str], str | None] = {}

    def read(self, path: str) -> tuple[bytes, list[str]] | None:
        """Return the content of a file and the names that it includes, or None if the file does not exist."""
        if path not in self._read:
            self._read[path] = None
            with contextlib.suppress(OSError), open(path, "rb", buffering=0) as file:
                content = file.readall()
                self._read[path] = (content, included_names(content))
        return self._read[path]

    def made_of(self, source: str) -> list[str]:
        """Return a source and all templates and headers that it includes, directly or indirectly."""
        folder = os.path.dirname(source)
        found, open_files = {source: None}, [source]
        while open_files:
            file = self.read(open_files.pop())
            for name in () if file is None else file[1]:
                included = self._included(folder, name)
                if included is not None and included not in found:
                    found[included] = None
                    open_files.append(included)
        del found[source]
        return [source, *sorted(found, key=lambda path: path.split(os.sep))]

    def _included(self, folder: str, name: str) -> str | None:
        """Return the file that a source in a folder includes by a name; None for one of the system."""
        if (folder, name) not in self._places:
            # Templates lie with sources, headers apart.
            headers = os.path.join(os.path.dirname(folder), HEADERS)
            places = (os.path.join(folder, name), os.path.join(headers, name))
            found = next((place for place in places if self.read(place) is not None), None)
            self._places[folder, name] = found
        return self._places[folder, name]

    def digest(self, source: str) -> bytes:
        """Return a digest of a source and all that it includes."""
        if source not in self._digests:
            files = [self.read(path) for path in self.made_of(source)]
            self._digests[source] = source_hash(b"\0".join(file[0] for file in files if file is not None))
        return self._digests[source]


def made_of(source: Path) -> list[Path]:
    """Return a source and all templates and headers that it includes, directly or indirectly."""
    return [type(source)(path) for path in Files().made_of(str(source))]


def flags_of(module: str) -> list[str]:
    """Return the compiler's flags for an extension."""
    if sys.platform == "win32":
        return []
    level = level_of(module)
    flags = [*FLAGS, *LEVEL_FLAGS.get(level, ())]
    if level:
        flags.append(f"-DTT_LEVEL={level}")
    if level == "baseline" and level_has_better(module):
        flags.append("-O1")
    if level == "avx512" and family_of(module) in WIDE_VECTORS:
        flags.append("-mprefer-vector-width=512")
    return flags


def level_has_better(module: str) -> bool:
    """Return whether few processors run this extension, since the family has one for AVX2, too."""
    return platform.machine() in X86 and "avx2" in FAMILY_LEVELS.get(family_of(module), LEVELS)


def digest(module: str, source: Path | str, files: Files | None = None) -> str:
    """Return a digest of all that an extension is made of, its flags included; `files` keeps what was read."""
    content = (Files() if files is None else files).digest(str(source))
    return source_hash(content + " ".join(flags_of(module)).encode()).hex()


def source_of(module: str, package: Path) -> Path:
    """Return where the source of an extension lies under the root of the package."""
    return package.joinpath(*module.split(".")[1:-1], SOURCES, f"{family_of(module)}.c")


def library_of(module: str, package: Path) -> Path:
    """Return where the library of an extension lies under the root of the package."""
    *folders, name = module.split(".")[1:]
    return package.joinpath(*folders, name + EXTENSION_SUFFIXES[0])


# --- the record ---


def read_record(package: Path | str) -> dict[str, Any]:
    """Return the record of the last build; an empty one if there is none that can be read."""
    try:
        with open(os.path.join(package, RECORD), encoding="utf-8") as file:
            record: dict[str, Any] = json.load(file)
    except (OSError, ValueError):
        return {}
    return record


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write the record in one step, so that no process reads half of it."""
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


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
        raise NotBuiltError("no native kernels are listed")
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
    # Imported here: every process that looks at the record would wait for it.
    from concurrent.futures import ThreadPoolExecutor, wait

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
    import tempfile  # here and below: every process that looks at the record would wait for it

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

    flags, folders = flags_of(name), [str(folder) for folder in include_folders(source)]
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


# --- in place ---


def build_in_place(
    root: Path, package: Path, modules: Mapping[str, Path], say: Any = None, pool: Executor | None = None
) -> str:
    """Compile the extensions whose sources have changed, above the sources' folder; return a line that reports it."""
    record = read_record(package)
    modules = without(modules, record.get("refused", ()))
    before = record.get("modules", {}) if record.get("suffix") == EXTENSION_SUFFIXES[0] else {}
    files = Files()
    current = {
        name for name, source in modules.items()
        if before.get(name) == digest(name, source, files) and library_of(name, package).is_file()
    }  # fmt: skip
    wanted = {name: source for name, source in modules.items() if name not in current}
    if not wanted and before.keys() == modules.keys():
        return f"native kernels: {len(modules)} extensions are current"
    new: dict[str, Any] = {}
    if wanted:
        import shutil
        import tempfile
        from pathlib import Path

        with tempfile.TemporaryDirectory(prefix="tt-native-") as scratch:
            libraries, new = compile_native(wanted, Path(scratch), say=say, pool=pool)
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
        wanted = without(wanted, new["refused"])
    digests = {name: new["modules"][name] if name in wanted else before[name] for name in modules}
    facts = new or {key: record[key] for key in ("numpy", "suffix", "refused")}
    write_record(package / RECORD, {**facts, "modules": digests})
    sweep(package, modules)
    return f"native kernels: compiled {len(wanted)} of {len(modules)} extensions"


def sweep(package: Path, modules: Mapping[str, Path]) -> None:
    """Remove the libraries of an earlier list of families or levels."""
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
    from pathlib import Path

    folder = Path(__file__)
    package, root = folder.absolute().parents[3], folder.resolve().parents[3]
    project = root / "pyproject.toml"
    if not project.is_file():
        sys.stderr.write("native kernels are compiled in a checkout of the project, which this is not\n")
        return 2
    import tomllib

    with project.open("rb") as file:
        options = tomllib.load(file)["tool"]["hatch"]["build"]["hooks"]["custom"]
    modules = native_modules(root, options["native-modules"])
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
