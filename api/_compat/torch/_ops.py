"""torch._ops: the classes of operators."""

from __future__ import annotations

from tt._compat.torch.operators import OpNamespace as _OpNamespace
from tt._compat.torch.operators import ops as ops
from tt.core.dispatch.call.op_overload import OpOverload
from tt.core.dispatch.call.packet import PacketOp as OpOverloadPacket
from tt.errors import UnsupportedError

__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket", "ops"]


class HigherOrderOperator:
    """An operator that takes functions: they are functions of tt, and no objects of this class."""

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        raise UnsupportedError(
            f"torch._ops.HigherOrderOperator({name!r}): tt does not capture programs as graphs yet"
        )
