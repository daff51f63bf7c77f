"""The extensions of the native kernels: their instruction sets, flags, sources and digests, and what was compiled.

Every C file in `src` and in its folders is a source, which no list names.  It is compiled once for each instruction
set, as an extension of its own: pointwise.c becomes `_pointwise_baseline`, `_pointwise_avx2` and `_pointwise_avx512`,
and `loading` takes one of them.  Each extension is compiled again only when a file that it is made of, or its flags,
have changed; `_native.json` in the root of the package records what was compiled from what.

The build hook loads this module by its path, and every process that uses the kernels imports it: it imports nothing of
tt, and nothing that only compiling needs.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import sys
from collections.abc import Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import source_hash
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "FLAGS", "HEADERS", "LEVELS", "LEVEL_FLAGS", "RECORD", "SOURCES", "SOURCE_LEVELS", "Files", "digest", "flags_of",
    "include_folders", "included_names", "level_of", "library_of", "made_of", "native_modules", "read_record",
    "source_name", "sources_in", "write_record",
]  # fmt: skip

RECORD: Final = "_native.json"
"""Name of the record in the root of the package."""

LEVELS: Final = ("baseline", "avx2", "avx512")
"""The instruction sets, lowest first: x86-64 (or any other processor), x86-64-v3, x86-64-v4."""

SOURCE_LEVELS: Final[Mapping[str, tuple[str, ...]]] = {
    "threads": (), "memory": (), "checksums": (),  # one for the process, whatever the kernels are compiled for
    # Sorting, weighted sums of rows, joining and alignments wait for memory or for branches.
    "resampling": ("baseline",), "shaping": ("baseline",), "ctc": ("baseline",),
    # With AVX-512 they are as fast as with AVX2; a cumulative sum down the rows is slower, by its scattered stores.
    "scan": ("baseline", "avx2"), "pooling": ("baseline", "avx2"), "optimizer": ("baseline", "avx2"),
    "cross": ("baseline", "avx2"), "scattering": ("baseline", "avx2"), "sorting": ("baseline", "avx2"),
    # An instruction that some processors with AVX-512 have; the module reports whether this one does.
    "bfloat_products": ("avx512",),
}  # fmt: skip
"""The sources that are compiled for fewer instruction sets than all, or for none in particular, because no more speed
can be measured.  `loading` takes the highest level that is not above the one wanted, if there is one."""

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
"""The sources of long polynomials, whose steps wait for each other: with twice the elements in flight they are up
to a third faster.  For AVX-512 compilers prefer 256 bits, and for all that moves data
they are right: transposing a matrix takes half as long again with 512."""

FOLDER: Final = ("backends", "cpu", "native")
"""The folder of the extensions, below the root of the repository and of the package."""

SOURCES: Final = "src"
"""The folder in it of the sources and of the templates (.inc) that they include, with a folder for each family."""

HEADERS: Final = "include"
"""The folder in it of the headers that families share."""

INCLUDED: Final = rb'#[ \t]*include[ \t]+"([^"]+)"'  # a search for `#` is faster than one for lines


def sources_in(folder: str | Path) -> dict[str, str]:
    """Return the sources of the extensions of a folder: name without ending -> path, in the order of names."""
    paths = [
        os.path.join(parent, file)
        for parent, _, files in os.walk(os.path.join(folder, SOURCES))
        for file in files
        if file.endswith(".c")
    ]
    return {os.path.basename(path)[: -len(".c")]: path for path in sorted(paths, key=os.path.basename)}


def native_modules(root: Path, machine: str = platform.machine()) -> dict[str, Path]:
    """Map the import names of the extensions to their sources: pointwise.c becomes `_pointwise_avx2` and others.

    Parameters
    ----------
    root : Path
        The root of the repository.
    machine : str
        The processor, as `platform.machine` names it.  Only x86-64 has levels above the baseline.
    """
    levels = LEVELS if machine in X86 and sys.platform != "win32" else LEVELS[:1]
    modules: dict[str, Path] = {}
    for name, source in sources_in(root.joinpath(*FOLDER)).items():
        prefix = ".".join(("tt", *FOLDER, f"_{name}"))
        own = SOURCE_LEVELS.get(name, LEVELS)
        names = [f"{prefix}_{level}" for level in own if level in levels] if own else [prefix]
        modules |= dict.fromkeys(names, type(root)(source))
    return modules


def level_of(module: str) -> str:
    """Return the instruction set that an extension is compiled for, or "" if there is one extension for all.

    Examples
    --------
    >>> from tt.backends.cpu.native.extensions import level_of
    >>> level_of("tt.backends.cpu.native._pointwise_avx2"), level_of("tt.backends.cpu.native._threads")
    ('avx2', '')
    """
    ending = module.rpartition("_")[2]
    return ending if ending in LEVELS else ""


def source_name(module: str) -> str:
    """Return the name of the source of an extension, without its ending.

    Examples
    --------
    >>> from tt.backends.cpu.native.extensions import source_name
    >>> source_name("tt.backends.cpu.native._pointwise_avx2")
    'pointwise'
    """
    name = module.rpartition("._")[2]
    return name.removesuffix(f"_{level_of(module)}") if level_of(module) else name


def include_folders(source: str | Path) -> list[str]:
    """Return the include folders of a source: its family's, that of all sources, and that of the headers."""
    own = os.path.dirname(source)
    shared = own if os.path.basename(own) == SOURCES else os.path.dirname(own)
    return [*dict.fromkeys((own, shared)), os.path.join(os.path.dirname(shared), HEADERS)]


