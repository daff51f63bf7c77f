"""`tt plugins`: which plugins there are, and what became of them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tt.cli import output
from tt.cli.options import Json, help_if_alone

__all__ = ["app"]

app = typer.Typer()


@app.callback(invoke_without_command=True)
def plugins(context: typer.Context) -> None:
    """The plugins that bring devices, layouts, layers and operators."""
    help_if_alone(context)


@app.command("list")
def list_plugins(
    activate: Annotated[
        bool, typer.Option("--activate", help="Let every plugin register first, to see whether it works.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the installed plugins with their state, and the traceback of those that failed.

    States: found; loaded (its manifest is known, nothing of it is imported yet); active (in use); failed; blocked (by
    TT_PLUGINS or TT_DISABLE_PLUGINS); unavailable (it misses something, for instance a driver).
    """
    found = states(activate=activate)
    if as_json:
        output.as_json(found)
        return
    rows = [
        [
            p["name"],
            p["distribution"],
            p["version"],
            p["state"],
            round(p["load_time"] * 1e3, 3),
            brings(p),
            p["reason"],
        ]
        for p in found
    ]
    output.table(
        ["plugin", "distribution", "version", "state", "load ms", "brings", "reason"],
        [[*row[:-1], str(row[-1]).split("\n")[0]] for row in rows],
        empty="no plugin is installed; tt itself brings some, so its installation is incomplete",
    )
    for plugin in found:
        if plugin["traceback"]:
            output.heading(f"plugin {plugin['name']!r} failed")
            output.text(*plugin["traceback"].rstrip().splitlines())


def states(*, activate: bool = False) -> list[dict[str, Any]]:
    """Return what is known of every plugin as plain data."""
    from tt.core import host

    if activate:
        host.activate_all()
    return [
        {
            "name": plugin.name,
            "distribution": plugin.distribution,
            "version": plugin.version,
            "state": plugin.state,
            "reason": plugin.reason,
            "load_time": plugin.load_time,
            "api_version": plugin.api_version,
            "manifest": plugin.manifest.as_dict() if plugin.manifest is not None else None,
            "traceback": plugin.traceback,
        }
        for plugin in host.plugins()
    ]


def brings(plugin: dict[str, Any]) -> str:
    """Return what a plugin declares, in a few words."""
    manifest = plugin["manifest"]
    if manifest is None:
        return ""
    words = [
        f"{kind.removesuffix('s')} {name}"
        for kind in ("devices", "layouts", "layers", "namespaces")
        for name in manifest[kind]
    ]
    words += [f"kernels for {name}" for name in manifest["extends"]]
    return ", ".join(words)
