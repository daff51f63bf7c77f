"""Call: one call of a collective or of a message, as errors and the flight recorder describe it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import FrameType
from zlib import crc32

import tt
from tt import Tensor
from tt.core.errors import InplaceError
from tt.distributed.reduce_op import ReduceOp

__all__ = ["Call", "place_of_user"]

_PACKAGE = os.path.dirname(os.path.abspath(tt.__file__)) + os.sep


def place_of_user() -> str:
    """Return file and line of the innermost frame that is not tt's own; empty where there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((_PACKAGE, "<frozen")):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


class Call:
    """A call of a collective, a send or a receive.

    Parameters
    ----------
    name : str
        The function: ``all_reduce``.
    tensor : Tensor, optional
        The tensor whose dtype and number of elements must agree between ranks.
    root : int
        The rank in the group that it goes to or comes from; -1 for none.
    op : ReduceOp, optional
        How tensors are combined.
    agree : sequence
        What else must be the same on all ranks; compared by a checksum.
    detail : str
        What else to say about it: ``to rank 3``.
    compared : bool
        Whether the number of elements must agree.
    peer : int, optional
        The other rank of a message, in the group; `ANY_RANK` for any.
    """

    __slots__ = (
        "agree",
        "count",
        "detail",
        "dtype",
        "name",
        "op",
        "peer",
        "place",
        "refused",
        "root",
        "sequence",
        "shape",
    )

    def __init__(
        self,
        name: str,
        tensor: Tensor | None = None,
        *,
        root: int = -1,
        op: ReduceOp | None = None,
        agree: Sequence[object] = (),
        detail: str = "",
        compared: bool = True,
        peer: int | None = None,
    ) -> None:
        self.name = name
        self.dtype = "" if tensor is None else str(tensor.dtype).rpartition(".")[2]
        self.shape = () if tensor is None else tuple(tensor.shape)
        self.count = -1 if tensor is None or not compared else tensor.numel()
        self.root = root
        self.op = op
        self.agree = crc32(repr(tuple(agree)).encode()) if agree else 0
        self.detail = detail
        self.peer = peer
        self.sequence: int | None = None
        self.refused: InplaceError | None = None
        """Why this rank's tensor cannot be filled, which other ranks hear when they agree."""
        self.place = place_of_user()

    def __str__(self) -> str:
        """Say what it is: ``all_reduce (MAX) of float32[4]``."""
        parts = [self.name]
        if self.op is not None and self.op.kind is not ReduceOp.SUM:
            parts.append(f"({self.op.kind.name})")
        if self.dtype:
            parts.append(f"of {self.dtype}[{', '.join(map(str, self.shape))}]")
        if self.root >= 0:
            parts.append(f"with root {self.root}")
        if self.detail:
            parts.append(self.detail)
        return " ".join(parts)
