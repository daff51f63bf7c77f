"""Collectives of ranks that share memory: what each rank writes and reads in each step.

All are generators.  They yield True where they have made progress and False where they wait for another rank, and end
when the operation is done.  Arrays have one dimension.  See Note [Steps in shared memory].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from tt.distributed.engines.gloo.memory import SLOT, Memory, numbers

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "broadcast", "gather", "reduce", "reduce_scatter", "scatter", "spread",
]  # fmt: skip

Steps = Iterator[bool]
_LINE: Final = 64
_SMALL: Final = 1 << 14
"""Bytes up to which each rank combines all numbers itself: a second step costs more than that."""


def spread(memory: Memory, record: bytes, records: bytearray) -> Steps:
    """Gather a record of each rank that is too long for one step."""
    output = np.frombuffer(records, np.uint8)
    yield from all_gather(memory, output, np.frombuffer(record, np.uint8))


def broadcast(memory: Memory, array: Any, root: int) -> Steps:
    """Copy root's bytes to all ranks."""
    at_root = memory.rank == root
    for start in range(0, len(array), SLOT):
        part = array[start : start + SLOT]
        slot = memory.slots[root][memory.begin()][: len(part)]
        if at_root:
            slot[:] = part
        yield from memory.meet()
        if not at_root:
            part[:] = slot
        yield True


def all_gather(memory: Memory, output: Any, input: Any) -> Steps:
    """Copy all ranks' bytes, one after the other, into every output."""
    yield from gather(memory, output, input, None)


def gather(memory: Memory, output: Any, input: Any, root: int | None) -> Steps:
    """Copy all ranks' bytes into root's output, or with None into every output."""
    length, rank = len(input), memory.rank
    reads = root is None or root == rank
    if reads:
        output[rank * length : (rank + 1) * length] = input
    for start in range(0, length, SLOT):
        end = min(length, start + SLOT)
        which = memory.begin()
        if rank != root:
            memory.slots[rank][which][: end - start] = input[start:end]
        yield from memory.meet()
        if reads:
            for other, _ in memory.others:
                begin = other * length
                output[begin + start : begin + end] = memory.slots[other][which][: end - start]
        yield True


def scatter(memory: Memory, output: Any, input: Any, root: int) -> Steps:
    """Copy each rank its part of root's bytes."""
    length, rank = len(output), memory.rank
    piece = _piece(memory)
    if rank == root:
        output[:] = input[rank * length : (rank + 1) * length]
    for start in range(0, length, piece):
        end = min(length, start + piece)
        slot = memory.slots[root][memory.begin()]
        if rank == root:
            for other, _ in memory.others:
                begin, at = other * length, other * piece
                slot[at : at + end - start] = input[begin + start : begin + end]
        yield from memory.meet()
        if rank != root:
            output[start:end] = slot[rank * piece : rank * piece + end - start]
        yield True


def all_to_all(
    memory: Memory, output: Any, input: Any, received: Sequence[int], sent: Sequence[int]
) -> Steps:
    """Copy part i of the input to rank i, and gather what comes; lengths are in bytes, for each rank."""
    rank, piece = memory.rank, _piece(memory)
    begins = [sum(sent[:other]) for other in range(memory.size)]
    places = [sum(received[:other]) for other in range(memory.size)]
    output[places[rank] : places[rank] + received[rank]] = input[begins[rank] : begins[rank] + sent[rank]]
    # The number of steps must be the same on all ranks, and a rank knows only its own parts.
    which = memory.begin()
    numbers(memory.slots[rank][which], 0, 1, np.int64)[0] = max(sent)
    yield from memory.meet()
    longest = max(int(numbers(pair[which], 0, 1, np.int64)[0]) for pair in memory.slots)
    for start in range(0, longest, piece):
        which = memory.begin()
        for other, _ in memory.others:
            count = min(piece, sent[other] - start)
            if count > 0:
                begin, at = begins[other] + start, other * piece
                memory.slots[rank][which][at : at + count] = input[begin : begin + count]
        yield from memory.meet()
        for other, _ in memory.others:
            count = min(piece, received[other] - start)
            if count > 0:
                begin, at = places[other] + start, rank * piece
                output[begin : begin + count] = memory.slots[other][which][at : at + count]
        yield True


