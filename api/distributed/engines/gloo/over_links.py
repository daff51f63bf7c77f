"""Collectives of ranks that send each other messages, because they are on different machines.

All are generators of lists of requests: what follows is done when all of them are.  Arrays have one dimension; those
of bytes are written as uint8.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from tt.distributed.engines.gloo.links import COLLECTIVE, Links, Receive, Send

__all__ = [
    "Lanes", "Requests", "Talk", "all_gather", "all_reduce", "all_to_all", "broadcast", "exchange", "gather", "reduce",
    "reduce_scatter", "scatter",
]  # fmt: skip

Requests = Iterator[list[Send | Receive]]
Lanes = Iterator[Requests]
_PIECE: Final = 1 << 19
"""Bytes of a message in a ring: several are under way, and the processor combines one while others come."""
_DIRECT: Final = 1 << 14
"""Bytes up to which every rank sends to all others: a ring takes as many rounds as there are ranks."""
_AHEAD: Final = 2
"""Pieces of a broadcast that are under way between two ranks."""


class Talk:
    """The messages of one collective.

    Parameters
    ----------
    links : Links
        The connections.
    size : int
        The number of ranks.
    number : int
        The number of the collective in the group, and so the same on all ranks.
    """

    def __init__(self, links: Links, size: int, number: int) -> None:
        self.links, self.rank, self.size = links, links.rank, size
        self._key = number << 32
        self.others = [rank for rank in range(size) if rank != self.rank]

    def send(self, to: int, array: Any, step: int = 0, lane: int = 0) -> Send:
        """Start to send an array."""
        return self.links.send(to, COLLECTIVE, self._key | lane << 12 | step, _bytes(array))

    def receive(self, source: int, array: Any, step: int = 0, lane: int = 0) -> Receive:
        """Start to receive an array."""
        return self.links.receive(source, COLLECTIVE, self._key | lane << 12 | step, _bytes(array))


def _bytes(array: Any) -> memoryview:
    return memoryview(array).cast("B") if isinstance(array, bytes | bytearray) else array.view(np.uint8).data


def exchange(talk: Talk, record: bytes, records: bytearray) -> Lanes:
    """Gather a record of each rank."""
    output, input = np.frombuffer(records, np.uint8), np.frombuffer(record, np.uint8)
    yield _direct_gather(talk, output, input)


def broadcast(talk: Talk, array: Any, root: int) -> Lanes:
    """Send root's bytes along a binomial tree, piece by piece."""
    yield _broadcast(talk, array, root)


def _broadcast(talk: Talk, array: Any, root: int) -> Requests:
    place = (talk.rank - root) % talk.size
    lowest = place & -place if place else 1 << talk.size.bit_length()
    parent = (place - lowest + root) % talk.size if place else None
    children = []
    distance = lowest >> 1
    while distance:
        if place + distance < talk.size:
            children.append((place + distance + root) % talk.size)
        distance >>= 1
    pieces = _split(array, _PIECE)
    coming: deque[Receive] = deque()
    posted = 0
    under_way: deque[list[Send | Receive]] = deque()
    for number, piece in enumerate(pieces):
        if parent is not None:
            while posted < min(len(pieces), number + _AHEAD):
                coming.append(talk.receive(parent, pieces[posted], lane=posted))
                posted += 1
            yield [coming.popleft()]
        under_way.append([talk.send(child, piece, lane=number) for child in children])
        if len(under_way) > _AHEAD:
            yield under_way.popleft()
    yield from under_way


def all_gather(talk: Talk, output: Any, input: Any) -> Lanes:
    """Gather all ranks' bytes in every output: large ones along a ring."""
    if talk.size <= 2 or len(input) <= _DIRECT:
        yield _direct_gather(talk, output, input)
        return
    rows = output.reshape(talk.size, -1)
    _copy(rows[talk.rank], input)
    for lane, start in enumerate(range(0, len(input), _PIECE)):
        yield _ring_gather(talk, [row[start : start + _PIECE] for row in rows], lane)


def _direct_gather(talk: Talk, output: Any, input: Any) -> Requests:
    rows = output.reshape(talk.size, -1)
    _copy(rows[talk.rank], input)
    requests: list[Send | Receive] = [talk.receive(other, rows[other]) for other in talk.others]
    requests += [talk.send(other, input) for other in talk.others]
    yield requests


def gather(talk: Talk, output: Any, input: Any, root: int) -> Lanes:
    """Send all ranks' bytes to root."""
    yield _gather(talk, output, input, root)


def _gather(talk: Talk, output: Any, input: Any, root: int) -> Requests:
    if talk.rank != root:
        yield [talk.send(root, input)]
        return
    rows = output.reshape(talk.size, -1)
    _copy(rows[root], input)
    yield [talk.receive(other, rows[other]) for other in talk.others]


def scatter(talk: Talk, output: Any, input: Any, root: int) -> Lanes:
    """Send each rank its part of root's bytes."""
    yield _scatter(talk, output, input, root)


def _scatter(talk: Talk, output: Any, input: Any, root: int) -> Requests:
    if talk.rank != root:
        yield [talk.receive(root, output)]
        return
    rows = input.reshape(talk.size, -1)
    _copy(output, rows[root])
    yield [talk.send(other, rows[other]) for other in talk.others]


def all_to_all(talk: Talk, output: Any, input: Any, received: Sequence[int], sent: Sequence[int]) -> Lanes:
    """Send part i of the input to rank i, and gather what comes; lengths are in bytes, for each rank."""
    yield _all_to_all(talk, output, input, received, sent)


