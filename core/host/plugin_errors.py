"""The errors for names and plugins that cannot be used, and the reason in each case."""

from __future__ import annotations

from collections.abc import Iterable

from tt.core.errors import PluginError, PluginFailedError, PluginMissingError, UnknownNameError
from tt.core.host.manifest import Declares
from tt.core.host.plugin import KNOWN_PLUGINS, Plugin, first_line
from tt.core.types.device import NAMED_DEVICES

__all__ = ["cannot_prefer", "failed_to_load", "refuse_known", "unknown_name"]


def refuse_known(kind: Declares, name: str, plugins: Iterable[Plugin]) -> None:
    """Raise when tt can name the plugin that would provide an undeclared name.

    Raises
    ------
    PluginError, PluginFailedError, PluginMissingError
        When that plugin is blocked, failed, or not installed.
    """
    known = KNOWN_PLUGINS.get((kind, name))
    if known is None:
        return
    for plugin in plugins:
        if plugin.name == known.plugin and plugin.state == "blocked":
            raise PluginError(
                f"the {kind} {name!r} is brought by the {plugin}, which is blocked: {plugin.reason}\n"
                "  see: tt plugins list"
            )
        if plugin.name == known.plugin and plugin.failed:
            raise failed_to_load(kind, name, plugin)
    raise PluginMissingError(
        "",
        f"the {kind} {name!r} is brought by the plugin {known.plugin!r}, which is not installed",
        hint=f"pip install {known.install}",
        see="tt plugins list",
    )


def unknown_name(
    kind: Declares, name: str, candidates: Iterable[str], plugins: Iterable[Plugin]
) -> UnknownNameError:
    """Return the error for an undeclared name, with the plugins that could not be read."""
    aside = [
        f"{p.name} ({p.state}: {first_line(p.reason)})" for p in plugins if p.state in ("failed", "blocked")
    ]
    note = f"plugins that could not be read: {', '.join(aside)}; see: tt plugins list" if aside else ""
    if kind == "device" and name in NAMED_DEVICES:
        absent = (
            f"{name} is a device type of PyTorch that no installed plugin brings; docs/backends.md adds one"
        )
        note = f"{absent}\n  {note}" if note else absent
    return UnknownNameError(kind, name, candidates, note=note)


def failed_to_load(kind: Declares, name: str, plugin: Plugin) -> PluginFailedError:
    """Return the error for a name whose plugin failed."""
    return _failed(plugin, f"the {kind} {name!r} is brought by the {plugin}, which failed to load")


def cannot_prefer(plugin: Plugin) -> PluginFailedError:
    """Return the error for a preferred plugin that failed."""
    return _failed(plugin, f"the {plugin} cannot be preferred: it failed to load")


def _failed(plugin: Plugin, headline: str) -> PluginFailedError:
    error = PluginFailedError(
        "", headline, tried=[first_line(plugin.reason)], see="tt plugins list --activate"
    )
    error.add_note(plugin.traceback)
    return error
