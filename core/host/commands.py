"""Commands of `tt` that plugins bring."""

from __future__ import annotations

from collections.abc import Iterable

from tt.core.errors import PluginConflictError
from tt.core.host.name_owners import Claims
from tt.core.host.plugin import BROKEN, Plugin
from tt.core.host.plugin_code import PLUGIN_CODE
from tt.core.host.preferences import Preferences

__all__ = ["commands_of"]


def commands_of(plugins: Iterable[Plugin], preferences: Preferences) -> dict[str, str | PluginConflictError]:
    """Return name -> "module:attribute", or why no plugin has the name; a plugin whose hook fails is put aside."""
    brought: dict[str, list[tuple[Plugin, str]]] = {}
    for plugin in plugins:
        if plugin.state not in ("loaded", "active"):
            continue
        try:
            # Inside of the plugin's isolation, since the hook is code of the plugin.
            with PLUGIN_CODE.of(plugin):
                commands = dict(plugin.manager.hook.tt_commands() or {})
        except BROKEN as error:
            plugin.fail(error)
        else:
            for name, target in commands.items():
                brought.setdefault(name, []).append((plugin, target))
    owners: dict[str, str | PluginConflictError] = {}
    claims = Claims(lambda: preferences.rules)
    for name, offers in brought.items():
        for plugin, _ in offers:
            claims.add(plugin, [("command", name)])
        # The same rules as for other names: two plugins with one command have none, unless a preference says which.
        owner = claims.owner(("command", name))
        owners[name] = claims.conflict(("command", name)) if owner is None else dict(offers)[owner]
    return owners
