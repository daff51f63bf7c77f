"""The names in docstrings as links: to tt's own pages, and to those of Python and NumPy."""

from __future__ import annotations

import builtins
import collections.abc
import functools
import typing
import zlib
from pathlib import Path
from typing import Any, Final

from reference import entries, operator_pages

__all__ = ["inventories", "prepare", "resolve"]

_PYTHON: Final = {
    "functions": [n for n, v in vars(builtins).items() if callable(v) and not n.startswith("_")],
    "exceptions": [
        n for n, v in vars(builtins).items() if isinstance(v, type) and issubclass(v, BaseException)
    ],
    "stdtypes": [
        "str",
        "list",
        "dict",
        "tuple",
        "set",
        "frozenset",
        "bytes",
        "bytearray",
        "memoryview",
        "range",
    ],
    "typing": [f"typing.{name}" for name in typing.__all__],
    "collections.abc": [f"collections.abc.{name}" for name in collections.abc.__all__],
    "pathlib": ["pathlib.Path"],
    "fractions": ["fractions.Fraction"],
    "datetime": ["datetime.timedelta"],
}
_NUMPY: Final = ("ndarray", "dtype", "generic", "random.Generator")


def inventories(folder: Path) -> dict[str, tuple[str, str]]:
    """Write inventories of the names of Python and NumPy that docstrings use, and return them for intersphinx.

    The projects' own would be fetched at each build, which then fails where the network is absent or slow; as files
    they are far larger than what is linked, and not ours to copy.
    """
    python = {name: f"library/{page}.html#{name}" for page, names in _PYTHON.items() for name in names}
    numpy = {f"numpy.{name}": f"reference/generated/numpy.{name}.html" for name in _NUMPY}
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for project, address, names in (
        ("python", "https://docs.python.org/3", python),
        ("numpy", "https://numpy.org/doc/stable", numpy),
    ):
        body = "".join(f"{name} py:class 1 {page} -\n" for name, page in sorted(names.items()))
        head = (
            f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
            "# The remainder of this file is compressed using zlib.\n"
        )
        (folder / f"{project}.inv").write_bytes(head.encode() + zlib.compress(body.encode()))
        found[project] = (address, str(folder / f"{project}.inv"))
    return found


_SHORT: Final = {
    **{name: f"typing.{name}" for name in typing.__all__},
    **{name: f"collections.abc.{name}" for name in collections.abc.__all__},
    "Path": "pathlib.Path",
    "ndarray": "numpy.ndarray",
    "array": "numpy.ndarray",
}


def prepare(app: Any, doctree: Any) -> None:
    """Have names looked up as they stand: a `device` or `bool` in a docstring is not an attribute of some class."""
    from sphinx.addnodes import pending_xref

    for node in doctree.findall(pending_xref):
        if node.get("refdomain") == "py":
            node.attributes.pop("refspecific", None)
            if hasattr(builtins, node["reftarget"]):
                node["py:module"] = node["py:class"] = None


def resolve(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Return the link of a name that Sphinx does not find: an operator's, another name's, or a short one's."""
    from sphinx.util.nodes import make_refnode

    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"].removesuffix("()")
    if not hasattr(builtins, target) and (full := _SHORT.get(target)):
        node["reftarget"] = full  # intersphinx, which is asked next, has it
        return None
    for name in (target, f"tt.{target}"):
        if page := operator_pages().get(name):
            return make_refnode(app.builder, node["refdoc"], page, "", content)
        if (entry := entries().get(name)) and entry.page:
            anchor = entry.home if entry.kind != "module" else ""
            return make_refnode(app.builder, node["refdoc"], entry.page, anchor, content)
    if target[:1].isupper() and len(found := _by_short_name().get(target, ())) == 1:
        page, anchor = next(iter(found))
        return make_refnode(app.builder, node["refdoc"], page, anchor, content)
    return None


@functools.cache
def _by_short_name() -> dict[str, set[tuple[str, str]]]:
    """Return the classes by the last part of their names."""
    found: dict[str, set[tuple[str, str]]] = {}
    for entry in entries().values():
        if entry.kind in ("class", "exception"):
            found.setdefault(entry.name.rpartition(".")[2], set()).add((entry.page, entry.home))
    return found
