"""Carried: a small tensor that travels with the record by which ranks agree on a collective."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tt import Tensor
from tt.autograd.graph import increment_version
from tt.distributed.backend import Backend
from tt.distributed.derived import prepare, write
from tt.distributed.reduce_op import ReduceOp
from tt.distributed.reductions import Prepared
from tt.distributed.target import Target

__all__ = ["Carried", "room"]

# Note [Small tensors travel with the guard's record]
# ---------------------------------------------------
# Ranks exchange a record before each collective.  For a small `all_reduce` a second exchange would cost as much again,
# so the tensor goes with the record, and each rank combines all of them, in the order of the ranks.  Records must have
# one length whatever the ranks call, or a mismatch would be an error of MPI: all of them have room for a small tensor.
_TOGETHER: Final = 1 << 14  # bytes of the room in all records of an exchange
_Kind = ReduceOp.RedOpType
_FUNCTIONS: Final[dict[_Kind, np.ufunc]] = {
    _Kind.SUM: np.add,
    _Kind.PRODUCT: np.multiply,
    _Kind.MIN: np.minimum,
    _Kind.MAX: np.maximum,
    _Kind.BAND: np.bitwise_and,
    _Kind.BOR: np.bitwise_or,
    _Kind.BXOR: np.bitwise_xor,
}


def room(engine: Backend) -> int:
    """Return how many bytes of a tensor a record has room for; the same on all ranks."""
    return min(engine.capabilities.carried, _TOGETHER // engine.size // 8 * 8)


class Carried:
    """A tensor of `all_reduce` that is small enough.

    Parameters
    ----------
    tensor : Tensor
        The tensor, dense and not empty.
    op : ReduceOp
        How tensors are combined.
    """

    def __init__(self, tensor: Tensor, op: ReduceOp) -> None:
        self._tensor, self._op = tensor, op
        self._target: Target | None = None  # where the tensor is not contiguous
        self._prepared: Prepared
        self._array: Any = None

    def fits(self, engine: Backend) -> bool:
        """Return whether it goes with a record; the same on all ranks that call the same."""
        if self._tensor.nbytes > room(engine):
            return False
        own = self._tensor.detach()
        array = own.numpy()
        if not array.flags.c_contiguous:
            self._target = Target(own)
            own = self._target.buffer
        self._prepared = prepare(engine, own, self._op)
        self._array = (
            array if self._prepared.plain and self._target is None else self._prepared.tensor.numpy()
        )
        return self._prepared.native and self._array.nbytes <= room(engine)

    def data(self) -> bytes:
        """Return this rank's bytes."""
        found: bytes = self._array.tobytes()
        return found

    def combine(self, records: bytearray, ranks: int, before: int) -> None:
        """Combine the bytes of all ranks, each behind ``before`` others in its record, into the tensor."""
        array = self._array
        length = len(records) // ranks
        # A record's length and what comes before are multiples of 8.
        rows = np.ndarray((ranks, *array.shape), array.dtype, records, before, (length, *array.strides))
        _FUNCTIONS[self._prepared.op.kind].reduce(rows, 0, array.dtype, array)
        if not self._prepared.plain:
            buffer = self._tensor.detach() if self._target is None else self._target.buffer
            write(buffer, self._prepared.restored(self._prepared.tensor))
        if self._target is None:  # NumPy has written into its memory
            increment_version(self._tensor)
        else:
            self._target.finish()
