"""The modules of a package that each operator needs, so that its first call imports only these.

A family of operators is a place: the folder `operators/<family>` holds its shape rules, composites and samples, and
the other packages have a module or a folder of the same name.  These modules fill a table when they are imported.  The
index of a package is made by importing all of them.  The build puts one into a wheel, in the package's folder.
Elsewhere the first process writes it where Python keeps the package's compiled modules, and later processes read it.

Note [Stale indices]
--------------------
The index of a process holds the time (in nanoseconds) and size of every source in the package and of the snapshot of
ops.yaml, whose operators some families go through.  Where one differs, also by being older, the index is made again.
Where it cannot be written (`PYTHONDONTWRITEBYTECODE`, a folder without permission), every process imports all families.

Where families differ by what else is installed (compiled libraries, say), the caller names a file that tells, and its
time and size count, too.  Where they differ from process to process (by a variable that turns those libraries off), the
caller names the form of this process, and each form has an index of its own: one of a process without the libraries
would hide them from all others.

The index of the build holds sizes only, because installing changes the times.  Where a size differs, somebody has
edited the installed package, and its processes make an index of their own.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from types import ModuleType

from tt.core.by_name import module_named

__all__ = ["OPERATORS", "FamilyIndex", "families", "family_modules"]

OPERATORS = "tt.operators"
"""The package whose folders are the families."""

_KINDS = ("shapes", "samples")
"""What the last word of a module's name says that it holds, in `operators`; all others hold composites."""

_SNAPSHOT = os.path.join(os.path.dirname(__file__), "schema", "_snapshot.py")


@cache
def families() -> tuple[str, ...]:
    """Return the names of the families of operators, which are the folders of `operators`.

    Examples
    --------
    >>> from tt.core.family_index import families
    >>> "reduction" in families()
    True
    """
    with os.scandir(_folder(OPERATORS)) as entries:
        return tuple(sorted(e.name for e in entries if e.name[0] not in "_." and e.is_dir()))


def family_modules(package: str, kind: str = "") -> list[str]:
    """Return the import names of a package's modules of families: `<family>.py`, or those in the folder `<family>`.

    Takes the import name of the package and, for `operators`, the kind of modules (see `FamilyIndex`).

    Examples
    --------
    >>> from tt.core.family_index import family_modules
    >>> "tt.backends.cpu.reduction" in family_modules("tt.backends.cpu")
    True
    """
    names = [name[:-3] for name, _ in _sources(_folder(package), kind)]
    homes = [name.replace("/", ".") for name in names if name.partition("/")[0] in families()]
    # Modules with an underscore hold what families share.
    return [f"{package}.{home}" for home in homes if home.rpartition(".")[2][0] != "_"]