def all_reduce(memory: Memory, array: Any, function: Any, root: int | None = None) -> Steps:
    """Combine all ranks' numbers, in place on every rank, or on root alone.

    Each rank combines its share of a chunk, in the order of the ranks, so the bits are the same everywhere.  A step
    brings the numbers of one chunk and the results of the one before.
    """
    rank, size, dtype = memory.rank, memory.size, array.dtype
    writes = root is None or root == rank
    if array.nbytes <= _SMALL:
        yield from _all_reduce_small(memory, array, function, writes)
        return
    align = _LINE // dtype.itemsize
    results = SLOT // (size + 1) // _LINE * _LINE
    """Bytes of a slot for a share's results; they lie behind the chunk."""
    share = results // dtype.itemsize
    chunk = share * size
    count = -(-len(array) // chunk)
    before: tuple[Any, list[slice]] | None = None
    for number in range(count + 1):
        which = memory.begin()
        own = memory.slots[rank][which]
        part, shares = None, []
        if number < count:
            part = array[number * chunk : (number + 1) * chunk]
            width = -(-len(part) // (size * align)) * align
            shares = [slice(min(len(part), r * width), min(len(part), (r + 1) * width)) for r in range(size)]
            for other, _ in memory.others:
                at = shares[other]
                numbers(own, at.start * dtype.itemsize, at.stop - at.start, dtype)[:] = part[at]
        yield from memory.meet()
        if before is not None and writes:
            earlier, parts = before
            for other, _ in memory.others:
                at = parts[other]
                earlier[at] = numbers(memory.slots[other][which], size * results, at.stop - at.start, dtype)
        before = None
        if part is not None:
            # All ranks have read the other slot: they have come to this step.
            at = shares[rank]
            length = at.stop - at.start
            result = numbers(memory.slots[rank][1 - which], size * results, length, dtype)
            sources = [
                part[at]
                if r == rank
                else numbers(memory.slots[r][which], at.start * dtype.itemsize, length, dtype)
                for r in range(size)
            ]
            _combine(sources, function, result)
            if writes:
                part[at] = result
            before = part, shares
        yield True


def reduce(memory: Memory, array: Any, root: int, function: Any) -> Steps:
    """Combine all ranks' numbers in root's array."""
    yield from all_reduce(memory, array, function, root)


def _all_reduce_small(memory: Memory, array: Any, function: Any, writes: bool) -> Steps:
    which = memory.begin()
    numbers(memory.slots[memory.rank][which], 0, len(array), array.dtype)[:] = array
    yield from memory.meet()
    if writes:
        _combine([numbers(pair[which], 0, len(array), array.dtype) for pair in memory.slots], function, array)


def reduce_scatter(memory: Memory, output: Any, input: Any, function: Any) -> Steps:
    """Combine all ranks' numbers, and give each rank its part."""
    rank, size, dtype = memory.rank, memory.size, output.dtype
    if np.may_share_memory(output, input):
        input = input.copy()
    rows = input.reshape(size, -1)
    piece = _piece(memory)
    count = piece // dtype.itemsize
    for start in range(0, len(output), count):
        which = memory.begin()
        part = slice(start, min(len(output), start + count))
        length = part.stop - start
        for other, _ in memory.others:
            numbers(memory.slots[rank][which], other * piece, length, dtype)[:] = rows[other][part]
        yield from memory.meet()
        sources = [
            rows[rank][part] if r == rank else numbers(memory.slots[r][which], rank * piece, length, dtype)
            for r in range(size)
        ]
        _combine(sources, function, output[part])
        yield True


def _piece(memory: Memory) -> int:
    """Return how many bytes of a slot there are for each rank."""
    return SLOT // memory.size // _LINE * _LINE


def _combine(sources: list[Any], function: Any, out: Any) -> None:
    """Combine arrays from first to last; ``out`` is none of them but perhaps the first."""
    if len(sources) == 1:
        out[:] = sources[0]
        return
    function(sources[0], sources[1], out=out)
    for source in sources[2:]:
        function(out, source, out=out)
