"""Call: one call of a collective or of a message, as errors and the flight recorder describe it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from math import prod
from types import FrameType
from zlib import crc32

import tt
from tt import Tensor
from tt.distributed.reduce_op import ReduceOp
from tt.errors import InplaceError

__all__ = ["Call"]

_OWN = os.path.dirname(os.path.abspath(tt.__file__)) + os.sep, "<frozen"


def _place_of_user() -> tuple[str, int]:
    """Return file and line of the innermost frame that is not tt's own; an empty name where there is none."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_OWN):
            return name, frame.f_lineno
        frame = frame.f_back
    return "", 0


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
        "_place",
        "agree",
        "count",
        "detail",
        "dtype",
        "name",
        "op",
        "peer",
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
        self.dtype = "" if tensor is None else tensor.dtype.name
        self.shape: tuple[int, ...] = () if tensor is None else tensor.shape
        # -1 is the same on all ranks, so the guard does not compare it.
        self.count = prod(self.shape) if tensor is not None and compared else -1
        self.root = root
        self.op = op
        # Records have a fixed length; a checksum is enough to find out that lists differ.
        self.agree = crc32(repr(tuple(agree)).encode()) if agree else 0
        self.detail = detail
        self.peer = peer
        self.sequence: int | None = None
        self.refused: InplaceError | None = None
        """Why this rank's tensor cannot be filled, which other ranks hear when they agree."""
        # Now: a call in the background has no frame of the program when its error is written.
        self._place = _place_of_user()

    @property
    def place(self) -> str:
        """File and line of the program; empty where there is none."""
        name, line = self._place
        return f"{name}:{line}" if name else ""

    def __str__(self) -> str:
        """Describe the call: ``all_reduce (MAX) of float32[4]``."""
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
