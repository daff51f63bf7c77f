"""Making operators: they get here what lies above the calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.dispatch.call.operator import Operator
from tt.core.dispatch.resolve.resolve import resolve
from tt.core.dispatch.resolve.shape_rules import run_rule

if TYPE_CHECKING:
    from tt.core.dispatch.registry.registry import Registry
    from tt.core.schema.model import OpDefinition

__all__ = ["make_operator"]


def make_operator(definition: OpDefinition, registry: Registry) -> Operator:
    """Return the operator of a definition, whose calls a registry serves."""
    return Operator(definition, registry, resolve, run_rule)