def included_names(content: bytes) -> list[str]:
    """Return the names that a file includes, in its order."""
    matches = re.finditer(INCLUDED, content)
    return [m[1].decode() for m in matches if not content[: m.start()].rpartition(b"\n")[2].strip()]


class Files:
    """The sources and headers that were read.  Extensions share most of them, and every process checks all."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[bytes, list[str]] | None] = {}
        self._digests: dict[str, bytes] = {}
        self._included: dict[tuple[str, str, str], str | None] = {}

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
        included, open_files = {source: None}, [source]
        while open_files:
            path = open_files.pop()
            file = self.read(path)
            for name in () if file is None else file[1]:
                match = self._find(source, path, name)
                if match is not None and match not in included:
                    included[match] = None
                    open_files.append(match)
        del included[source]
        # Sorted, so that the digest does not depend on the order in which includes are found.
        return [source, *sorted(included, key=lambda path: path.split(os.sep))]

    def _find(self, source: str, file: str, name: str) -> str | None:
        """Return what a file of an extension includes by a name, as compilers do; None for a header of the system."""
        key = os.path.dirname(source), os.path.dirname(file), name
        if key not in self._included:
            paths = [os.path.join(folder, name) for folder in (key[1], *include_folders(source))]
            self._included[key] = next((path for path in paths if self.read(path) is not None), None)
        return self._included[key]

    def digest(self, source: str) -> bytes:
        """Return a digest of a source and all that it includes."""
        if source not in self._digests:
            files = [self.read(path) for path in self.made_of(source)]
            self._digests[source] = source_hash(b"\0".join(file[0] for file in files if file is not None))
        return self._digests[source]


def made_of(source: Path) -> list[Path]:
    """Return a source and all templates and headers that it includes, directly or indirectly."""
    return [type(source)(path) for path in Files().made_of(str(source))]


def flags_of(module: str, machine: str = platform.machine()) -> list[str]:
    """Return the compiler's flags for an extension, on a processor as `platform.machine` names it."""
    if sys.platform == "win32":
        return []
    level = level_of(module)
    flags = [*FLAGS, *LEVEL_FLAGS.get(level, ())]
    if level:
        flags.append(f"-DTT_LEVEL={level}")
    # Few processors run it, so it is compiled in less time.
    if level == "baseline" and level_has_better(module, machine):
        flags.append("-O1")
    if level == "avx512" and source_name(module) in WIDE_VECTORS:
        flags.append("-mprefer-vector-width=512")
    return flags


def level_has_better(module: str, machine: str) -> bool:
    """Return whether few processors run this extension, since the family has one for AVX2, too."""
    return machine in X86 and "avx2" in SOURCE_LEVELS.get(source_name(module), LEVELS)


def digest(module: str, source: Path | str, files: Files | None = None) -> str:
    """Return a digest of all that an extension is made of, its flags included; `files` keeps what was read."""
    content = (Files() if files is None else files).digest(str(source))
    return source_hash(content + " ".join(flags_of(module)).encode()).hex()


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
