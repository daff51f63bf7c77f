"""The preferences of a host: the rules in force, and what a rule may name."""

from __future__ import annotations

from collections.abc import Iterable

from tt.core.dispatch.registry.preference import OTHERS, SETTING, PreferenceRule
from tt.core.errors import PluginError, UnknownNameError
from tt.core.host.discovery import known_names, named_plugins
from tt.core.host.plugin import Plugin
from tt.core.host.plugin_errors import cannot_prefer
from tt.core.types.state import DispatchState

__all__ = ["Preferences"]


class Preferences:
    """The rules in force, which are a setting of the dispatcher.

    Parameters
    ----------
    state : DispatchState
        The dispatcher's settings.
    """

    def __init__(self, state: DispatchState) -> None:
        self._state = state

    @property
    def rules(self) -> tuple[PreferenceRule, ...]:
        """The rules, the strongest first."""
        found: tuple[PreferenceRule, ...] = self._state.get(SETTING) or ()
        return found

    def replace(self, rules: tuple[PreferenceRule, ...]) -> None:
        """Put other rules into force."""
        self._state.change(SETTING, rules or None)

    def naming(self, plugin: Plugin) -> list[PreferenceRule]:
        """Return the rules that name a plugin."""
        return [rule for rule in self.rules if rule.names(plugin.name, plugin.distribution)]

    @staticmethod
    def check_plugins(rule: PreferenceRule, plugins: Iterable[Plugin]) -> None:
        """Refuse a rule for plugins that are not installed.

        Raises
        ------
        UnknownNameError
            With the nearest name.
        """
        known = known_names(plugins)
        for name in rule.plugins:
            if name not in known and name != OTHERS:
                raise UnknownNameError(
                    "plugin", name, {p.name for p in plugins}, note=f"it is preferred by {rule.origin}"
                )

    @staticmethod
    def check_device(rule: PreferenceRule, devices: Iterable[str]) -> None:
        """Refuse a rule for a device type that nobody brings.

        Raises
        ------
        UnknownNameError
            With the nearest name.
        """
        if rule.device not in (*devices, OTHERS):
            raise UnknownNameError(
                "device", rule.device, devices, note=f"it stands in a preference of {rule.origin}"
            )

    @staticmethod
    def check_usable(rule: PreferenceRule, plugins: Iterable[Plugin]) -> None:
        """Refuse a rule for plugins that cannot be used.

        Raises
        ------
        PluginError, PluginFailedError
            When one is blocked or failed.
        """
        for name in rule.plugins:
            for plugin in named_plugins(plugins, name):
                if plugin.state == "blocked":
                    raise PluginError(f"the {plugin} cannot be preferred: it is blocked: {plugin.reason}")
                if plugin.state == "failed":
                    raise cannot_prefer(plugin)
