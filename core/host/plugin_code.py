"""Running the code of plugins: its changes of the process are undone, its registrations noted as its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tt.core.errors import PluginError
from tt.core.host.plugin import Plugin
from tt.core.types.carried import Carried

if TYPE_CHECKING:
    from tt.core.dispatch.registry.plugin_registry import PluginRegistry

__all__ = ["PLUGIN_CODE", "PluginCode"]


class PluginCode(Carried):
    """The plugin whose code each thread is running."""

    def __init__(self) -> None:
        self._running: list[tuple[Plugin, PluginRegistry | None]] = []

    @contextmanager
    def of(self, plugin: Plugin, registry: PluginRegistry | None = None) -> Iterator[None]:
        """Run code of a plugin.

        Parameters
        ----------
        plugin : Plugin
            tt's own are trusted; what those of others change of the process is put back and noted.
        registry : PluginRegistry, optional
            The registry that it may use; None: it may not register now.
        """
        self._running.append((plugin, registry))
        try:
            # tt's own plugins are part of this program: looking at all settings around them would cost each start.
            if plugin.own:
                yield
            else:
                from tt.core.host.isolation import isolated  # start-up: for plugins of others only

                with isolated(plugin.undone):
                    yield
        finally:
            self._running.pop()

    def current_registry(self) -> PluginRegistry | None:
        """Return the registry of the plugin that is registering just now in this thread, or None.

        A module that registers when it is imported (`custom_op` does) belongs to the plugin that imports it.

        Raises
        ------
        PluginError
            While the manifest of a plugin is read, or it is asked for something other than to register.
        """
        if not self._running:
            return None
        plugin, registry = self._running[-1]
        if registry is None:
            raise PluginError(
                f"the {plugin} registers when it is not asked to; hand tables over in tt_register"
            )
        return registry


PLUGIN_CODE: Final = PluginCode()
"""That of this process, whichever host runs the plugins."""
