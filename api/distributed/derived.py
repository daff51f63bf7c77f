"""Operations of engines: an engine's own where it has them, otherwise derived from those that every engine has."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import tt
from tt import Tensor
from tt.distributed.backend import RESERVED_TAG, Awaited, Backend, Pending
from tt.distributed.progress import Steps, let_others_run
from tt.distributed.reduce_op import ReduceOp
from tt.distributed.reductions import Prepared, combine

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "barrier",
    "broadcast",
    "gather",
    "prepare",
    "reduce",
    "reduce_scatter",
    "scatter",
    "together",
    "write",
]  # fmt: skip


class _All(Awaited):
    """Is done when several operations are."""

    def __init__(self, pending: list[Pending]) -> None:
        self._pending = pending

    def test(self) -> bool:
        # What has ended must not be tested again: a receive of `threads` would take the next message.
        self._pending = [each for each in self._pending if not each.test()]
        return not self._pending

    def cancel(self) -> None:
        for each in self._pending:
            each.cancel()

    def linger(self, seconds: float) -> None:
        for each in self._pending:
            if isinstance(each, Awaited):
                each.linger(seconds)
                return
        let_others_run()


def together(pending: list[Pending]) -> Pending:
    """Return an operation that ends when all of these have ended."""
    return pending[0] if len(pending) == 1 else _All(pending)


def _has(engine: Backend, operation: str) -> bool:
    return operation in engine.capabilities.operations


def prepare(engine: Backend, tensor: Tensor, op: ReduceOp) -> Prepared:
    """Return a tensor in the form in which an engine combines it."""
    capabilities = engine.capabilities
    return Prepared(tensor, op, engine.size, capabilities.dtypes, capabilities.reductions)


# --- moving: all tensors are contiguous, and not empty ----------------------------------------------------------------


def broadcast(engine: Backend, tensor: Tensor, root: int) -> Steps:
    """Send root's tensor to all ranks."""
    yield engine.broadcast(tensor, root)
    return None


def all_gather(engine: Backend, output: Tensor, input: Tensor) -> Steps:
    """Gather all ranks' inputs into every rank's output."""
    yield engine.all_gather_into(output, input)
    return None


def gather(engine: Backend, output: Tensor | None, input: Tensor, root: int) -> Steps:
    """Gather all ranks' inputs into root's output."""
    if _has(engine, "gather_into"):
        yield engine.gather_into(output, input, root)
        return None
    if engine.rank != root:
        yield engine.send(input, root, RESERVED_TAG)
        return None
    assert output is not None
    rows = output.view(engine.size, -1)
    rows[root].copy_(input.view(-1))
    others = [rank for rank in range(engine.size) if rank != root]
    if others:
        yield together([engine.recv(rows[rank], rank, RESERVED_TAG) for rank in others])
    return None


def scatter(engine: Backend, output: Tensor, input: Tensor | None, root: int) -> Steps:
    """Give each rank its part of root's input."""
    if _has(engine, "scatter_from"):
        yield engine.scatter_from(output, input, root)
        return None
    if engine.rank != root:
        yield engine.recv(output, root, RESERVED_TAG)
        return None
    assert input is not None
    rows = input.view(engine.size, -1)
    output.view(-1).copy_(rows[root])
    sent = [engine.send(rows[rank], rank, RESERVED_TAG) for rank in range(engine.size) if rank != root]
    if sent:
        yield together(sent)
    return None


def all_to_all(
    engine: Backend, output: Tensor, input: Tensor, output_sizes: Sequence[int], input_sizes: Sequence[int]
) -> Steps:
    """Send part i of the input to rank i, and gather what comes; sizes are in elements."""
    if _has(engine, "all_to_all"):
        yield engine.all_to_all(output, input, output_sizes, input_sizes)
        return None
    there, back = input.split(list(input_sizes)), output.split(list(output_sizes))
    back[engine.rank].copy_(there[engine.rank])
    others = [rank for rank in range(engine.size) if rank != engine.rank]
    # Receives first: a message that finds its receive needs no buffer in between.
    pending = [engine.recv(back[rank], rank, RESERVED_TAG) for rank in others if output_sizes[rank]]
    pending += [engine.send(there[rank], rank, RESERVED_TAG) for rank in others if input_sizes[rank]]
    if pending:
        yield together(pending)
    return None


def barrier(engine: Backend) -> Steps:
    """Be done when all ranks have started it."""
    # An exchange ends only when all ranks have taken part in it.
    yield engine.barrier() if _has(engine, "barrier") else engine.exchange(b"\0", bytearray(engine.size))
    return None


# --- combining -------------------------------------------------------------------------------------------------------


def all_reduce(engine: Backend, tensor: Tensor, op: ReduceOp) -> Steps:
    """Combine all ranks' tensors into each of them."""
    prepared = prepare(engine, tensor, op)
    if _has(engine, "all_reduce") and prepared.native:
        yield engine.all_reduce(prepared.tensor, prepared.op)
        if prepared.plain:
            return None
        result = prepared.tensor
    else:
        result = yield from _combined(engine, prepared)
    write(tensor, prepared.restored(result))
    return None


def reduce(engine: Backend, tensor: Tensor, root: int, op: ReduceOp) -> Steps:
    """Combine all ranks' tensors into root's; those of the others are left as they are."""
    prepared = prepare(engine, tensor, op)
    if _has(engine, "reduce") and prepared.native:
        yield engine.reduce(prepared.tensor, root, prepared.op)
        result = prepared.tensor
    else:
        parts = tt.empty(
            (engine.size, *prepared.tensor.shape), dtype=prepared.tensor.dtype, device=tensor.device
        )
        yield from gather(engine, parts if engine.rank == root else None, prepared.tensor, root)
        if engine.rank == root:
            result = combine(parts, prepared.op.kind)
    if engine.rank == root:
        write(tensor, prepared.restored(result))
    return None


def reduce_scatter(engine: Backend, output: Tensor, input: Tensor, op: ReduceOp) -> Steps:
    """Combine all ranks' inputs, and give each rank its part."""
    prepared = prepare(engine, input.view(engine.size, *output.shape), op)
    if _has(engine, "reduce_scatter") and prepared.native:
        part = tt.empty(prepared.tensor.shape[1:], dtype=prepared.tensor.dtype, device=output.device)
        # Where engine and caller agree on the dtype, the result needs no copy.
        target = output if part.dtype is output.dtype and not output.dtype.is_complex else part
        yield engine.reduce_scatter(target, prepared.tensor, prepared.op)
        result = target
    else:
        rows = prepared.tensor
        count = rows[0].numel()
        parts = tt.empty(rows.shape, dtype=rows.dtype, device=output.device)
        sizes = [count] * engine.size
        # Each rank gets the parts of its own row only, not those of all as by `all_gather_into`.
        yield from all_to_all(engine, parts.view(-1), rows.view(-1), sizes, sizes)
        result = combine(parts, prepared.op.kind)
    write(output, prepared.restored(result))
    return None


def _combined(engine: Backend, prepared: Prepared) -> Generator[Pending, None, Tensor]:
    """Gather all ranks' tensors and combine them, in the order of the ranks: the result is the same on all ranks."""
    input = prepared.tensor
    parts = tt.empty((engine.size, *input.shape), dtype=input.dtype, device=input.device)
    yield engine.all_gather_into(parts, input)
    return combine(parts, prepared.op.kind)


def write(tensor: Tensor, result: Tensor) -> None:
    """Bring a result into the tensor, unless it is there."""
    if result.data_ptr() != tensor.data_ptr():
        tensor.copy_(result)
