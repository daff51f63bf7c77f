"""The host: finds plugins, loads them in two stages, and keeps what went wrong.

Stage 1 (`load`, at the first tensor or operator) finds the entry points of the group `tt.plugins`, imports
their light modules one at a time and reads their manifests.  Stage 2 (`activate`) calls a plugin's
`tt_register` hook when one of the names that it declares is used for the first time.  A plugin that breaks in
either stage is put aside with its traceback; everything else goes on.  pluggy calls the hooks here and
nowhere else: no dispatched call passes through it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tt.core.device import CORE_DEVICES
from tt.core.errors import (
    DuplicateRegistrationError,
    PluginError,
    PluginFailedError,
    PluginMissingError,
    UnknownNameError,
)
from tt.core.lazy_member import LazyMember
from tt.core.manifest import API_VERSION, Declares, Manifest
from tt.core.plugin_state import BROKEN, KNOWN_PLUGINS, Plugin, PluginState, first_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from tt.core.dispatch.registry import PluginRegistry

__all__ = [
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

GROUP: Final = "tt.plugins"


def _installed() -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def _split(value: str) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()]


class Host:
    """Finds, loads and activates plugins.  A process has one, `HOST`.

    Parameters
    ----------
    find : callable
        Returns the entry points.
    environ : mapping
        Where TT_PLUGINS (the only plugins to use) and TT_DISABLE_PLUGINS (those not to use) are read; both
        are names of plugins, separated by commas.
    tensor_class : type, optional
        The class that gets the members of manifests; None: `Tensor`.
    registry : Registry, optional
        What `tt_register` hooks fill; None: the one of this process.
    """

    def __init__(
        self,
        find: Callable[[], Iterable[EntryPoint]] = _installed,
        environ: Mapping[str, str] = os.environ,
        tensor_class: type | None = None,
        registry: Any = None,
    ) -> None:
        self._find, self._environ = find, environ
        self._tensor_class, self._registry = tensor_class, registry
        self._lock = threading.RLock()
        self._loaded = False
        self._plugins: tuple[Plugin, ...] = ()
        self._owners: dict[tuple[Declares, str], Plugin] = {}
        self._done: set[tuple[Declares, str]] = set()
        self._activating: list[Plugin] = []

    # --- stage 1: manifests ---------------------------------------------------------------------------------

    def load(self) -> None:
        """Find the plugins and read their manifests; does so once, whoever calls it first.

        Raises
        ------
        UnknownNameError
            When TT_PLUGINS or TT_DISABLE_PLUGINS names a plugin that is not installed.
        """
        if self._loaded:
            return
        with self._lock:
            if not self._loaded:
                self._load()
                self._loaded = True

    def _load(self) -> None:
        # tt's own plugins come first, so that no other can take their names.
        entries = sorted(self._find(), key=lambda e: (not e.value.startswith("tt."), e.name, e.value))
        self._block(plugins := tuple(Plugin(entry) for entry in entries))
        self._owners = {}
        names: dict[str, Plugin] = {}
        for plugin in plugins:
            if plugin.state == "blocked":
                continue
            start = time.perf_counter()
            try:
                self._read_manifest(plugin)
                self._claim(plugin, names)
            except BROKEN as error:
                plugin.fail(error)
            else:
                plugin.state = "loaded"
            plugin.load_time = time.perf_counter() - start
        self._plugins = plugins
        for plugin in plugins:
            for member in plugin.members:
                setattr(member.owner, member.name, member)

    def _block(self, plugins: tuple[Plugin, ...]) -> None:
        present = {plugin.name for plugin in plugins}
        for variable in ("TT_PLUGINS", "TT_DISABLE_PLUGINS"):
            listed = _split(self._environ.get(variable, ""))
            for name in listed:
                if name not in present:
                    raise UnknownNameError(
                        "plugin", name, present, note=f"it is listed in the environment variable {variable}"
                    )
            for plugin in plugins:
                if variable == "TT_PLUGINS" and listed and plugin.name not in listed:
                    plugin.state, plugin.reason = "blocked", f"not listed in {variable}"
                if variable == "TT_DISABLE_PLUGINS" and plugin.name in listed:
                    plugin.state, plugin.reason = "blocked", f"listed in {variable}"

    def _read_manifest(self, plugin: Plugin) -> None:
        import pluggy

        from tt.core.hooks import Hooks

        # One manager a plugin: what is wrong with the hooks of one cannot touch another.
        manager = pluggy.PluginManager("tt")
        manager.add_hookspecs(Hooks)
        manager.register(plugin.entry.load(), plugin.name)
        manager.check_pending()
        if not manager.hook.tt_manifest.get_hookimpls():
            raise PluginError(f"{plugin.entry.value} has no function tt_manifest marked with @hookimpl")
        manifest = manager.hook.tt_manifest()
        if not isinstance(manifest, Manifest):
            raise PluginError(
                f"tt_manifest() must return a tt.library.Manifest, not {type(manifest).__name__}"
            )
        plugin.manifest, plugin.manager = manifest, manager
        if manifest.api_version != API_VERSION:
            newer = manifest.api_version > API_VERSION
            raise PluginError(
                f"it was made for version {manifest.api_version} of the plugin interface and this tt offers "
                f"version {API_VERSION}\n  try: upgrade {'tt-tensor' if newer else plugin.distribution}"
            )
        if manifest.name != plugin.name:
            raise PluginError(f"its manifest is named {manifest.name!r}, its entry point {plugin.name!r}")

    def _claim(self, plugin: Plugin, names: dict[str, Plugin]) -> None:
        """Note the plugin as the owner of what it declares, if nobody else is."""
        assert plugin.manifest is not None  # read just before; a failure there does not come here
        if plugin.name in names:
            raise _conflict(f"plugin {plugin.name!r}", names[plugin.name], plugin)
        for declared in plugin.manifest.all_declared():
            owner = self._owners.get(declared)
            if owner is not None or declared in [("device", name) for name in CORE_DEVICES]:
                raise _conflict(f"{declared[0]} {declared[1]!r}", owner, plugin)
        members = self._members_of(plugin) if plugin.manifest.members else []
        names[plugin.name] = plugin
        plugin.members = members
        self._owners.update(dict.fromkeys(plugin.manifest.all_declared(), plugin))

    def _members_of(self, plugin: Plugin) -> list[LazyMember]:
        assert plugin.manifest is not None
        if self._tensor_class is None:
            from tt.core.tensor import Tensor

            self._tensor_class = Tensor
        for name in plugin.manifest.members:
            if hasattr(self._tensor_class, name):
                raise _conflict(f"tensor member {name!r}", None, plugin)
        return [
            LazyMember(self._tensor_class, name, target, partial(self.activate, "member", name))
            for name, target in plugin.manifest.members.items()
        ]

    # --- what is declared -----------------------------------------------------------------------------------

    def declares(self, kind: Declares, name: str) -> bool:
        """Tell whether a plugin that can be used declares a name."""
        self.load()
        return (kind, name) in self._owners

    def names(self, kind: Declares) -> tuple[str, ...]:
        """Return the declared names of a kind, tt's own plugins first."""
        self.load()
        return tuple(name for declared, name in self._owners if declared == kind)

    def require(self, kind: Declares, name: str) -> None:
        """Raise unless a plugin declares a name; activates nothing.

        Raises
        ------
        UnknownNameError
            With the nearest names and the plugins that could not be asked.
        PluginError, PluginFailedError, PluginMissingError
            When the plugin is known but blocked, broken or not installed.
        """
        if self.declares(kind, name):
            return
        self._refuse_known(kind, name)
        aside = [
            f"{p.name} ({p.state}: {first_line(p.reason)})"
            for p in self._plugins
            if p.state in ("failed", "blocked")
        ]
        candidates = [*self.names(kind), *(CORE_DEVICES if kind == "device" else ())]
        note = f"plugins that could not be asked: {', '.join(aside)}; see: tt plugins list" if aside else ""
        raise UnknownNameError(kind, name, candidates, note=note)

    def _refuse_known(self, kind: Declares, name: str) -> None:
        """Raise when tt knows which plugin would bring a name that nobody declares."""
        known = KNOWN_PLUGINS.get((kind, name))
        if known is None:
            return
        for plugin in self._plugins:
            if plugin.name == known.plugin and plugin.state == "blocked":
                raise PluginError(
                    f"the {kind} {name!r} is brought by the {plugin}, which is blocked: {plugin.reason}"
                )
            if plugin.name == known.plugin and plugin.state == "failed":
                raise self._failed(kind, name, plugin)
        raise PluginMissingError(
            "",
            f"the {kind} {name!r} is brought by the plugin {known.plugin!r}, which is not installed",
            hint=f"pip install {known.install}",
            see="tt plugins list",
        )

    @staticmethod
    def _failed(kind: Declares, name: str, plugin: Plugin) -> PluginFailedError:
        error = PluginFailedError(
            "",
            f"the {kind} {name!r} is brought by the {plugin}, which failed to load",
            tried=[first_line(plugin.reason)],
            see="tt plugins list",
        )
        error.add_note(plugin.traceback)
        return error

    # --- stage 2: registration ------------------------------------------------------------------------------

    def activate(self, kind: Declares, name: str) -> bool:
        """Let the plugin that declares a name register; does so once.

        Returns
        -------
        bool
            False when no plugin declares the name.

        Raises
        ------
        PluginFailedError
            When the plugin fails to register, now or at an earlier use; the traceback is a note of the
            exception.
        PluginError, PluginMissingError
            When the plugin is known but blocked or not installed.
        """
        if (kind, name) in self._done:
            return True
        self.load()
        owner = self._owners.get((kind, name))
        if owner is None:
            self._refuse_known(kind, name)
            return False
        with self._lock:
            self._register(owner)
            if owner.state == "failed":
                raise self._failed(kind, name, owner)
            if kind == "device":
                for plugin in self._plugins:
                    if plugin.manifest is not None and name in plugin.manifest.extends:
                        self._register(plugin)
            if not self._activating:
                self._done.add((kind, name))
        return True

    def activate_all(self) -> None:
        """Let every plugin register, for a report on all of them; failures are noted in `plugins()`."""
        self.load()
        with self._lock:
            for plugin in self._plugins:
                self._register(plugin)

    def _register(self, plugin: Plugin) -> None:
        """Call the plugin's tt_register hook, unless that was done or is being done."""
        if plugin.state != "loaded" or plugin in self._activating:
            return
        assert plugin.manifest is not None
        registry = plugin.view = self._view(plugin)
        start = time.perf_counter()
        self._activating.append(plugin)
        try:
            for needed in self._required(plugin):
                self._register(needed)
                if needed.state == "failed":
                    raise PluginError(f"it requires the {needed}, which failed: {first_line(needed.reason)}")
            plugin.manager.hook.tt_register(registry=registry)
        except BROKEN as error:
            registry.remove()
            plugin.fail(error)
        else:
            plugin.state = "active"
        finally:
            self._activating.remove(plugin)
            plugin.load_time += time.perf_counter() - start

    def current_registry(self) -> PluginRegistry | None:
        """Return what the plugin that is registering just now was given, or None.

        A module that registers when it is imported (`custom_op` does) belongs to the plugin that imports it.
        """
        return self._activating[-1].view if self._activating else None

    def _view(self, plugin: Plugin) -> PluginRegistry:
        from tt.core.dispatch.registry import REGISTRY, Source

        registry = REGISTRY if self._registry is None else self._registry
        view: PluginRegistry = registry.for_plugin(Source(plugin.distribution, plugin.version, plugin.name))
        return view

    def _required(self, plugin: Plugin) -> Iterator[Plugin]:
        assert plugin.manifest is not None
        for name in plugin.manifest.requires:
            found = [p for p in self._plugins if p.name == name]
            if not found or found[0].state == "blocked":
                why = f"is blocked: {found[0].reason}" if found else "is not installed"
                raise PluginError(f"it requires the plugin {name!r}, which {why}")
            yield found[0]

    # --- commands -------------------------------------------------------------------------------------------

    def commands(self) -> dict[str, str]:
        """Return the commands of `tt` that plugins bring: name -> "module:attribute".

        A plugin whose hook fails, or that takes a name which another has, is put aside.
        """
        self.load()
        found: dict[str, str] = {}
        for plugin in self._plugins:
            if plugin.state not in ("loaded", "active"):
                continue
            try:
                brought = dict(plugin.manager.hook.tt_commands() or {})
                for name in brought:
                    if name in found:
                        raise DuplicateRegistrationError(f"command {name!r}", found[name], str(plugin))
            except BROKEN as error:
                plugin.fail(error)
            else:
                found.update(brought)
        return found

    # --- reports --------------------------------------------------------------------------------------------

    def plugins(self) -> tuple[PluginState, ...]:
        """Return the state of every plugin that was found."""
        self.load()
        return tuple(plugin.snapshot() for plugin in self._plugins)


def _conflict(what: str, first: Plugin | None, second: Plugin) -> DuplicateRegistrationError:
    hint = "uninstall one of the two, or list it in TT_DISABLE_PLUGINS"
    return DuplicateRegistrationError(what, str(first or "tt itself"), str(second), hint=hint)


HOST: Final = Host()
"""The host of this process."""

load = HOST.load
activate = HOST.activate
activate_all = HOST.activate_all
commands = HOST.commands
current_registry = HOST.current_registry
declares = HOST.declares
names = HOST.names
plugins = HOST.plugins
require = HOST.require
