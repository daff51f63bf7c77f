"""The batching rules of all operators, each family imported when one of its operators first runs on many examples."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from tt.core.library import FamilyIndex, errors
from tt.plugins.autograd.transforms.batching.base import BatchingRule

__all__ = ["INDEX", "rule_of"]

INDEX: Final = FamilyIndex("tt.plugins.autograd.transforms.batching", lambda module: module.table.rules)
"""Which modules have the batching rule of an operator."""


def rule_of(op: str) -> BatchingRule | None:
    """Return the batching rule of an operator, or None.

    Raises
    ------
    PluginError
        When the family cannot be imported.
    """
    homes = INDEX.homes().get(op)
    if homes is None:
        return None
    module = homes[0]
    try:
        rule: BatchingRule = import_module(module).table.rules[op]
    except Exception as error:
        raise errors.PluginError(
            f"the plugin 'autograd' cannot import the batching rules of the family {module.rpartition('.')[2]!r}: "
            f"{type(error).__name__}: {error}"
        ) from error
    return rule
