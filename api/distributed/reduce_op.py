"""How ranks combine their tensors."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tt import Tensor

__all__ = ["ReduceOp"]


class _Named(type):
    """Makes the operations attributes of ReduceOp: ReduceOp.SUM is ReduceOp(ReduceOp.RedOpType.SUM)."""

    def __iter__(cls) -> Any:
        return iter(kind.name for kind in ReduceOp.RedOpType)


class ReduceOp(metaclass=_Named):
    """How `all_reduce`, `reduce` and `reduce_scatter` combine the ranks' tensors.

    ``SUM``, ``AVG`` (the sum, divided by the number of ranks; floating point and complex), ``PRODUCT``, ``MIN``,
    ``MAX`` (not complex), ``BAND``, ``BOR``, ``BXOR`` (integers and bool), and ``PREMUL_SUM``, which multiplies by a
    factor first:
    ``ReduceOp.PREMUL_SUM(0.5)``.

    Parameters
    ----------
    kind : ReduceOp.RedOpType or ReduceOp
        The operation.
    factor : float or Tensor, optional
        What ``PREMUL_SUM`` multiplies by.

    Examples
    --------
    >>> from tt.distributed import ReduceOp
    >>> ReduceOp.SUM, ReduceOp.SUM == ReduceOp(ReduceOp.SUM)
    (<RedOpType.SUM: 0>, True)
    >>> ReduceOp.PREMUL_SUM(0.5).factor
    0.5
    """

    class RedOpType(Enum):
        """The operations, by PyTorch's names and numbers."""

        SUM = 0
        AVG = 1
        PRODUCT = 2
        MIN = 3
        MAX = 4
        BAND = 5
        BOR = 6
        BXOR = 7
        PREMUL_SUM = 8

        def __call__(self, factor: float | Tensor | None) -> ReduceOp:
            """Return the operation with a factor; for ``PREMUL_SUM``."""
            return ReduceOp(self, factor)

    SUM = RedOpType.SUM
    AVG = RedOpType.AVG
    PRODUCT = RedOpType.PRODUCT
    MIN = RedOpType.MIN
    MAX = RedOpType.MAX
    BAND = RedOpType.BAND
    BOR = RedOpType.BOR
    BXOR = RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM

    __slots__ = ("factor", "kind")
    kind: ReduceOp.RedOpType
    factor: Any

    def __init__(self, kind: ReduceOp.RedOpType | ReduceOp, factor: float | Tensor | None = None) -> None:
        if isinstance(kind, ReduceOp):
            factor = kind.factor if factor is None else factor
            kind = kind.kind
        if not isinstance(kind, ReduceOp.RedOpType):
            raise TypeError(f"ReduceOp: expected an operation such as ReduceOp.SUM, got {kind!r}")
        self.kind = kind
        self.factor = factor

    # Programs compare `op == ReduceOp.SUM`, where `op` may be either of the two.
    def __eq__(self, other: object) -> bool:
        if isinstance(other, ReduceOp):
            return self.kind is other.kind and self.factor == other.factor
        return self.factor is None and self.kind is other

    def __hash__(self) -> int:
        return hash(self.kind)

    def __repr__(self) -> str:
        factor = "" if self.factor is None else f"({self.factor!r})"
        return f"<RedOpType.{self.kind.name}{factor}: {self.kind.value}>"

    def __reduce__(self) -> Any:
        return ReduceOp, (self.kind, self.factor)
