"""Preferences: which plugins serve first, or at all, where several could.

Note [Taking part]
------------------
Registrations of a plugin for its own names (its devices, layouts, and the operators of its namespaces) take part in
every call that uses these names: the call has named the plugin.  Its registrations for the names of others (a faster
`exp` for "cpu") takes part only where a preference names the plugin.  So a package changes no result by being
installed.

The rules in force are a setting of the dispatcher, so they belong to its epoch (see Note [Epochs and the guard]): a
cached call that was resolved under other rules is not used, and a call that is resolved pays nothing for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from tt.core.types.state import STATE

if TYPE_CHECKING:
    from tt.core.dispatch.registry.sources import Provider

__all__ = [
    "OTHERS",
    "SETTING",
    "Eligibility",
    "Judged",
    "Names",
    "PluginNames",
    "PreferenceRule",
    "Rank",
    "eligibilities_of",
    "eligibility_of",
    "in_order",
    "ranks_of",
    "rules_in_force",
]

SETTING: Final = "prefer"
OTHERS: Final = "*"
"""In the list of a rule: all plugins that it does not name."""

Rank = tuple[int, ...]
Names = tuple[tuple[str, str], ...]
"""The name that a registration serves: ("device", "cpu"), ("namespace", "acme"), ..."""


class PreferenceRule(NamedTuple):
    """Plugins in the order in which they are preferred.

    Attributes
    ----------
    plugins : tuple of str
        Names of plugins or of their distributions; "*" stands for all others.
    device, ops : str
        For which device type and operators; "*" for any, and in `ops` for any letters.
    origin : str
        Where the rule comes from, for explanations.
    """

    plugins: tuple[str, ...]
    device: str = "*"
    ops: str = "*"
    origin: str = "tt.prefer"

    @property
    def where(self) -> str:
        """The device and operators as TT_PREFER writes them."""
        return self.device if self.ops == "*" else f"{self.device}:{self.ops}"

    def covers(self, op: str, device: str | None) -> bool:
        """Return whether the rule is for an operator on a device type; None: for one that is on no device."""
        # "*" also covers operators on no device, such as composites: their device is None.
        if self.device not in ("*", device):
            return False
        return self.ops == "*" or any(fnmatchcase(name, self.ops) for name in (op, op.split(".")[0]))

    def position(self, plugin: str, distribution: str) -> int:
        """Return the place of a plugin: its own in the list, else that of "*", else after the end."""
        for position, name in enumerate(self.plugins):
            if name in (plugin, distribution):
                return position
        return self.plugins.index(OTHERS) if OTHERS in self.plugins else len(self.plugins)

    def names(self, plugin: str, distribution: str) -> bool:
        """Return whether the list names a plugin; "*" does not."""
        return plugin in self.plugins or distribution in self.plugins


def rules_in_force() -> tuple[PreferenceRule, ...]:
    """Return the rules, the strongest first."""
    return STATE.get(SETTING) or ()


class PluginNames(Protocol):
    """The registry's questions to the host about the plugin that brought a registration."""

    def declares(self, kind: str, name: str) -> bool:
        """Return whether the manifest declares a name."""

    def holds(self, kind: str, name: str) -> bool:
        """Return whether the plugin also is the one that the name stands for."""

    def extends(self, device: str) -> bool:
        """Return whether the manifest announces kernels for a device of another plugin."""

    def lost(self, kind: str, name: str) -> str:
        """Return why the plugin does not hold a name that it declares."""


class Eligibility(NamedTuple):
    """The preferences' judgement of one registration.

    Attributes
    ----------
    rank : tuple of int
        The place in the list of each rule that covers the call, the strongest rule first; the lowest is preferred.
    rule : PreferenceRule or None
        The rule that names the plugin.
    refusal : str
        Why the registration takes no part; empty if it does.
    """

    rank: Rank
    rule: PreferenceRule | None
    refusal: str


UNNAMED: Final = Eligibility((), None, "")


def eligibility_of(
    source: Provider, scope: PluginNames | None, names: Names, op: str, device: str | None
) -> Eligibility:
    """Return whether a registration takes part in a call, and how preferred it is.

    Parameters
    ----------
    source, scope : Provider, PluginNames or None
        Who brought it; without a scope it is tt's own or the program's, and takes part always.
    names : tuple of (kind, name)
        The name that it serves.
    op, device : str, str or None
        The call.
    """
    rules = rules_in_force()
    if scope is None and not rules:
        return UNNAMED
    covering = [rule for rule in rules if rule.covers(op, device)]
    rank = tuple(rule.position(source.plugin, source.distribution) for rule in covering)
    rule = next((rule for rule in covering if rule.names(source.plugin, source.distribution)), None)
    # Without a scope nothing can be refused: it is tt's own, or the program's.
    return Eligibility(rank, rule, "" if scope is None else _refusal(scope, source, names, rule))


class Judged(Protocol):
    """A registration, of which the preferences judge whether it takes part."""

    @property
    def scope(self) -> PluginNames | None:
        """The plugin of a third party that brought it."""

    def eligibility(self) -> Eligibility:
        """Return whether it takes part currently, and how preferred it is."""


def eligibilities_of(registrations: Iterable[Judged]) -> list[Eligibility]:
    """Return whether each of several registrations takes part currently, and how preferred it is."""
    rules = rules_in_force()
    return [UNNAMED if r.scope is None and not rules else r.eligibility() for r in registrations]


def _refusal(scope: PluginNames, source: Provider, names: Names, rule: PreferenceRule | None) -> str:
    held = False
    # A name that the plugin declares but lost decides alone: another plugin stands for it.
    for kind, name in names:
        if scope.holds(kind, name):
            held = True
        elif scope.declares(kind, name):
            return scope.lost(kind, name)
    if held or rule is not None:
        return ""
    where = next((name for kind, name in names if kind == "device"), "operators of others")
    return (
        f"a plugin serves {where} only where it is preferred: TT_PREFER={source.plugin} or "
        f"tt.prefer({source.plugin!r})"
    )


def ranks_of(eligibilities: Sequence[Eligibility], sources: Sequence[Provider]) -> dict[int, Rank]:
    """Return position -> rank of those that take part.

    Registrations of the program itself count as the most preferred of all that a rule names.
    """
    if eligibilities.count(UNNAMED) == len(eligibilities):  # nearly always
        return dict.fromkeys(range(len(eligibilities)), UNNAMED.rank)
    # What is refused counts neither for the best rank nor among the results.
    taking_part = [i for i, standing in enumerate(eligibilities) if not standing.refusal]
    best = min((eligibilities[i].rank for i in taking_part), default=())
    return {i: best if sources[i].is_program else eligibilities[i].rank for i in taking_part}


def in_order(eligibilities: Sequence[Eligibility], sources: Sequence[Provider]) -> list[int]:
    """Return the positions of those that take part, the most preferred first, else as they were."""
    ranks = ranks_of(eligibilities, sources)
    return sorted(ranks, key=ranks.__getitem__)
