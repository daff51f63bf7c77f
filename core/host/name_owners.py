"""Claims: which plugin a name stands for, where several declare it.

Note [Contested names]
----------------------
A name (a device, layout, layer, namespace, member of tensors or command) that one plugin declares is its own.  Where
several declare it:

- tt's own names stay tt's, unless a preference names another plugin;
- else the plugin that a preference names first has it;
- else no plugin has it: using it is an error that names all of them and how to choose.

So neither the order in which plugins are found nor the one in which they are used decides anything, and installing one
more package makes no program use it unasked.  Everything else that the plugins bring works meanwhile.  The first use of
a name settles it for the process: tensors of one device must not come from two plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tt.core.dispatch.registry.preference import OTHERS, PreferenceRule
from tt.core.errors import PluginConflictError, PluginError, how_to_choose
from tt.core.host.manifest import Declares
from tt.core.host.plugin import Plugin

__all__ = ["Claims", "PluginScope"]

Name = tuple[Declares, str]


class Claims:
    """The plugins that declare each name, and the one that owns it.

    Parameters
    ----------
    rules : callable
        Returns the preferences in force.
    """

    def __init__(self, rules: Callable[[], tuple[PreferenceRule, ...]]) -> None:
        self._rules = rules
        self._claimants: dict[Name, list[Plugin]] = {}
        self._taken: set[Name] = set()
        self._settled: dict[Name, Plugin] = {}

    def add(self, plugin: Plugin, names: Iterable[Name], taken: Iterable[Name] = ()) -> None:
        """Note the declarations of a plugin; names that are `taken` belong to the core, whatever is preferred."""
        for name in names:
            self._claimants.setdefault(name, []).append(plugin)
        self._taken.update(taken)

    def __contains__(self, name: Name) -> bool:
        return name in self._claimants and name not in self._taken

    def names(self, kind: Declares) -> tuple[str, ...]:
        """Return the declared names of a kind, tt's own plugins first."""
        return tuple(name for of, name in self._claimants if of == kind and (of, name) in self)

    def claimants(self, name: Name) -> tuple[Plugin, ...]:
        """Return the plugins that declare a name."""
        return tuple(self._claimants.get(name, ()))

    def owner(self, name: Name) -> Plugin | None:
        """Return the plugin that a name stands for; None where no plugin declares it or nothing says which is meant."""
        settled = self._settled.get(name)
        return settled if settled is not None else self._owner_by_rules(name)

    def _owner_by_rules(self, name: Name) -> Plugin | None:
        claimants = self.claimants(name)
        if name in self._taken or not claimants:
            return None
        if len(claimants) == 1:
            return claimants[0]
        # A rule for some operators says nothing about a name; one for a device only about this device.
        device = name[1] if name[0] == "device" else None
        rules = [rule for rule in self._rules() if rule.ops == OTHERS and rule.covers("", device)]
        ranks = {p: tuple(rule.position(p.name, p.distribution) for rule in rules) for p in claimants}
        # The preferences decide, if they leave one; else tt's own plugin has the name.
        best = [p for p in claimants if ranks[p] == min(ranks.values())]
        return best[0] if len(best) == 1 else next((p for p in best if p.own), None)

    def settle(self, name: Name) -> Plugin | None:
        """Return the owner of a name that is used now, and keep it.

        Raises
        ------
        PluginConflictError
            When several plugins declare the name and nothing says which is meant.
        """
        owner = self.owner(name)
        if owner is None and name in self:
            raise self.conflict(name)
        if owner is not None:
            self._settled[name] = owner
        return owner

    def conflict(self, name: Name) -> PluginConflictError:
        """Return the error for a name that several plugins declare."""
        claimants = sorted(self.claimants(name), key=lambda p: (p.name, p.distribution))
        return PluginConflictError(
            f"the {name[0]} {name[1]!r}", [str(p) for p in claimants], [p.name for p in claimants]
        )

    def refuse_late_change(self) -> None:
        """Raise when the rules now give a name that is in use to another plugin.

        Raises
        ------
        PluginError
            When it would have two owners in one process.
        """
        # Names that nobody has used yet may still change hands.
        for name, owner in self._settled.items():
            preferred = self._owner_by_rules(name)
            if preferred is not None and preferred is not owner:
                raise PluginError(
                    f"the {name[0]} {name[1]!r} is in use already, and brought by the {owner}: the {preferred} cannot "
                    f"take its place in this process\n  try: prefer {preferred.name!r} before the first use, "
                    f"for instance by TT_PREFER={preferred.name}"
                )

    def contested(self, plugin: Plugin) -> list[str]:
        """Return in words which names of a plugin others declare, too, and who has them."""
        conflicts = []
        for name, claimants in self._claimants.items():
            if plugin in claimants and (len(claimants) > 1 or name in self._taken):
                others = sorted(str(p) for p in claimants if p is not plugin) or ["tt itself"]
                conflicts.append(
                    f"the {name[0]} {name[1]!r} is declared by {' and '.join(others)}, too; {self._who(name)}"
                )
        return conflicts

    def _who(self, name: Name) -> str:
        owner = self.owner(name)
        if name in self._taken:
            return "it is tt's own"
        if owner is not None:
            return f"the {owner} has it"
        plugins = sorted({p.name for p in self.claimants(name)})
        return f"no plugin has it until one is chosen: {how_to_choose(plugins)}"

    def lost(self, name: Name) -> str:
        """Return why a plugin does not have a name that it declares."""
        return f"the {name[0]} {name[1]!r} is declared by several plugins: {self._who(name)}"


class PluginScope:
    """The registry's questions about one plugin; see `tt.core.dispatch.registry.preference.PluginNames`."""

    def __init__(self, claims: Claims, plugin: Plugin) -> None:
        self._claims, self._plugin = claims, plugin
        manifest = plugin.manifest
        self._declared = frozenset(() if manifest is None else manifest.all_declared())
        self._extends = frozenset(() if manifest is None else manifest.extends)

    def declares(self, kind: str, name: str) -> bool:
        """Return whether the manifest declares a name."""
        return (kind, name) in self._declared

    def holds(self, kind: str, name: str) -> bool:
        """Return whether the name stands for the plugin."""
        declared = next((d for d in self._declared if d == (kind, name)), None)
        return declared is not None and self._claims.owner(declared) is self._plugin

    def extends(self, device: str) -> bool:
        """Return whether the manifest announces kernels for a device of another plugin."""
        return device in self._extends or OTHERS in self._extends

    def lost(self, kind: str, name: str) -> str:
        """Return why the plugin does not hold a name that it declares."""
        return next(self._claims.lost(d) for d in self._declared if d == (kind, name))
