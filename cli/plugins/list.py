"""`tt plugins list`: which plugins there are, and what became of them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tt.cli import output
from tt.cli.options import Json
from tt.cli.plugins.facts import brings, states

__all__ = ["list_plugins"]


def list_plugins(
    activate: Annotated[
        bool, typer.Option("--activate", help="Let every plugin register first, to see whether it works.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the installed plugins with their state, and the traceback of those that failed.

    States: found; loaded (its manifest was read, its code is not imported yet); active (in use); failed; blocked (by
    TT_PLUGINS or TT_DISABLE_PLUGINS); unavailable (a requirement is missing, for instance a driver).
    """
    plugins = states(activate=activate)
    if as_json:
        output.as_json(plugins)
        return
    rows = [
        [
            p["name"],
            p["distribution"],
            p["version"],
            p["api_version"],
            p["state"],
            round(p["load_time"] * 1e3, 3),
            brings(p),
            p["reason"].split("\n")[0],
        ]
        for p in plugins
    ]
    output.table(
        ["plugin", "distribution", "version", "interface", "state", "load ms", "brings", "reason"],
        rows,
        empty="no plugin is installed; tt itself brings some, so its installation is incomplete",
    )
    for title, key in (
        ("preferences", "preferred"),
        ("names that several plugins declare", "contested"),
        ("what plugins changed of the process while they were loaded; it was put back", "undone"),
    ):
        print_notes(title, key, plugins)
    for plugin in plugins:
        if plugin["traceback"]:
            output.heading(f"plugin {plugin['name']!r} failed")
            output.text(*plugin["traceback"].rstrip().splitlines())


def print_notes(title: str, key: str, found: list[dict[str, Any]]) -> None:
    """Print further information about some plugins below the table."""
    notes = [(plugin["name"], note) for plugin in found for note in plugin[key]]
    if notes:
        output.heading(title)
        output.text(*(f"{name}: {note}" for name, note in notes))
