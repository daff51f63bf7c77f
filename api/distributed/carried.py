"""Carried: a small tensor that travels with the record by which ranks agree on a collective."""

from __future__ import annotations

from collections.abc import Generator
from functools import cache
from typing import Any, Final

import numpy as np

import tt
from tt import Tensor
from tt.autograd.graph import increment_version
from tt.distributed.backend import Backend, Pending
from tt.distributed.derived import prepare, write
from tt.distributed.reduce_op import ReduceOp
from tt.distributed.reductions import UFUNCS, Prepared
from tt.distributed.target import Target

__all__ = ["Carried"]

# Note [Small tensors travel with the guard's record]
# ---------------------------------------------------
# Ranks exchange a record before each collective.  For a small `all_reduce` a second exchange would cost as much again,
# so the tensor goes with the record, and each rank combines all of them, in the order of the ranks.  Records must have
# one length whatever the ranks call, or a mismatch would be an error of MPI: all of them have room for a small tensor.
# Without a guard the tensor is the record: an exchange of a few bytes is cheaper than an engine's reduction.
_PLAIN: Final[dict[tuple[type[Backend], Any, int], np.ufunc]] = {}
"""How to combine tensors that need no preparation, by the engine, the dtype and the number of the reduction."""


@cache
def _ordinary() -> frozenset[int]:
    """Return the keys of tensors whose handle is the array that holds their values."""
    return frozenset((tt.empty(0)._keys, tt.empty(0, requires_grad=True)._keys))


class Carried:
    """A tensor of `all_reduce` that is small enough.

    Parameters
    ----------
    tensor : Tensor
        The tensor, dense and not empty.
    op : ReduceOp
        How tensors are combined.
    """

    __slots__ = ("_array", "_function", "_op", "_prepared", "_target", "_tensor")

    _array: Any
    _function: np.ufunc

    def __init__(self, tensor: Tensor, op: ReduceOp) -> None:
        self._tensor, self._op = tensor, op
        self._target: Target | None = None  # where the tensor is not contiguous
        self._prepared: Prepared | None = None

    def fits(self, engine: Backend) -> bool:
        """Return whether it goes with a record; the same on all ranks that call the same."""
        tensor = self._tensor
        key = type(engine), tensor.dtype, self._op.kind._value_
        function = _PLAIN.get(key)
        # The path of most calls: the array is the handle itself, so nothing is prepared.
        if function is not None and tensor._keys in _ordinary():
            array: Any = tensor._handle
            if array.flags.c_contiguous:
                self._array, self._function = array, function
                return bool(array.nbytes <= engine.room)
        if tensor.nbytes > engine.room:
            return False
        own = tensor.detach()
        if not own.is_contiguous():
            self._target = Target(own)
            own = self._target.buffer
        self._prepared = prepared = prepare(engine, own, self._op)
        if not prepared.native:
            return False
        self._array, self._function = prepared.tensor.numpy(), UFUNCS[prepared.op.kind]
        # With one rank even an average needs no division, and would be remembered as plain.
        if prepared.plain and engine.size > 1:
            _PLAIN[key] = self._function
        return bool(self._array.nbytes <= engine.room)

    def data(self) -> bytes:
        """Return this rank's bytes."""
        result: bytes = self._array.tobytes()
        return result

    def alone(self, engine: Backend) -> Generator[Pending, None, None]:
        """Exchange nothing but the bytes, and combine them."""
        data = self.data()
        # A multiple of 8, on which `combine` relies.
        length = -(-len(data) // 8) * 8
        records = bytearray(length * engine.size)
        yield engine.exchange(data.ljust(length, b"\0"), records)
        self.combine(records, engine.size, 0)

    def combine(self, records: bytearray, ranks: int, before: int) -> None:
        """Combine the bytes of all ranks, each behind ``before`` others in its record, into the tensor."""
        array, function = self._array, self._function
        length = len(records) // ranks
        # A record's length and what comes before are multiples of 8.
        # A view of all ranks' bytes, whose first stride jumps over the rest of each record.
        rows = np.ndarray((ranks, *array.shape), array.dtype, records, before, (length, *array.strides))
        # For a few elements a single call costs less than the loop of `reduce`.
        if ranks == 2:
            function(rows[0], rows[1], out=array)
        else:
            # The dtype is named, for `np.add.reduce` would take int64 for small integers.
            function.reduce(rows, 0, array.dtype, array)
        prepared, target = self._prepared, self._target
        if prepared is not None and not prepared.plain:
            buffer = self._tensor.detach() if target is None else target.buffer
            write(buffer, prepared.restored(prepared.tensor))
        if target is None:  # NumPy has written into its memory
            increment_version(self._tensor)
        else:
            target.finish()
