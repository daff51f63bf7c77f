"""Preferences between plugins: the rules in force, `tt.prefer` and `tt.set_preference`.

See Note [Taking part] for the effect of a preference on kernels and composites, and Note [Contested names] for
its effect on names that several plugins declare.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tt.core import plugins as current_host
from tt.core.blocks import Block
from tt.core.dispatch.registry.preference import OTHERS, SETTING, PreferenceRule
from tt.core.errors import ArgumentError, PluginError, UnknownNameError
from tt.core.host.discovery import known_names, named_plugins
from tt.core.host.plugin import Plugin
from tt.core.host.plugin_errors import cannot_prefer
from tt.core.types.state import DispatchState

if TYPE_CHECKING:
    from tt.core.host.host import Host

__all__ = ["Preferences", "prefer", "set_preference"]

FOR_A_BLOCK = "tt.prefer"
FOR_GOOD = "tt.set_preference"


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
        return self._state.get(SETTING) or ()

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
        """Refuse a rule for a device type that no plugin brings.

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


def prefer(
    *plugins: str, ops: str = "*", device: str = "*", host: Host | None = None
) -> contextlib.AbstractContextManager[None]:
    """Prefer plugins, in this order, inside a `with` block.

    Where several plugins have a kernel for the same call, that of the first one serves.  Kernels and composites that a
    plugin brings for devices and operators of others serve only where the plugin is preferred.  A device, layout,
    namespace or member that several plugins bring, and that has not been used yet, is the first one's.

    Parameters
    ----------
    *plugins : str
        Names of plugins, or of their distributions; "*" stands for all others, so that what follows comes last.
    ops : str
        Operators, with `*` wildcards.
    device : str
        A device type.

    Raises
    ------
    UnknownNameError
        For a plugin or a device that is not there.
    PluginError, PluginFailedError
        When a plugin is blocked or failed, or a name that is in use would go to another plugin.

    See Also
    --------
    set_preference : the same permanently.

    Examples
    --------
    >>> import tt
    >>> with tt.prefer("cpu", device="cpu"):
    ...     tt.exp(tt.zeros(2))
    tensor([1., 1.])
    """
    host = current_host() if host is None else host
    return _Preferring(lambda: _rule(FOR_A_BLOCK, plugins, ops, device, host), plugins, host)


class _Preferring(Block, contextlib.ContextDecorator):
    def __init__(self, make: Callable[[], PreferenceRule], plugins: tuple[str, ...], host: Host) -> None:
        self._make, self._plugins, self._host = make, plugins, host

    def _look(self) -> PreferenceRule:
        return self._make()  # one for each block, which finds its own again when it ends

    def _begin(self) -> None:
        # `_look` has made the rule that the block ends with.
        self._host.prefer((self._befores[-1], *self._host.preferences.rules), self._plugins)

    def _end(self, before: PreferenceRule) -> None:
        remaining = list(self._host.preferences.rules)
        for number, rule in enumerate(remaining):
            if rule is before:  # not by ==: an inner block may have an equal rule
                del remaining[number]
                self._host.preferences.replace(tuple(remaining))
                break


def set_preference(*plugins: str, ops: str = "*", device: str = "*", host: Host | None = None) -> None:
    """Prefer plugins, in this order, from now on; blocks of `prefer` go before.

    Parameters
    ----------
    *plugins : str
        As for `prefer`; none takes back what was set for the same `ops` and `device`.
    ops, device : str
        As for `prefer`.

    Examples
    --------
    >>> import tt
    >>> tt.set_preference("cpu", "*", device="cpu")
    >>> tt.set_preference(device="cpu")
    """
    host = current_host() if host is None else host
    host.load()
    rules = host.preferences.rules
    blocks = tuple(rule for rule in rules if rule.origin == FOR_A_BLOCK)
    others = tuple(rule for rule in rules if rule.origin not in (FOR_A_BLOCK, FOR_GOOD))
    # A new rule takes the place of an earlier one for the same operators and device.
    kept = tuple(
        rule for rule in rules if rule.origin == FOR_GOOD and (rule.ops, rule.device) != (ops, device)
    )
    new = (_rule(FOR_GOOD, plugins, ops, device, host),) if plugins else ()
    # Blocks first, then what is set for good, then the configuration.
    host.prefer((*blocks, *new, *kept, *others), plugins)


def _rule(origin: str, plugins: tuple[str, ...], ops: str, device: str, host: Host) -> PreferenceRule:
    if not plugins or not all(plugins):
        raise ArgumentError(
            origin, f"takes names of plugins, not {plugins!r}", hint="see `tt plugins list` for the names"
        )
    if len(set(plugins)) != len(plugins):
        raise ArgumentError(origin, f"takes each plugin once: {', '.join(plugins)}")
    rule = PreferenceRule(plugins, device, ops, origin)
    host.check_rule(rule)
    return rule
