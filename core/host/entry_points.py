"""Entry points of the installed plugins, read without `importlib.metadata`.

`importlib.metadata` imports the standard library's packages for e-mail and archives, which takes longer than importing
everything else that a first tensor needs from it.  This module finds the same entry points in folders; for anything
else (archives on the path, finders of others) `found_in_folders` returns None, and the host uses `importlib.metadata`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tt.core.by_name import module_named, object_named

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "GROUP",
    "FolderDistribution",
    "FolderEntryPoint",
    "found_in_folders",
    "installed",
    "major_version",
]

GROUP: Final = "tt.plugins"
"""The group of entry points; `tt.plugins.v1` says for which major version of the hooks the plugin is."""

VERSIONED: Final = f"{GROUP}.v"

_KINDS = {".dist-info": "METADATA", ".egg-info": "PKG-INFO"}


def installed() -> Iterable[EntryPoint]:
    """Return the entry points of all plugins that are installed, for whichever version."""
    entries: Any = found_in_folders(_of_tt)
    if entries is None:
        from importlib.metadata import distributions  # start-up: 10 ms that most processes do without

        entries = [e for package in distributions() for e in package.entry_points if _of_tt(e.group)]
    # Of two installations of a distribution, the one that comes first on the path is imported.
    first: dict[str, Any] = {}
    for entry in entries:
        # Names of distributions are compared as PEP 503 normalises them.
        words = entry.dist.name.lower().replace("_", "-").replace(".", "-").split("-")
        first.setdefault("-".join(filter(None, words)), entry.dist)
    first_ones = {id(distribution) for distribution in first.values()}
    return [entry for entry in entries if id(entry.dist) in first_ones]


def _of_tt(group: str) -> bool:
    return group == GROUP or major_version(group) is not None


def major_version(group: str) -> str | None:
    """Return the major version of the hooks that a group is for; None if it names none.

    Examples
    --------
    >>> from tt.core.host.entry_points import major_version
    >>> major_version("tt.plugins.v1"), major_version("tt.plugins")
    ('1', None)
    """
    version = group.removeprefix(VERSIONED)
    return version if group.startswith(VERSIONED) and version.isdecimal() else None


class FolderDistribution(NamedTuple):
    """The name and version of an installed package."""

    name: str
    version: str


class FolderEntryPoint(NamedTuple):
    """An entry point, with the attributes of `importlib.metadata.EntryPoint` that the host uses."""

    name: str
    value: str
    group: str
    dist: FolderDistribution

    def load(self) -> Any:
        """Import the module and return it, or the attribute that is named after a colon."""
        # Extras stand in brackets behind the target; nobody uses them.
        target = self.value.partition("[")[0].strip()
        module, separator, attribute = (part.strip() for part in target.partition(":"))
        return object_named(f"{module}:{attribute}") if separator else module_named(module)


def found_in_folders(
    wanted: Callable[[str], Any], path: Iterable[str] | None = None
) -> list[FolderEntryPoint] | None:
    """Return the entry points of some groups, in the order of the path; None where folders do not tell them all.

    Parameters
    ----------
    wanted : callable
        Tells whether a group is of interest.
    path : iterable of str, optional
        The folders; by default `sys.path`.

    Examples
    --------
    >>> from tt.core.host.entry_points import found_in_folders
    >>> found = found_in_folders(lambda group: group == "tt.plugins")
    >>> found is None or "cpu" in [entry.name for entry in found]
    True
    """
    # Another finder may know of distributions that no folder shows.
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return None
    entries: list[FolderEntryPoint] = []
    # Each folder once: a path that occurs twice would bring its plugins twice.
    for folder in dict.fromkeys(sys.path if path is None else path):
        try:
            names = os.listdir(folder or ".")
        except NotADirectoryError:
            return None  # an archive
        except OSError:
            continue
        # An egg has its metadata inside, in another form.
        if folder.lower().endswith(".egg"):
            return None
        for name in names:
            metadata = _KINDS.get(os.path.splitext(name)[1].lower())
            if metadata is not None:
                entries += _entries(os.path.join(folder, name), metadata, wanted)
    return entries


def _entries(folder: str, metadata: str, wanted: Callable[[str], Any]) -> list[FolderEntryPoint]:
    """Return the entry points of a package; none where its files cannot be read."""
    pairs: list[tuple[str, str, str]] = []
    group = ""
    for line in _lines(os.path.join(folder, "entry_points.txt")):
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1]
        elif line and not line.startswith("#") and wanted(group):
            name, _, value = line.partition("=")
            pairs.append((name.strip(), value.strip(), group))
    if not pairs:
        return []
    facts: dict[str, str] = {}
    for line in _lines(os.path.join(folder, metadata)):
        if not line.strip():
            break  # the description follows
        field, _, value = line.partition(":")
        # The first field of a name counts, as in `importlib.metadata`.
        facts.setdefault(field.strip().lower(), value.strip())
    package = FolderDistribution(facts.get("name", ""), facts.get("version", ""))
    return [FolderEntryPoint(*pair, package) for pair in pairs] if package.name else []


def _lines(file: str) -> list[str]:
    # Most packages have no entry points, and an exception for each, or a reader of text, would take twice as long.
    if not os.access(file, os.R_OK):
        return []
    try:
        with open(file, "rb", buffering=0) as content:
            return content.read().decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
