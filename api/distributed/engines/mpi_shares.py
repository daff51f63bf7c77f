"""A large sum of the ranks' tensors: each rank adds up its share, piece by piece, and sends it to the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from tt.distributed.backend import RESERVED_TAG

__all__ = ["LARGE", "Shares"]

LARGE: Final = 48 << 20
"""Bytes from which a sum by shares is faster than MPI's: 0.6 to 0.8 of its time; at 25 MB it takes longer."""
_PIECE: Final = 2 << 20
"""Bytes of a message: smaller ones cost more than they gain, larger ones leave the last-level cache."""
_AHEAD: Final = 2
"""Pieces that are received before the first of them is added."""


class Shares:
    """The steps of one sum over the ranks of a communicator, in place; each waits for a list of requests.

    Note [Sums by shares]
    ---------------------
    Each rank receives the others' pieces of its share, adds them in the order of the ranks, and sends the sums to all.
    MPICH's `Iallreduce` does so in messages as large as a share: the first addition waits for all of it, and by then
    most of it has left the cache.  Here pieces follow each other.  Two ranks send and receive them, with one tag, in
    one order: pieces 0 and 1, sum 0, piece 2, sum 1, ...  A sum is received where the piece was, which has been sent.

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm
        Its ranks give as many numbers each.
    numbers : numpy.ndarray
        One dimension, contiguous.
    """

    def __init__(self, communicator: Any, numbers: Any) -> None:
        self._communicator = communicator
        self._rank, size = communicator.Get_rank(), communicator.Get_size()
        self._count = -(-numbers.nbytes // (size * _PIECE))
        self._shares = [np.array_split(share, self._count) for share in np.array_split(numbers, size)]
        self._others = [rank for rank in range(size) if rank != self._rank]
        longest = max(len(piece) for piece in self._shares[self._rank])
        # As many buffers as pieces are received ahead, used in turn.
        self._room = [
            {other: np.empty(longest, numbers.dtype) for other in self._others} for _ in range(_AHEAD)
        ]
        self._sent: list[list[Any]] = []
        self._received: list[list[Any]] = []

    def steps(self) -> Iterator[list[Any]]:
        """Start what follows the finished requests that were yielded before; yield the next ones."""
        own, sums = self._shares[self._rank], []
        for k in range(min(_AHEAD, self._count)):
            self._start(k)
        for k, piece in enumerate(own):
            yield self._received[k]
            parts = [piece if at == self._rank else self._part(k, at) for at in range(len(self._shares))]
            _add_in_order(parts, piece)
            # The sums of the others arrive in the memory that their pieces are sent from.
            yield self._sent[k]
            for other in self._others:
                sums.append(self._communicator.Irecv(self._shares[other][k], other, RESERVED_TAG))
                sums.append(self._communicator.Isend(piece, other, RESERVED_TAG))
            if k + _AHEAD < self._count:
                self._start(k + _AHEAD)
        yield sums

    def _start(self, k: int) -> None:
        """Receive the pieces that number k of this share is added up of, and send the others theirs."""
        communicator, others = self._communicator, self._others
        self._received.append(
            [communicator.Irecv(self._part(k, other), other, RESERVED_TAG) for other in others]
        )
        self._sent.append(
            [communicator.Isend(self._shares[other][k], other, RESERVED_TAG) for other in others]
        )

    def _part(self, k: int, other: int) -> Any:
        return self._room[k % _AHEAD][other][: len(self._shares[self._rank][k])]


def _add_in_order(parts: list[Any], out: Any) -> None:
    """Add arrays from first to last; all but `out`, which is one of them, may be overwritten."""
    total, *rest = parts
    for part in rest:
        # `out` holds a part that is read in its turn; before that, the sum collects in the first part.
        total = np.add(total, part, out=out if total is out or part is out else total)
