"""Ambient layers: what handles the calls of a thread whatever its tensors are; see Note [Ambient layers] in `state`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt.core.blocks import Block
from tt.core.types.keys import FUNCTION
from tt.core.types.state import STATE
from tt.core.types.thread_state import THREAD

if TYPE_CHECKING:
    from tt.core.dispatch.call.op_overload import OpOverload
    from tt.core.dispatch.call.operator import Operator
    from tt.core.dispatch.intercept.layers import AmbientRule

__all__ = ["ambient_of", "ambient_rule", "call_ambient", "without_ambient"]


def ambient_rule(operator: Operator, keys: int) -> AmbientRule | None:
    """Return the rule of the first ambient layer of this thread that has one for an operator, or None."""
    for name, setting in STATE.ambient_settings().items():
        rule = operator.registry.layer(name).ambient_rule(operator, keys, setting)
        if rule is not None:
            return rule
    return None


def call_ambient(overload: OpOverload, args: tuple[Any, ...]) -> AmbientRule | None:
    """Return the rule of a call that modes will see afterwards, or None."""
    if not overload.functional:
        return None
    keys = overload.scan(args)[0]
    return ambient_rule(overload.operator, keys & ~(THREAD.masked | FUNCTION))


class ambient_of(Block):  # noqa: N801 - reads as a statement: with ambient_of(state)
    """Gives this thread the settings of ambient layers that it, or another one, had: a block for what goes on later.

    Parameters
    ----------
    state : tuple
        What `STATE.ambient_here()` returned.
    """

    def __init__(self, state: tuple[dict[str, Any], bool]) -> None:
        self._state = state

    def _look(self) -> tuple[dict[str, Any], bool]:
        return STATE.ambient_here()

    def _begin(self) -> None:
        self._end(self._state)

    def _end(self, before: tuple[dict[str, Any], bool]) -> None:
        if STATE.ambient_here() != before:
            STATE.set_ambient(*before)


def without_ambient() -> ambient_of:
    """Return a block whose calls pass the ambient layers of this thread by."""
    settings, _ = STATE.ambient_here()
    return ambient_of((settings, bool(settings)))
