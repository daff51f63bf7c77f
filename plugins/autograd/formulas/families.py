"""The families of formulas, each imported when an operator of it is first differentiated."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Final

from tt.core.library import FamilyIndex, errors

if TYPE_CHECKING:
    from tt.plugins.autograd.formulas.table import Formulas

__all__ = ["INDEX", "FormulaFamilies", "tables"]

INDEX: Final = FamilyIndex("tt.plugins.autograd.formulas", lambda module: module.d.formulas)
"""Which modules have the formula of an operator."""


class FormulaFamilies:
    """The formulas of all families; each is imported when an operator of it is first differentiated."""

    layer = "autograd"

    def family_of(self, op: str) -> Formulas | None:
        """Return the table that has the formula of an operator, or None.

        Raises
        ------
        PluginError
            When the family cannot be imported.
        """
        homes = INDEX.homes().get(op)
        return None if homes is None else _table(homes[0])

    def families(self) -> Iterator[Formulas]:
        """Yield the tables of all families."""
        yield from tables()


def tables() -> list[Formulas]:
    """Return the formulas of every family."""
    return [_table(module) for module in INDEX.modules()]


def _table(module: str) -> Formulas:
    try:
        table: Formulas = import_module(module).d
    except Exception as error:
        raise errors.PluginError(
            f"the plugin 'autograd' cannot import the formulas of the family {module.rpartition('.')[2]!r}: "
            f"{type(error).__name__}: {error}"
        ) from error
    return table
