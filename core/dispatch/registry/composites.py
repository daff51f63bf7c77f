"""The composites of the registry; the core's are registered when an operator of their family is first looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tt.core.by_name import object_named
from tt.core.dispatch.registry.preference import eligibilities_of, in_order
from tt.core.dispatch.registry.sources import TT_SOURCE, CompositeRegistration
from tt.core.family_index import OPERATORS, FamilyIndex

if TYPE_CHECKING:
    from tt.core.dispatch.registry.tables import CompositeTable

__all__ = ["INDEX", "CompositeRegistrations"]

INDEX: Final = FamilyIndex(OPERATORS, lambda module: module.composites.functions, "composites")
"""Which modules of `operators` have the composite of an operator."""


class CompositeRegistrations(dict[str, list[CompositeRegistration]]):
    """Operator -> its composites, the one that was registered last first; the core's are added by `first`.

    Parameters
    ----------
    lock : context manager
        The registry's.
    """

    def __init__(self, lock: Any) -> None:
        super().__init__()
        self._lock = lock
        self._families: set[str] = set()

    def first(self, op: str) -> CompositeRegistration | None:
        """Return the composite of an operator that counts, or None."""
        # An operator may have composites in several modules, of which all count.
        for home in INDEX.homes().get(op, ()):
            if home not in self._families:
                self._load(home)
        registrations = self.get(op)
        if not registrations:
            return None
        order = in_order(eligibilities_of(registrations), [r.source for r in registrations])
        return registrations[order[0]] if order else None

    def _load(self, home: str) -> None:
        """Register the core's composites of a family, after those that others registered before."""
        # Not under the lock: imports have their own.
        table: CompositeTable = object_named(f"{home}:composites")
        with self._lock:
            if home in self._families:
                return
            for name, function in table.functions.items():
                registration = CompositeRegistration(name, function, TT_SOURCE)
                self.setdefault(name, []).append(registration)
            self._families.add(home)  # last: another thread that finds it finds its composites

    def load_all(self) -> None:
        """Register the core's composites of all families, for a report on all of them."""
        for home in INDEX.modules():
            if home not in self._families:
                self._load(home)