class FamilyIndex:
    """The modules of a package that have something for an operator.

    Parameters
    ----------
    package : str
        The import name of the package.
    operators : callable
        Returns the operators in the tables of a module.
    kind : str
        In `operators`, which modules are meant: "composites", "shapes" (`shapes.py` and `*_shapes.py`) or "samples".
    also : sequence of str
        The paths of further files on which the tables depend.
    form : callable
        Returns the name of the form that the tables have in this process, where processes differ.

    Examples
    --------
    >>> from tt.core.family_index import OPERATORS, FamilyIndex
    >>> index = FamilyIndex(OPERATORS, lambda module: module.composites.functions, "composites")
    >>> index.homes()["fft_fft"]
    ['tt.operators.fft.composites']
    """

    def __init__(
        self,
        package: str,
        operators: Callable[[ModuleType], Iterable[str]],
        kind: str = "",
        also: Sequence[str] = (),
        form: Callable[[], str] = str,
    ) -> None:
        self.package, self.kind, self._operators, self._also = package, kind, operators, also
        self._form = form
        self._homes: Mapping[str, Sequence[str]] | None = None

    @property
    def file(self) -> str:
        """The file of the index of the build, in the folder of the package."""
        return f"_{self.kind or 'families'}.json"

    def modules(self) -> list[str]:
        """Return the import names of the modules."""
        return family_modules(self.package, self.kind)

    def homes(self) -> Mapping[str, Sequence[str]]:
        """Return the import names of the modules that have something for an operator: operator -> modules in order.

        The first call of a process looks for changed sources.
        """
        if self._homes is None:
            self._homes = self._current()
        return self._homes

    def _current(self) -> Mapping[str, Sequence[str]]:
        """Return the index that was stored, if it is of the sources that are there, else a new one."""
        folder = _folder(self.package)
        stamp = self._stamp()
        path = self._path(folder)
        # Without times, which installing a wheel changes; see Note [Stale indices].
        index = _read(os.path.join(folder, self.file), _without_times(stamp)) or _read(path, stamp)
        if index is not None:
            return index
        index = self._made()
        # A source may have changed during the imports: then the index fits neither stamp.
        if not sys.dont_write_bytecode and stamp == self._stamp():
            with suppress(OSError):
                _write(path, _text(stamp, index))
        return index

    def build(self, root: str) -> None:
        """Write the index that a wheel holds, whose files of tt are laid out in the folder `root`."""
        stamp = _without_times(self._stamp())
        path = os.path.join(root, *self.package.split(".")[1:], self.file)
        _write(path, _text(stamp, self._made()))

    def _made(self) -> dict[str, list[str]]:
        """Import all modules, and return the index."""
        index: dict[str, list[str]] = {}
        for module in self.modules():
            for op in self._operators(module_named(module)):
                index.setdefault(op, []).append(module)
        return index

    def _stamp(self) -> list[list[object]]:
        """Return name, size and time of all that determines the index, in a form that JSON gives back."""
        stamp: list[list[object]] = []
        for name, facts in _sources(_folder(self.package), self.kind):
            stamp.append([name, facts.st_size, facts.st_mtime_ns])
        for file in (_SNAPSHOT, *self._also):
            with suppress(OSError):
                facts = os.stat(file)
                stamp.append([os.path.basename(file), facts.st_size, facts.st_mtime_ns])
        if form := self._form():
            stamp.append([form, 0, 0])
        return stamp

    def _path(self, folder: str) -> str:
        """Return the file of the index of a process: next to the compiled modules, for this version of Python."""
        # Independent of -O: the index is the same for all levels.
        compiled = cache_from_source(os.path.join(folder, "__init__.py"), optimization="")
        words = (self.kind or "families", self._form(), sys.implementation.cache_tag or "", "json")
        name = ".".join(word for word in words if word)
        return os.path.join(os.path.dirname(compiled), name)


def _folder(package: str) -> str:
    return module_named(package).__path__[0]


def _sources(folder: str, kind: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield path and facts of the sources of a kind, in a folder and in its folders of families, sorted."""
    known = families()
    with os.scandir(folder) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        if entry.name.endswith(".py"):
            yield entry.name, entry.stat()
        elif entry.name in known:
            with os.scandir(entry.path) as inner:
                for file in sorted(inner, key=lambda entry: entry.name):
                    if file.name.endswith(".py") and (not kind or _kind(file.name) == kind):
                        yield f"{entry.name}/{file.name}", file.stat()


def _kind(name: str) -> str:
    """Return what a module of `operators` holds."""
    return next((kind for kind in _KINDS if name.endswith(f"{kind}.py")), "composites")


def _read(path: str, stamp: list[list[object]]) -> dict[str, list[str]] | None:
    """Return the index in a file; None where there is none, or one with another stamp."""
    try:
        with open(path, encoding="utf-8") as file:
            stored_stamp, index = json.load(file)
    except (OSError, ValueError, TypeError):
        return None
    return index if stored_stamp == stamp and isinstance(index, dict) else None


def _text(stamp: list[list[object]], index: dict[str, list[str]]) -> str:
    return json.dumps([stamp, index], separators=(",", ":"))


def _without_times(stamp: list[list[object]]) -> list[list[object]]:
    return [facts[:2] for facts in stamp]


def _write(path: str, text: str) -> None:
    """Write a file in one step, so that no process reads half of it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    # With the process in the name: two that make the index at once do not write into one file.
    partial = f"{path}.{os.getpid()}.partial"
    try:
        with open(partial, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(partial, path)
    except OSError:
        with suppress(OSError):
            os.unlink(partial)
        raise
