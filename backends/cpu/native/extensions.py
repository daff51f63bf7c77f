"""The extensions of the native kernels: their instruction sets, flags, sources and digests, and what was compiled.

A family is compiled once for each instruction set, as an extension of its own: src/pointwise.c becomes
`_pointwise_baseline`, `_pointwise_avx2` and `_pointwise_avx512`, and `loading` takes one of them.  Each extension is
compiled again only when a file that it is made of, or its flags, have changed; `_native.json` in the root of the
package records what was compiled from what.

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
from collections.abc import Iterable, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import source_hash
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "FAMILY_LEVELS", "FLAGS", "LEVELS", "LEVEL_FLAGS", "RECORD", "SOURCES", "Files", "digest", "family_of", "flags_of",
    "include_folders", "included_names", "level_of", "library_of", "made_of", "native_modules", "read_record",
    "source_of", "write_record",
]  # fmt: skip

RECORD: Final = "_native.json"
"""Name of the record in the root of the package."""

LEVELS: Final = ("baseline", "avx2", "avx512")
"""The instruction sets, lowest first: x86-64 (or any other processor), x86-64-v3, x86-64-v4."""

FAMILY_LEVELS: Final[Mapping[str, tuple[str, ...]]] = {
    "threads": (), "memory": (), "checksums": (),  # one for the process, whatever the kernels are compiled for
    # Sorting, weighted sums of rows, joining and alignments wait for memory or for branches.
    "resampling": ("baseline",), "shaping": ("baseline",), "ctc": ("baseline",),
    # With AVX-512 they are as fast as with AVX2; a cumulative sum down the rows is slower, by its scattered stores.
    "scan": ("baseline", "avx2"), "pooling": ("baseline", "avx2"), "optimizer": ("baseline", "avx2"),
    "cross": ("baseline", "avx2"), "scattering": ("baseline", "avx2"), "sorting": ("baseline", "avx2"),
    # An instruction that some processors with AVX-512 have; the module reports whether this one does.
    "bfloat_products": ("avx512",),
}  # fmt: skip
"""The families that are compiled for fewer instruction sets than all, or for none in particular, because no more speed
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
"""The families of long polynomials, whose steps wait for each other: with twice the elements in flight they are up
to a third faster.  For AVX-512 compilers prefer 256 bits, and for all that moves data
they are right: transposing a matrix takes half as long again with 512."""

SOURCES: Final = "src"
"""The folder of the sources and of the templates (.inc) that they include."""

HEADERS: Final = "include"
"""The folder of the headers, next to the folder of the sources; extensions lie in the folder that holds both."""

INCLUDED: Final = rb'#[ \t]*include[ \t]+"([^"]+)"'  # a search for `#` is faster than one for lines


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
    >>> from tt.backends.cpu.native.extensions import level_of
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
    found = re.finditer(INCLUDED, content)
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


def flags_of(module: str, machine: str = platform.machine()) -> list[str]:
    """Return the compiler's flags for an extension, on a processor as `platform.machine` names it."""
    if sys.platform == "win32":
        return []
    level = level_of(module)
    flags = [*FLAGS, *LEVEL_FLAGS.get(level, ())]
    if level:
        flags.append(f"-DTT_LEVEL={level}")
    if level == "baseline" and level_has_better(module, machine):
        flags.append("-O1")
    if level == "avx512" and family_of(module) in WIDE_VECTORS:
        flags.append("-mprefer-vector-width=512")
    return flags


def level_has_better(module: str, machine: str) -> bool:
    """Return whether few processors run this extension, since the family has one for AVX2, too."""
    return machine in X86 and "avx2" in FAMILY_LEVELS.get(family_of(module), LEVELS)


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
