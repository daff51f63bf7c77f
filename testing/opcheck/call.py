"""The arguments of opcheck, as a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tt.core import start
from tt.core.custom_op.custom_op import CustomOp
from tt.core.dispatch.call.op_overload import OpOverload
from tt.core.dispatch.call.packet import PacketOp
from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.errors import ArgumentError
from tt.core.tensor.base import TensorBase
from tt.testing.checks.call import CheckedCall

__all__ = ["bind"]


def bind(op: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> CheckedCall:
    """Return the call that `op(*args, **kwargs)` makes.

    Parameters
    ----------
    op : operator, CustomOp or str
        `tt.ops.acme.twice`, what `custom_op` returned, or "acme::twice".
    args, kwargs : sequence, mapping
        Of the call.

    Raises
    ------
    ArgumentError
        If `op` is not an operator or does not take the arguments.
    """
    if isinstance(args, TensorBase) or not isinstance(args, list | tuple):
        raise ArgumentError(
            "opcheck",
            f"args must be a tuple of the operator's arguments, not {type(args).__name__}",
            hint="opcheck(op, (x,))",
        )
    operator = find(op)
    named = dict(kwargs or {})
    if isinstance(operator, PacketOp):
        for caller in operator.op_overloads.values():
            try:
                return CheckedCall(caller, PacketOp._bind(caller, tuple(args), named))
            except ArgumentError:
                continue
        raise operator._refusal(tuple(args), named)
    if not isinstance(operator, OpOverload):
        raise ArgumentError(
            "opcheck",
            f"{op!r} is not an operator",
            hint="give tt.ops.namespace.name, the result of custom_op, or 'namespace::name'",
        )
    return CheckedCall(operator, PacketOp._bind(operator, tuple(args), named))


def find(op: Any) -> Any:
    """Return the caller of an operator, or its overloads, that a user named in one of several ways."""
    start()
    if isinstance(op, CustomOp):
        return REGISTRY.overload(op.name)
    if isinstance(op, str):
        operator: Any = ops
        for part in op.removeprefix("tt::").replace("::", ".").split("."):
            operator = getattr(operator, part)
        return operator
    return op
