"""Sums of sparse tensors over ranks: indices and values of all ranks are gathered, and equal indices added up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import tt
from tt import Tensor
from tt.distributed import derived, ranks
from tt.distributed.backend import Backend
from tt.distributed.call import Call
from tt.distributed.process_group import ProcessGroup
from tt.distributed.progress import Steps
from tt.distributed.reduce_op import ReduceOp
from tt.distributed.work import Work

__all__ = ["SparseGradients", "all_reduce_sparse"]


def all_reduce_sparse(tensor: Tensor, op: ReduceOp, group: ProcessGroup, async_op: bool) -> Work | None:
    """Replace a sparse COO tensor by the sum over all ranks, coalesced; see `tt.distributed.all_reduce`.

    Parameters
    ----------
    tensor : Tensor
        Of the same size, dtype and number of sparse dimensions on all ranks; with any number of elements.
    op : ReduceOp
        ``SUM`` or ``AVG``.
    group : ProcessGroup
        The ranks.
    async_op : bool
        Whether to return at once.

    Raises
    ------
    NotImplementedError
        The tensor has another layout than COO.
    RuntimeError
        Another operation than a sum or an average is asked for.
    """
    if tensor.layout is not tt.sparse_coo:
        raise NotImplementedError(
            f"parameter `tensor`: tensors must be dense or sparse COO, got layout {tensor.layout}"
        )
    if op.kind not in (ReduceOp.SUM, ReduceOp.AVG):
        raise RuntimeError(
            f"all_reduce: sparse tensors are added up or averaged, and not combined by {op.kind.name}"
        )
    sparse = tensor.detach().coalesce()
    indices, values = sparse.indices(), sparse.values()

    def body(engine: Backend) -> Steps:
        counts = tt.empty(engine.size, dtype=tt.int64, device=values.device)
        yield from derived.all_gather(engine, counts, tt.tensor([values.shape[0]], device=values.device))
        lengths = counts.tolist()
        # Engines gather pieces of one length: short ones are filled up, and what fills them is cut off below.
        missing = max(lengths) - values.shape[0]
        parts = []
        # Elements first, because pieces of all ranks are put together along the first dimension.
        for piece in (indices.mT.contiguous(), values):
            padded = tt.cat([piece, piece.new_zeros((missing, *piece.shape[1:]))]).contiguous()
            rows = padded.new_empty((engine.size, *padded.shape))
            if padded.numel():
                yield from derived.all_gather(engine, rows, padded)
            parts.append(tt.cat([row[:length] for row, length in zip(rows, lengths, strict=True)]))
        # To coalesce is to add up the elements of one index: here, those of all ranks.
        total = tt.sparse_coo_tensor(parts[0].mT, parts[1], tensor.shape).coalesce()
        tensor.detach().copy_(total / engine.size if op.kind is ReduceOp.AVG else total)
        return None

    agree = [tuple(tensor.shape), tensor.sparse_dim()]
    call = Call("all_reduce", tensor, op=op, agree=agree, detail="in sparse COO layout")
    return group.collective(call, tensor.device.type, body, async_op, [tensor])


class SparseGradients:
    """The sparse gradients of a model in `DistributedDataParallel`: of embeddings with ``sparse=True``.

    They are reduced at the end of backward: the layer that makes them is usually the first of a model, whose gradients
    arrive last.

    Parameters
    ----------
    parameters : mapping of int to Parameter
        The number of a parameter -> the parameter.
    group : ProcessGroup
        The ranks.
    """

    def __init__(self, parameters: Mapping[int, Tensor], group: ProcessGroup) -> None:
        self.places = sorted(parameters)
        self._parameters = parameters
        self._group = group
        self._under_way: list[tuple[int, Tensor, Any]] = []

    def start(self, used: bool, divisor: float) -> None:
        """Start to add up the gradients of all ranks, divided; without ``used`` this rank has none."""
        for position in self.places:
            parameter = self._parameters[position]
            gradient = parameter.grad if used else None
            if gradient is None:
                shape, rows = parameter.shape, parameter.new_empty((0, *parameter.shape[1:]))
                none = tt.empty((1, 0), dtype=tt.int64, device=parameter.device)
                # A rank without a gradient takes part with no elements: all must call the same
                # collectives.
                part = tt.sparse_coo_tensor(none, rows.detach(), shape)
            else:
                part = gradient.detach().coalesce() / divisor
            work = all_reduce_sparse(part, ReduceOp(ReduceOp.SUM), self._group, True)
            self._under_way.append((position, part, work))

    def hand_out(self, unused: Iterable[int]) -> None:
        """Wait, and give each parameter its average, except those that no rank has used."""
        under_way, self._under_way = self._under_way, []
        for position, part, work in under_way:
            if work is not None:
                work.wait()
            if position not in unused:
                self._parameters[position].grad = part

    def forget(self) -> None:
        """Let go of what was started; it ends by itself."""
        self._under_way = []

    def check(self, place: int, gradient: Tensor | None) -> None:
        """Raise where a gradient breaks the module's promise: sparse for these parameters, dense for others."""
        sparse = gradient is not None and gradient.layout is not tt.strided
        if gradient is None or sparse == (place in self._parameters):
            return
        rank = ranks.get_rank(self._group)
        if sparse:
            raise RuntimeError(
                f"DistributedDataParallel: parameter {place} of rank {rank} has a sparse gradient, and does not belong "
                "to an Embedding or EmbeddingBag with sparse=True"
            )
        raise RuntimeError(
            f"DistributedDataParallel: parameter {place} of rank {rank} has a dense gradient, and belongs to an "
            "Embedding or EmbeddingBag with sparse=True\n  try: sparse=False where the weight is used elsewhere, too"
        )
