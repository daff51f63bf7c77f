"""Pages of documentation: one of Markdown for each operator, written from the schema and the registrations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tt.cli.pages.operator_page import GENERATED, file_of, markdown_text, page, table, title_of
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.host import host
from tt.testing.coverage import places

if TYPE_CHECKING:
    from tt.core.schema.model import OpDefinition
    from tt.testing.coverage import Place

__all__ = ["own_places", "pages", "write"]

INDEX = "README.md"
INTERNAL = "internal.md"
# The headings of the index, by namespace.
NAMESPACES = {
    "": "Functions and methods",
    "fft": "Fourier transforms",
    "linalg": "Linear algebra",
    "nn.functional": "Neural networks",
    "special": "Special functions",
}


def pages(namespace: str = "tt") -> dict[str, str]:
    """Return the pages of a namespace's operators by their file names, with an index.

    Examples
    --------
    >>> from tt.cli.pages.pages import pages
    >>> print(pages()["exp.md"].splitlines()[2])
    # tt.exp
    """
    host.activate_all()
    groups: dict[str, list[OpDefinition]] = {}
    for definition in REGISTRY.definitions():
        if definition.signature.namespace == namespace:
            groups.setdefault(title_of(definition), []).append(definition)
    if not groups:
        return {}
    shown = (
        own_places()
        if namespace == "tt"
        else [position for position in places() if position.device != "meta"]
    )
    result = {file_of(title): page(title, group, shown) for title, group in groups.items()}
    internal = {title: group for title, group in groups.items() if _is_internal(group)}
    public = {title: group for title, group in groups.items() if title not in internal}
    result[INDEX] = index(namespace, public or internal, len(internal) if public else 0)
    if public and internal:
        result[INTERNAL] = internal_index(internal)
    return result


def own_places() -> list[Place]:
    """Return the backends that tt itself brings: what else happens to be installed does not change its pages."""
    sources = REGISTRY.backend_sources
    own = [p for p in places() if sources[p.device, p.layout].distribution == "tt-tensor"]
    return [position for position in own if position.device != "meta"]


# --- the index -------------------------------------------------------------------------------------------------


def _is_internal(group: list[OpDefinition]) -> bool:
    """Return whether an operator is for other operators only, or has a name that says so."""
    return all("internal" in d.tags or d.signature.name.startswith("_") for d in group)


def index(namespace: str, groups: Mapping[str, list[OpDefinition]], internal: int) -> str:
    """Return the page that lists the operators for users, by namespace and name."""
    parts = [GENERATED, "# Operators" if namespace == "tt" else f"# Operators of {namespace}"]
    overloads = sum(map(len, groups.values()))
    parts += [f"{len(groups)} operators in {overloads} overloads; each has a page."]
    chapters: dict[str, list[str]] = {}
    for title in groups:
        module = groups[title][0].module
        chapters.setdefault(NAMESPACES.get(module, module), []).append(title)
    order = [*NAMESPACES.values(), *chapters]
    for heading in sorted(chapters, key=order.index):
        parts += [f"## {heading}", _table_of({title: groups[title] for title in chapters[heading]})]
    if internal:
        parts += [f"Another {internal} are [called by other operators]({INTERNAL}) only."]
    return "\n\n".join(parts) + "\n"


def internal_index(groups: Mapping[str, list[OpDefinition]]) -> str:
    """Return the page that lists the operators that only others call."""
    about = "Operators call these, and authors of backends may give them kernels. Programs do not need them."
    return "\n\n".join([GENERATED, "# Operators that others call", about, _table_of(groups)]) + "\n"


def _table_of(groups: Mapping[str, list[OpDefinition]]) -> str:
    rows = [
        (f"[{markdown_text(title)}]({file_of(title)})", markdown_text(" ".join(groups[title][0].doc.split())))
        for title in sorted(groups, key=str.lower)
    ]
    return table(["operator", "what it does"], rows)


# --- files -----------------------------------------------------------------------------------------------------


def write(folder: Path, wanted: Mapping[str, str]) -> list[str]:
    """Bring a folder up to date and return the names of the files that changed.

    Files that were generated for operators that are gone are removed; others are left alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    here = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    changed = []
    for name in sorted({*here, *wanted}):
        path = folder / name
        if here.get(name) == wanted.get(name):
            continue
        if name in wanted:
            path.write_text(wanted[name], encoding="utf-8")
        elif here[name].startswith(GENERATED):
            path.unlink()
        else:
            continue
        changed.append(name)
    return changed
