"""`tt ops list`: the operators, filtered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tt.cli import output
from tt.cli.options import Json, complete_backend, complete_kind, complete_plugin, complete_tag
from tt.core.errors import UnknownNameError

if TYPE_CHECKING:
    from tt.core.schema.model import OpDefinition
    from tt.testing.coverage import Place

__all__ = ["list_ops"]


def list_ops(
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="Only this kind: pointwise, reduction, view, factory, composite, other.",
            autocompletion=complete_kind,
        ),
    ] = "",
    tag: Annotated[
        str,
        typer.Option(
            metavar="TAG",
            help="Only operators with this tag, for instance data_dependent.",
            autocompletion=complete_tag,
        ),
    ] = "",
    core: Annotated[
        bool, typer.Option("--core", help="Only the set that a new backend must implement.")
    ] = False,
    backend: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Show how this backend serves them: cpu, cuda, cpu/sparse_coo.",
            autocompletion=complete_backend,
        ),
    ] = "",
    plugin: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Only operators for which this plugin brings something.",
            autocompletion=complete_plugin,
        ),
    ] = "",
    missing: Annotated[
        bool, typer.Option("--missing", help="Only those that the backend (default: cpu) does not serve.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the operators, all of them or those that pass every filter."""
    from tt.core.dispatch.registry.registry import REGISTRY
    from tt.core.host import host
    from tt.core.schema.model import KINDS, TAGS

    # Only these need kernels; definitions alone load in a fraction of the time.
    if backend or missing or plugin:
        host.activate_all()
    else:
        host.activate_definitions()
    backend_place = None
    if backend or missing:
        from tt.testing.coverage import parse_place

        backend_place = parse_place(backend or "cpu")
    definitions = list(REGISTRY.definitions())
    if kind:
        definitions = only("kind", kind, definitions, KINDS, lambda d: [d.kind])
    if tag:
        definitions = only("tag", tag, definitions, TAGS, lambda d: d.tags)
    if core:
        definitions = [d for d in definitions if d.core]
    if plugin:
        definitions = of_plugin(plugin, definitions)
    rows = [row(definition, backend_place) for definition in definitions]
    if missing:
        rows = [r for r in rows if r["served_by"] == "missing"]
    if as_json:
        output.as_json(rows)
        return
    columns = [
        "operator",
        "kind",
        "core",
        *(["served by", "computed by", "dtypes"] if backend_place else []),
        "description",
    ]
    output.table(columns, [cells(r, backend_place) for r in rows], empty="no operator passes the filters")


def only(
    what: str,
    wanted: str,
    definitions: list[OpDefinition],
    known: Iterable[str],
    values: Callable[[OpDefinition], Iterable[str]],
) -> list[OpDefinition]:
    """Return the definitions with a value; a value that is not a word of the schema is a user error."""
    if wanted not in known:
        raise UnknownNameError(what, wanted, known)
    return [definition for definition in definitions if wanted in values(definition)]


def of_plugin(plugin: str, definitions: list[OpDefinition]) -> list[OpDefinition]:
    """Return the operators for which a plugin brings a definition, kernels, a composite or a rule of its layer."""
    from tt.core.dispatch.registry.registry import REGISTRY
    from tt.core.host import host
    from tt.testing.coverage import brought_by

    state = next((p for p in host.plugins() if p.name == plugin), None)
    if state is None:
        raise UnknownNameError("plugin", plugin, [p.name for p in host.plugins()])
    names = state.manifest.layers if state.manifest and state.state == "active" else ()
    layers = [layer for layer in map(REGISTRY.layer, names) if not layer.generic]
    return [
        definition
        for definition in definitions
        if brought_by(plugin, definition)
        or any(layer.rule(REGISTRY.operator(definition.name), "functional") for layer in layers)
    ]


def row(definition: OpDefinition, place: Place | None) -> dict[str, Any]:
    """Return the row of an operator."""
    record: dict[str, Any] = {
        "name": definition.name,
        "signature": str(definition.signature),
        "kind": definition.kind,
        "core": definition.core,
        "tags": list(definition.tags),
        "doc": definition.doc,
    }
    if place is not None:
        from tt.testing.coverage import coverage, passed_over

        served = coverage(definition, place)
        record |= {
            "backend": str(place),
            "served_by": served.how,
            "computed_by": list(served.computed_by),
            "dtypes": list(served.dtypes),
            "sources": list(served.sources),
            "passed_over": list(passed_over(definition, place)),
        }
    return record


def cells(found: dict[str, Any], place: Place | None) -> list[str]:
    """Return a row of the table."""
    line = [found["name"], found["kind"], "core" if found["core"] else ""]
    if place is not None:
        from tt.testing.coverage import dtypes_in_words

        line += [found["served_by"], ", ".join(found["computed_by"]), dtypes_in_words(found["dtypes"])]
    return [*line, found["doc"].strip().split("\n")[0]]
