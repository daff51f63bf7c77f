"""The host: finds plugins, loads them in two stages, and keeps what went wrong.

Stage 1 (`load`, at the first tensor or operator) finds the entry points of the group `tt.plugins`, imports
their light modules one at a time and reads their manifests.  Stage 2 (`activate`) calls a plugin's
`tt_register` hook when one of the names that it declares is used for the first time.  A plugin that breaks in
either stage is put aside with its traceback; everything else continues.  pluggy calls the hooks here and
nowhere else: no dispatched call passes through it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.preference import OTHERS, PreferenceRule
from tt.core.dispatch.registry.registry import REGISTRY, Provider
from tt.core.errors import PluginConflictError, PluginError, UnknownNameError
from tt.core.forks import fork_safe_lock
from tt.core.host.commands import commands_of
from tt.core.host.configuration import configured_rules
from tt.core.host.discovery import GROUP, discover, installed, named_plugins, namesakes, read_manifest
from tt.core.host.manifest import Declares
from tt.core.host.name_owners import Claims, PluginScope
from tt.core.host.plugin import (
    BROKEN,
    IDLE_MEMBERS,
    IDLE_METHODS,
    KNOWN_PARTS,
    KNOWN_PLUGINS,
    Plugin,
    PluginState,
    first_line,
)
from tt.core.host.plugin_code import PLUGIN_CODE
from tt.core.host.plugin_errors import cannot_prefer, failed_to_load, refuse_known, unknown_name
from tt.core.host.preferences import Preferences
from tt.core.methods.lazy_member import IdleMember, IdleMethod, LazyMember, MissingMember
from tt.core.tensor.tensor import Tensor
from tt.core.types.device import CORE_DEVICES
from tt.core.types.layout import LAYOUTS
from tt.core.types.state import STATE, DispatchState
from tt.core.types.user_warnings import warn_user

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from tt.core.dispatch.registry.plugin_registry import PluginRegistry

__all__ = [
    "GROUP",
    "HOST",
    "KNOWN_PLUGINS",
    "Host",
    "PluginState",
    "activate",
    "commands",
    "declares",
    "load",
    "names",
    "plugins",
    "require",
]


class Host:
    """Finds, loads and activates plugins.  A process has one, `HOST`.

    Parameters
    ----------
    find : callable
        Returns the entry points.
    environ : mapping
        Where TT_PLUGINS (the only plugins to use), TT_DISABLE_PLUGINS (those not to use), TT_PREFER and TT_CONFIG
        (which to prefer) are read.
    tensor_class : type, optional
        The class that gets the members of manifests; None: `Tensor`.
    registry : Registry, optional
        What `tt_register` hooks fill; None: the one of this process.
    state : DispatchState, optional
        Where the preferences are kept; None: a state of the host's own.
    """

    def __init__(
        self,
        find: Callable[[], Iterable[EntryPoint]] = installed,
        environ: Mapping[str, str] = os.environ,
        tensor_class: type | None = None,
        registry: Any = None,
        state: DispatchState | None = None,
    ) -> None:
        self._find, self._environ = find, environ
        self._tensor_class, self._registry = tensor_class, REGISTRY if registry is None else registry
        self.preferences = Preferences(DispatchState() if state is None else state)
        self._lock = fork_safe_lock(rank=0)
        self._loaded = False
        self._plugins: tuple[Plugin, ...] = ()
        self._claims = Claims(lambda: self.preferences.rules)
        self._done: set[tuple[Declares, str]] = set()
        self._activating: list[Plugin] = []

    # --- stage 1: manifests ---------------------------------------------------------------------------------

    def load(self) -> None:
        """Find the plugins and read their manifests; does so once, whoever calls it first.

        Raises
        ------
        UnknownNameError
            When a variable of the environment or the configuration file names a plugin that is not installed.
        ConfigurationError
            When TT_PREFER or the configuration file cannot be understood.
        """
        # Without the lock in the usual case; the flag is set last.
        if self._loaded:
            return
        with self._lock:
            # Another thread may have loaded them while this one waited.
            if not self._loaded:
                self._load()
                self._loaded = True

    def _load(self) -> None:
        # All variables are read before the code of any plugin runs.
        plugins = discover(self._find, self._environ)
        rules = configured_rules(self._environ)
        for rule in rules:
            self.preferences.check_plugins(rule, plugins)
        claims = Claims(lambda: self.preferences.rules)
        for plugin in plugins:
            if plugin.state == "blocked":
                continue
            start = time.perf_counter()
            try:
                namesakes(plugins, plugin, lambda p: any(p.distribution in rule.plugins for rule in rules))
                with PLUGIN_CODE.of(plugin):
                    read_manifest(plugin)
            # A broken plugin must not stop the others: it is set aside with its error.
            except BROKEN as error:
                plugin.fail(error)
            else:
                plugin.state = "loaded"
                self._claim(claims, plugin)
            plugin.load_time = time.perf_counter() - start
        for rule in rules:
            self.preferences.check_device(rule, (*claims.names("device"), *CORE_DEVICES))
        # All at once: a thread that looks without the lock sees either nothing or everything.
        self._claims, self._plugins = claims, plugins
        # Behind those of the program, which a running `prefer` block may have set before.
        self.preferences.replace((*self.preferences.rules, *rules))
        self._put_members(claims.names("member"))

    def _put_members(self, brought: Iterable[str]) -> None:
        """Put the members of plugins on the class of tensors, and those of plugins that are not usable."""
        owner = self._class()
        missing = [name for kind, name in KNOWN_PLUGINS if kind == "member" and not self._has_member(name)]
        for name in brought:
            setattr(owner, name, LazyMember(owner, name, partial(self._target_of_member, name)))
        for name in missing:
            if name in brought:
                continue
            target = partial(self._target_of_member, name)
            member = MissingMember(owner, name, target)
            if name in IDLE_MEMBERS and self._leaves_out("member", name):
                member = IdleMember(owner, name, target, IDLE_MEMBERS[name])
            elif name in IDLE_METHODS and self._leaves_out("member", name):
                member = IdleMethod(owner, name, target, IDLE_METHODS[name])
            setattr(owner, name, member)

    def _has_member(self, name: str) -> bool:
        """Return whether tensors have a member; looks, and resolves nothing."""
        # `inspect.getattr_static` without metaclasses: it is asked for each of a hundred members in every process.
        member = next(
            (vars(base)[name] for base in self._class().__mro__ if name in vars(base)), MissingMember
        )
        return member is not MissingMember and not isinstance(member, MissingMember)

    def _claim(self, claims: Claims, plugin: Plugin) -> None:
        """Note the declarations of the plugin."""
        assert plugin.manifest is not None  # read just before
        declared = plugin.manifest.all_declared()
        # The core's own devices and members cannot be taken by a plugin, whatever is preferred.
        taken = [name for name in declared if name[0] == "device" and name[1] in CORE_DEVICES]
        taken += [name for name in declared if name[0] == "member" and self._has_member(name[1])]
        claims.add(plugin, declared, taken)

    def _class(self) -> type:
        if self._tensor_class is None:
            self._tensor_class = Tensor
        return self._tensor_class

    def _target_of_member(self, name: str) -> str:
        self.activate("member", name)
        owner = self._claims.settle(("member", name))
        assert (
            owner is not None and owner.manifest is not None
        )  # declared, and `settle` raises for a conflict
        return owner.manifest.members[name]

    # --- preferences ----------------------------------------------------------------------------------------

    def check_rule(self, rule: PreferenceRule) -> None:
        """Refuse a preference that names what does not exist, or what cannot be used.

        Raises
        ------
        UnknownNameError
            For a plugin or device that does not exist, with the nearest.
        PluginError, PluginFailedError
            When a plugin is blocked or failed.
        """
        self.load()
        self.preferences.check_plugins(rule, self._plugins)
        self.preferences.check_device(rule, (*self.names("device"), *CORE_DEVICES))
        self.preferences.check_usable(rule, self._plugins)

    def prefer(self, rules: tuple[PreferenceRule, ...], named: Iterable[str]) -> None:
        """Put rules into force and let the plugins that are named make their registrations for others' devices.

        Raises
        ------
        PluginFailedError
            When one of them fails to register.
        PluginError
            When a name that is in use would go to another plugin.
        """
        # Kept, so that a plugin that fails to register leaves the preferences as they were.
        before = self.preferences.rules
        self.preferences.replace(rules)
        try:
            with self._lock:
                # Refused before anything is registered.
                self._claims.refuse_late_change()
                for plugin in [p for name in named for p in named_plugins(self._plugins, name)]:
                    if plugin.manifest is not None and plugin.manifest.extends:
                        self._register(plugin)
                        if plugin.state == "failed":
                            raise cannot_prefer(plugin)
        except BaseException:
            self.preferences.replace(before)
            raise

    # --- declarations -----------------------------------------------------------------------------------

    def declares(self, kind: Declares, name: str) -> bool:
        """Return whether a plugin that can be used declares a name."""
        self.load()
        return (kind, name) in self._claims

    def leaves_out(self, kind: Declares, name: str) -> bool:
        """Return whether the plugin that is known to bring a name is blocked or not installed, rather than broken."""
        self.load()
        return self._leaves_out(kind, name)

    def _leaves_out(self, kind: Declares, name: str) -> bool:
        known = KNOWN_PLUGINS.get((kind, name))
        if known is None or (kind, name) in self._claims:
            return False
        return all(p.state == "blocked" for p in self._plugins if p.name == known.plugin)

    def names(self, kind: Declares) -> tuple[str, ...]:
        """Return the declared names of a kind, tt's own plugins first."""
        self.load()
        return self._claims.names(kind)

    def layer_of(self, part: str) -> str:
        """Return the name of the layer that takes a part of operators: "gradient", "batching rule".

        Raises
        ------
        UnknownNameError
            When no plugin has such a layer.
        """
        self.load()
        manifests = [plugin.manifest for plugin in self._plugins if plugin.manifest is not None]
        layer = next((m.parts[part] for m in manifests if part in m.parts), KNOWN_PARTS.get(part))
        if layer is None:
            known = {*KNOWN_PARTS, *(part for m in manifests for part in m.parts)}
            raise UnknownNameError("part of operators", part, known)
        return layer

    def require(self, kind: Declares, name: str) -> None:
        """Raise unless a plugin declares a name; activates nothing.

        Raises
        ------
        UnknownNameError
            With the nearest names and the plugins that could not be read.
        PluginConflictError
            When several plugins declare it and nothing says which is meant.
        PluginError, PluginFailedError, PluginMissingError
            When the plugin is known but blocked, broken or not installed.
        """
        if self.declares(kind, name):
            if self._claims.owner((kind, name)) is None:
                raise self._claims.conflict((kind, name))
            return
        refuse_known(kind, name, self._plugins)
        known: Iterable[str] = self.names(kind)
        if kind == "device":
            known = {*known, *CORE_DEVICES, *(key[0] for key in list(self._registry.backends))}
        elif kind == "layout":
            known = {*known, *LAYOUTS}
        raise unknown_name(kind, name, known, self._plugins)

    # --- stage 2: registration ------------------------------------------------------------------------------

    def activate(self, kind: Declares, name: str) -> bool:
        """Let the plugin that declares a name register; does so once.

        Returns
        -------
        bool
            False when no plugin declares the name.

        Raises
        ------
        PluginConflictError
            When several plugins declare it and nothing says which is meant.
        PluginFailedError
            When the plugin fails to register, now or at an earlier use; the traceback is a note of the
            exception.
        PluginError, PluginMissingError
            When the plugin is known but blocked or not installed.
        """
        # The fast way for each later use of a name: one look-up in a set.
        if (kind, name) in self._done:
            return True
        self.load()
        with self._lock:
            owner = self._claims.settle((kind, name))
            if owner is None:
                refuse_known(kind, name, self._plugins)
                return False
            self._register(owner)
            if owner.state == "failed":
                raise failed_to_load(kind, name, owner)
            # Names that others declare, too, may have been decided for this plugin just now.
            if owner.view is not None and owner not in self._activating:
                owner.view.names_were_decided()
            if kind == "device":
                self._register_preferred(name)
            # Only when no plugin is registering: a name that is used while its plugin registers is not done.
            if not self._activating:
                self._done.add((kind, name))
        return True

    def _register_preferred(self, device: str) -> None:
        """Let the plugins with further kernels for a device register, if a preference names them."""
        for plugin in self._extending(device):
            if plugin.state == "loaded" and self.preferences.naming(plugin):
                self._register(plugin)
                if plugin.failed:
                    warn_user(
                        f"the {plugin} is preferred for {device} and failed to load: {first_line(plugin.reason)}; "
                        f"see: tt plugins list --activate",
                    )

    def _extending(self, device: str) -> list[Plugin]:
        return [p for p in self._plugins if p.manifest and {device, OTHERS} & {*p.manifest.extends}]

    def activate_extending(self, device: str) -> None:
        """Let the plugins with further kernels for a device register, so that `explain` can tell of them."""
        self.load()
        with self._lock:
            for plugin in self._extending(device):
                self._register(plugin)

    def activate_all(self) -> None:
        """Let every plugin register, for a report on all of them; failures are noted in `plugins()`."""
        self.load()
        with self._lock:
            for plugin in self._plugins:
                self._register(plugin)

    def activate_definitions(self) -> None:
        """Let every plugin with a namespace define its operators.

        Those without the hook `tt_define` register whole; the others do when an operator of theirs is first used.
        """
        self.load()
        with self._lock:
            for plugin in self._plugins:
                if plugin.manifest is None or not plugin.manifest.namespaces:
                    continue
                if plugin.manager.hook.tt_define.get_hookimpls():
                    self._run(plugin, partial(self._define, plugin))
                else:
                    self._register(plugin)

    def _register(self, plugin: Plugin) -> None:
        """Call the plugin's hooks tt_define and tt_register, unless that was done or is being done."""

        def register(registry: PluginRegistry) -> None:
            # What a plugin requires registers first, and a failure there is its own.
            for needed in self._required(plugin):
                self._register(needed)
                if needed.state == "failed":
                    raise PluginError(f"it requires the {needed}, which failed: {first_line(needed.reason)}")
            self._define(plugin, registry)
            with PLUGIN_CODE.of(plugin, registry):
                plugin.manager.hook.tt_register(registry=registry)
            plugin.state = "active"

        self._run(plugin, register)

    def _define(self, plugin: Plugin, registry: PluginRegistry) -> None:
        if not plugin.defined:
            list(self._required(plugin))  # a plugin that lacks another one defines no operators
            with PLUGIN_CODE.of(plugin, registry):
                plugin.manager.hook.tt_define(registry=registry)
            plugin.defined = True

    def _run(self, plugin: Plugin, hooks: Callable[[PluginRegistry], None]) -> None:
        """Run hooks of a plugin that is loaded and runs none; where one fails, all that it registered is removed."""
        # A plugin that is registering may be asked for by its own code: it must not start again.
        if plugin.state != "loaded" or plugin in self._activating:
            return
        if plugin.view is None:
            plugin.view = self._view(plugin)
        start = time.perf_counter()
        self._activating.append(plugin)
        try:
            hooks(plugin.view)
        except BROKEN as error:
            # Half of the registrations of a plugin would be worse than none.
            plugin.view.remove()
            plugin.fail(error)
        finally:
            self._activating.remove(plugin)
            plugin.load_time += time.perf_counter() - start

    def current_registry(self) -> PluginRegistry | None:
        """Return the view of the registry of the plugin whose code this thread runs, or None."""
        return PLUGIN_CODE.current_registry()

    def _view(self, plugin: Plugin) -> PluginRegistry:
        source = Provider(plugin.distribution, plugin.version, plugin.name)
        return self._registry.for_plugin(source, None if plugin.own else PluginScope(self._claims, plugin))

    def _required(self, plugin: Plugin) -> Iterator[Plugin]:
        assert plugin.manifest is not None
        for name in plugin.manifest.requires:
            matches = [p for p in self._plugins if p.name == name]
            if not matches or matches[0].state == "blocked":
                why = f"is blocked: {matches[0].reason}" if matches else "is not installed"
                raise PluginError(f"it requires the plugin {name!r}, which {why}")
            yield matches[0]

    # --- commands -------------------------------------------------------------------------------------------

    def commands(self) -> dict[str, str | PluginConflictError]:
        """Return the commands of `tt` that plugins bring: name -> "module:attribute", or why no plugin has the name.

        A plugin whose hook fails is put aside.
        """
        self.load()
        return commands_of(self._plugins, self.preferences)

    # --- reports --------------------------------------------------------------------------------------------

    def plugins(self) -> tuple[PluginState, ...]:
        """Return the state of every plugin that was found."""
        self.load()
        return tuple(self._snapshot(plugin) for plugin in self._plugins)

    def _snapshot(self, plugin: Plugin) -> PluginState:
        preferred = [f"{rule.where} by {rule.origin}" for rule in self.preferences.naming(plugin)]
        with PLUGIN_CODE.of(plugin):  # asks whether it is available
            return plugin.snapshot(self._claims.contested(plugin), preferred)


HOST: Final = Host(state=STATE)
"""The host of this process."""

load = HOST.load
activate = HOST.activate
activate_all = HOST.activate_all
activate_definitions = HOST.activate_definitions
activate_extending = HOST.activate_extending
commands = HOST.commands
current_registry = HOST.current_registry
declares = HOST.declares
names = HOST.names
plugins = HOST.plugins
require = HOST.require