def _all_to_all(
    talk: Talk, output: Any, input: Any, received: Sequence[int], sent: Sequence[int]
) -> Requests:
    there = _parts(input, sent)
    back = _parts(output, received)
    _copy(back[talk.rank], there[talk.rank])
    requests: list[Send | Receive] = [
        talk.receive(other, back[other]) for other in talk.others if received[other]
    ]
    requests += [talk.send(other, there[other]) for other in talk.others if sent[other]]
    yield requests


# --- combining --------------------------------------------------------------------------------------------------------


def all_reduce(talk: Talk, array: Any, function: Any) -> Lanes:
    """Combine all ranks' numbers in place; large arrays along a ring, see `_ring_reduce`."""
    if array.nbytes <= _DIRECT:
        yield _direct_reduce(talk, array, function)
        return
    for lane, part in enumerate(_split(array, _PIECE * talk.size)):
        yield _ring_all_reduce(talk, part, function, lane)


def _direct_reduce(talk: Talk, array: Any, function: Any) -> Requests:
    rows = np.empty((talk.size, len(array)), array.dtype)
    yield from _direct_gather(talk, rows.reshape(-1), array)
    _combine(list(rows), function, array)


def _ring_all_reduce(talk: Talk, part: Any, function: Any, lane: int) -> Requests:
    shares = np.array_split(part, talk.size)
    yield from _ring_reduce(talk, shares, function, lane)
    yield from _ring_gather(talk, shares, lane, talk.size)


def reduce(talk: Talk, array: Any, root: int, function: Any) -> Lanes:
    """Combine all ranks' numbers in root's array."""
    if array.nbytes <= _DIRECT:
        yield _direct_reduce_to(talk, array, root, function)
        return
    for lane, part in enumerate(_split(array, _PIECE * talk.size)):
        yield _ring_reduce_to(talk, part, root, function, lane)


def _direct_reduce_to(talk: Talk, array: Any, root: int, function: Any) -> Requests:
    at_root = talk.rank == root
    rows = np.empty((talk.size, len(array)), array.dtype) if at_root else None
    yield from _gather(talk, None if rows is None else rows.reshape(-1), array, root)
    if rows is not None:
        _combine(list(rows), function, array)


def _ring_reduce_to(talk: Talk, part: Any, root: int, function: Any, lane: int) -> Requests:
    shares = np.array_split(part if talk.rank == root else part.copy(), talk.size)
    yield from _ring_reduce(talk, shares, function, lane)
    if talk.rank != root:
        yield [talk.send(root, shares[talk.rank], talk.size, lane)]
    else:
        yield [talk.receive(other, shares[other], talk.size, lane) for other in talk.others]


def reduce_scatter(talk: Talk, output: Any, input: Any, function: Any) -> Lanes:
    """Combine all ranks' numbers, and give each rank its part."""
    rows = input.reshape(talk.size, -1)
    count = _PIECE // output.itemsize
    for lane, start in enumerate(range(0, len(output), count)):
        yield _ring_reduce_part(
            talk, output[start : start + count], rows[:, start : start + count].copy(), function, lane
        )


def _ring_reduce_part(talk: Talk, output: Any, rows: Any, function: Any, lane: int) -> Requests:
    yield from _ring_reduce(talk, list(rows), function, lane)
    output[:] = rows[talk.rank]


def _ring_reduce(talk: Talk, shares: list[Any], function: Any, lane: int) -> Requests:
    """Combine the shares of all ranks, in place: in the end share i is complete on rank i.

    Each share goes once around the ring, and every rank combines it with its own.  So each rank sends and receives
    (size - 1) / size of the numbers, which is the least that is possible, and the order in which a share is combined is
    the same in every run.
    """
    size, rank = talk.size, talk.rank
    room = np.empty(max(map(len, shares)), shares[0].dtype)
    for step in range(size - 1):
        there, here = (rank - 1 - step) % size, (rank - 2 - step) % size
        part = room[: len(shares[here])]
        yield [
            talk.receive((rank - 1) % size, part, step, lane),
            talk.send((rank + 1) % size, shares[there], step, lane),
        ]
        function(part, shares[here], out=shares[here])


def _ring_gather(talk: Talk, shares: list[Any], lane: int, first: int = 0) -> Requests:
    """Send share i, which is complete on rank i, around the ring."""
    size, rank = talk.size, talk.rank
    for step in range(size - 1):
        there, here = (rank - step) % size, (rank - 1 - step) % size
        yield [
            talk.receive((rank - 1) % size, shares[here], first + step, lane),
            talk.send((rank + 1) % size, shares[there], first + step, lane),
        ]


def _combine(rows: list[Any], function: Any, out: Any) -> None:
    """Combine arrays from first to last; ``out`` is none of them."""
    if len(rows) == 1:
        out[:] = rows[0]
        return
    function(rows[0], rows[1], out=out)
    for row in rows[2:]:
        function(out, row, out=out)


def _copy(target: Any, source: Any) -> None:
    if len(target):
        target[:] = source.view(target.dtype)


def _split(array: Any, nbytes: int) -> list[Any]:
    count = nbytes // array.itemsize
    return [array[start : start + count] for start in range(0, len(array), count)]


def _parts(array: Any, lengths: Sequence[int]) -> list[Any]:
    parts, start = [], 0
    for length in lengths:
        parts.append(array[start : start + length])
        start += length
    return parts
