"""Discovery: the entry points of plugins, which of them may be used, and for which version of the hooks they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from tt.core.errors import PluginConflictError, PluginError, UnknownNameError
from tt.core.host.entry_points import GROUP, installed, major_version
from tt.core.host.manifest import API_VERSION, Manifest, major_and_minor
from tt.core.host.plugin import Plugin

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "GROUP",
    "check_version",
    "discover",
    "installed",
    "known_names",
    "named_plugins",
    "namesakes",
    "read_manifest",
]

MAJOR: Final = major_and_minor(API_VERSION)[0]


def discover(find: Callable[[], Iterable[EntryPoint]], environ: Mapping[str, str]) -> tuple[Plugin, ...]:
    """Return the plugins in an order that does not depend on how they were found, tt's own first.

    Those that TT_PLUGINS and TT_DISABLE_PLUGINS leave out are blocked.

    Raises
    ------
    UnknownNameError
        When one of the variables names a plugin that is not installed.
    """
    plugins = [Plugin(entry) for entry in _for_this_version(list(find()))]
    plugins.sort(key=lambda p: (not p.own, p.name, p.distribution, p.entry.value))
    _block(plugins, environ)
    return tuple(plugins)


def _for_this_version(entries: list[EntryPoint]) -> list[EntryPoint]:
    """Leave out a package's offers to other versions of tt where it has some for this one."""

    def who(entry: EntryPoint) -> tuple[str, str]:
        return (entry.dist.name if entry.dist is not None else entry.value, entry.name)

    kept: dict[tuple[str, str], EntryPoint] = {}
    # Entries for this version come first, so that `setdefault` keeps them.
    for entry in sorted(entries, key=_fitness):
        kept.setdefault(who(entry), entry)
    return list(kept.values())


def _fitness(entry: EntryPoint) -> int:
    version = major_version(entry.group)
    # This version, then no version, then others, which are kept for the message that they do not fit.
    return 1 if version is None else 0 if int(version) == MAJOR else 2


def known_names(plugins: Iterable[Plugin]) -> set[str]:
    """Return the names by which plugins are chosen: their own, and those of their distributions."""
    return {name for plugin in plugins for name in (plugin.name, plugin.distribution)}


def named_plugins(plugins: Iterable[Plugin], name: str) -> list[Plugin]:
    """Return the plugins of a name, which may be that of their distribution."""
    return [plugin for plugin in plugins if name in (plugin.name, plugin.distribution)]


def _block(plugins: list[Plugin], environ: Mapping[str, str]) -> None:
    for variable in ("TT_PLUGINS", "TT_DISABLE_PLUGINS"):
        listed = [name.strip() for name in environ.get(variable, "").split(",") if name.strip()]
        chosen: set[Plugin] = set()
        for name in listed:
            named = named_plugins(plugins, name)
            if not named:
                # A misspelt name in the variable would otherwise block all plugins, or none.
                raise UnknownNameError(
                    "plugin",
                    name,
                    {plugin.name for plugin in plugins},
                    note=f"it is listed in the environment variable {variable}",
                )
            chosen.update(named)
        for plugin in plugins:
            if variable == "TT_PLUGINS" and listed and plugin not in chosen:
                plugin.state, plugin.reason = "blocked", f"not listed in {variable}"
            if variable == "TT_DISABLE_PLUGINS" and plugin in chosen:
                plugin.state, plugin.reason = "blocked", f"listed in {variable}"


def namesakes(plugins: Iterable[Plugin], plugin: Plugin, preferred: Callable[[Plugin], bool]) -> None:
    """Refuse a plugin whose name others have, too.

    Raises
    ------
    PluginError
        When tt itself has a plugin of this name.
    PluginConflictError
        Unless it is the only one whose distribution is preferred.
    """
    same = [p for p in plugins if p.name == plugin.name and p.state != "blocked"]
    # tt's own keep their names, whatever else is installed.
    if len(same) == 1 or plugin.own:
        return
    own = [p for p in same if p.own]
    if own:
        raise PluginError(
            f"the {own[0]} of tt itself has the same name\n  try: rename the entry point and the manifest"
        )
    if [p for p in same if preferred(p)] == [plugin]:
        return
    raise PluginConflictError(
        f"the name of plugins {plugin.name!r}",
        sorted(str(p) for p in same),
        sorted(p.distribution for p in same),
    )


# --- manifests -------------------------------------------------------------------------------------------------


def read_manifest(plugin: Plugin) -> None:
    """Import the module of a plugin and read its manifest.

    Raises
    ------
    PluginError
        When it has none, is for another version of tt, or is named otherwise than its entry point.
    """
    version = major_version(plugin.entry.group)
    if version is not None:  # before anything is imported that may not exist any more
        check_version(version, plugin)
    plugin.module = plugin.entry.load()
    if plugin.own:  # its hooks are right, and most processes call no other of most of tt's plugins
        manifest = plugin.module.tt_manifest()
    else:
        if not plugin.manager.hook.tt_manifest.get_hookimpls():
            raise PluginError(f"{plugin.entry.value} has no function tt_manifest marked with @hookimpl")
        manifest = plugin.manager.hook.tt_manifest()
    if not isinstance(manifest, Manifest):
        raise PluginError(f"tt_manifest() must return a tt.library.Manifest, not {type(manifest).__name__}")
    plugin.manifest = manifest
    check_version(manifest.api_version, plugin)
    if manifest.name != plugin.name:
        raise PluginError(f"its manifest is named {manifest.name!r}, its entry point {plugin.name!r}")


def check_version(version: str | int, plugin: Plugin) -> None:
    """Refuse a plugin for another major version; minor versions only add, so they go together.

    Raises
    ------
    PluginError
        With both versions.
    """
    major = major_and_minor(version)[0]
    if major != MAJOR:
        raise PluginError(
            f"it was made for version {version} of the plugin interface and this tt offers version {API_VERSION}\n"
            f"  try: upgrade {'tt-tensor' if major > MAJOR else plugin.distribution}"
        )
