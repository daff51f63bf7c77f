"""`tt plugins show`: all facts about a plugin."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tt.cli import output
from tt.cli.options import Json, complete_plugin
from tt.cli.plugins.facts import KINDS, registered, states
from tt.core.errors import UnknownNameError

__all__ = ["show"]


def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The plugin: cpu, autograd.", autocompletion=complete_plugin)
    ],
    activate: Annotated[
        bool, typer.Option("--activate", help="Let the plugins register first, to see what this one brings.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show a plugin: its declarations and registrations, preferences for it, and names that others declare, too."""
    plugins = states(activate=activate)
    chosen = [plugin | {"registered": registered(name)} for plugin in plugins if plugin["name"] == name]
    if not chosen:
        raise UnknownNameError("plugin", name, [plugin["name"] for plugin in plugins])
    if as_json:
        output.as_json(chosen[0] if len(chosen) == 1 else chosen)
        return
    for number, plugin in enumerate(chosen):
        if number:
            output.text("")
        print_plugin(plugin)


def print_plugin(plugin: dict[str, Any]) -> None:
    """Print the facts about a plugin."""
    manifest = plugin["manifest"] or {}
    values = {
        "plugin": plugin["name"],
        "distribution": f"{plugin['distribution']} {plugin['version']}".rstrip(),
        "state": plugin["state"],
        "reason": plugin["reason"],
        "interface": plugin["api_version"],
        "load time": f"{plugin['load_time'] * 1e3:.3f} ms",
    }
    values |= {kind: ", ".join(manifest.get(kind, ())) for kind in KINDS}
    values |= {
        "members": ", ".join(manifest.get("members", ())),
        "requires": ", ".join(manifest.get("requires", ())),
        "extends": ", ".join(manifest.get("extends", ())),
        "registered": "\n".join(f"{count} {what}" for what, count in plugin["registered"].items()),
        "preferred": "\n".join(plugin["preferred"]),
        "contested": "\n".join(plugin["contested"]),
        "put back": ", ".join(plugin["undone"]),
        "traceback": plugin["traceback"].rstrip(),
    }
    output.fields(values)
