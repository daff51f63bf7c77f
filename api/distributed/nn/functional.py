"""Collectives that return their results and have gradients.

Every rank's result is thought of as a part of one loss, the sum of all ranks' losses: a gradient collects what all
ranks' results owe to this rank's input.  All ranks must call `backward`, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tt
import tt.distributed as dist
from tt import Tensor
from tt.autograd import Function
from tt.distributed.process_group import ProcessGroup
from tt.distributed.reduce_op import ReduceOp

if TYPE_CHECKING:
    from tt.autograd.function import FunctionCtx

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter",
    "scatter",
]  # fmt: skip


def _copy(tensor: Tensor) -> Tensor:
    return tensor.detach().clone(memory_format=tt.contiguous_format)


def _sum_or_average(op: ReduceOp | ReduceOp.RedOpType, name: str) -> ReduceOp:
    reduction = ReduceOp(op)
    if reduction.kind not in (ReduceOp.SUM, ReduceOp.AVG):
        raise ValueError(f"{name}: only SUM and AVG have gradients, got {reduction.kind.name}")
    return reduction


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, op: ReduceOp, group: ProcessGroup | None) -> Tensor:
        ctx.op, ctx.group = op, group
        result = _copy(tensor)
        dist.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Any:
        # Each rank's result depends on each rank's tensor in the same way, so the gradients combine like
        # the values.
        return _AllReduce.apply(grad, ctx.op, ctx.group), None, None


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, root: int, group: ProcessGroup | None) -> Tensor:
        ctx.root, ctx.group = root, group
        result = _copy(tensor)
        dist.broadcast(result, root, group)
        return result

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Any:
        # Root's tensor is in the results of all ranks, so root gets the sum of their gradients.
        return _Reduce.apply(grad, ctx.root, ReduceOp(ReduceOp.SUM), ctx.group), None, None


class _Reduce(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, tensor: Tensor, root: int, op: ReduceOp, group: ProcessGroup | None
    ) -> Tensor:
        ctx.root, ctx.op, ctx.group = root, op, group
        result = _copy(tensor)
        dist.reduce(result, root, op, group)
        # The other ranks' tensors stay as they were, and would have another gradient than that of
        # `backward`.
        return result if dist.get_rank() == root else tt.zeros_like(result)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Any:
        # Only root's result depends on the tensors of the ranks.
        gradient = _Broadcast.apply(grad, ctx.root, ctx.group)
        if ctx.op.kind is ReduceOp.AVG:
            gradient = gradient / dist.get_world_size(ctx.group)
        return gradient, None, None, None


class _AllGather(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, group: ProcessGroup | None) -> Tensor:
        ctx.group = group
        result = tt.empty(
            (dist.get_world_size(group), *tensor.shape), dtype=tensor.dtype, device=tensor.device
        )
        dist.all_gather_single(result, tensor, group)
        return result

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Any:
        # Each rank's row is in the results of all ranks: its gradient is the sum of theirs.
        return _ReduceScatter.apply(grad, ReduceOp(ReduceOp.SUM), ctx.group), None


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, rows: Tensor, op: ReduceOp, group: ProcessGroup | None) -> Tensor:
        ctx.op, ctx.group = op, group
        result = tt.empty(rows.shape[1:], dtype=rows.dtype, device=rows.device)
        dist.reduce_scatter_single(result, rows, op, group)
        return result

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Any:
        gradient = _AllGather.apply(grad, ctx.group)
        if ctx.op.kind is ReduceOp.AVG:
            gradient = gradient / dist.get_world_size(ctx.group)
        return gradient, None, None


class _Gather(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, root: int, group: ProcessGroup | None) -> Tensor:
        ctx.root, ctx.group = root, group
        # Zeros on the other ranks, which depend on nothing.
        rows = tt.zeros((dist.get_world_size(group), *tensor.shape), dtype=tensor.dtype, device=tensor.device)
        dist.gather(tensor, list(rows) if dist.get_rank() == root else None, root, group)
        return rows

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Any:
        return _Scatter.apply(grad, ctx.root, ctx.group), None, None


class _Scatter(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, rows: Tensor, root: int, group: ProcessGroup | None) -> Tensor:
        ctx.root, ctx.group = root, group
        result = tt.empty(rows.shape[1:], dtype=rows.dtype, device=rows.device)
        dist.scatter(result, list(rows) if dist.get_rank() == root else None, root, group)
        return result

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Any:
        return _Gather.apply(grad, ctx.root, ctx.group), None, None


class _AllToAll(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, tensor: Tensor, received: list[int], sent: list[int], group: ProcessGroup | None
    ) -> Tensor:
        ctx.received, ctx.sent, ctx.group = received, sent, group
        result = tt.empty((sum(received), *tensor.shape[1:]), dtype=tensor.dtype, device=tensor.device)
        dist.all_to_all_single(result, tensor, received, sent, group)
        return result

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> Any:
        # What was received goes back where it came from.
        return _AllToAll.apply(grad.contiguous(), ctx.sent, ctx.received, ctx.group), None, None, None


def all_reduce(
    tensor: Tensor, op: ReduceOp | ReduceOp.RedOpType = ReduceOp.SUM, group: ProcessGroup | None = None
) -> Tensor:
    """Return the combination of all ranks' tensors.

    Parameters
    ----------
    tensor : Tensor
        The same shape and dtype on all ranks; it is not changed.
    op : ReduceOp
        ``SUM`` or ``AVG``.
    group : ProcessGroup, optional
        By default the group of all ranks.

    Raises
    ------
    ValueError
        Another ``op``, which has no gradient here.

    Examples
    --------
    >>> import tt, tt.distributed as dist, tt.distributed.nn
    >>> def program():
    ...     x = tt.tensor([dist.get_rank() + 1.0], requires_grad=True)
    ...     y = dist.nn.all_reduce(x * x)
    ...     y.sum().backward()
    ...     return y.item(), x.grad.item()
    >>> dist.run_threads(program, 2)
    [(5.0, 4.0), (5.0, 8.0)]
    """
    result: Tensor = _AllReduce.apply(tensor, _sum_or_average(op, "all_reduce"), group)
    return result


def broadcast(tensor: Tensor, src: int, group: ProcessGroup | None = None) -> Tensor:
    """Return the tensor of one rank.

    Parameters
    ----------
    tensor : Tensor
        The same shape and dtype on all ranks; it is not changed.
    src : int
        The rank of the job whose tensor it is.
    group : ProcessGroup, optional
        By default the group of all ranks.
    """
    result: Tensor = _Broadcast.apply(tensor, src, group)
    return result


def reduce(
    tensor: Tensor,
    dst: int,
    op: ReduceOp | ReduceOp.RedOpType = ReduceOp.SUM,
    group: ProcessGroup | None = None,
) -> Tensor:
    """Return the combination of all ranks' tensors on one rank, and zeros on the others.

    Parameters
    ----------
    tensor : Tensor
        The same shape and dtype on all ranks; it is not changed.
    dst : int
        The rank of the job that gets the result.
    op, group
        As for `all_reduce`.
    """
    result: Tensor = _Reduce.apply(tensor, dst, _sum_or_average(op, "reduce"), group)
    return result


def all_gather(tensor: Tensor, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """Return the tensors of all ranks.

    Parameters
    ----------
    tensor : Tensor
        The same shape and dtype on all ranks.
    group : ProcessGroup, optional
        By default the group of all ranks.

    Examples
    --------
    >>> import tt, tt.distributed as dist, tt.distributed.nn
    >>> def program():
    ...     x = tt.tensor([1.0], requires_grad=True)
    ...     first, second = dist.nn.all_gather(x)
    ...     (first + 2 * second).sum().backward()
    ...     return x.grad.item()
    >>> dist.run_threads(program, 2)
    [2.0, 4.0]
    """
    rows: Tensor = _AllGather.apply(tensor, group)
    return tuple(rows.unbind(0))


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: ReduceOp | ReduceOp.RedOpType = ReduceOp.SUM,
    group: ProcessGroup | None = None,
) -> Tensor:
    """Combine the lists of all ranks element by element, and return element i on rank i.

    Parameters
    ----------
    output : Tensor
        Taken for PyTorch's sake: its shape and dtype must be those of the inputs, and it stays as it is.
    input_list : sequence of Tensor
        One for each rank, of one shape and dtype.
    op, group
        As for `all_reduce`.
    """
    result: Tensor = _ReduceScatter.apply(
        tt.stack(list(input_list)), _sum_or_average(op, "reduce_scatter"), group
    )
    return result


def gather(tensor: Tensor, dst: int = 0, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """Return the tensors of all ranks on one rank, and zeros on the others.

    Parameters
    ----------
    tensor : Tensor
        The same shape and dtype on all ranks.
    dst : int
        The rank of the job that gets them.
    group : ProcessGroup, optional
        By default the group of all ranks.
    """
    rows: Tensor = _Gather.apply(tensor, dst, group)
    return tuple(rows.unbind(0))


def scatter(tensors: Sequence[Tensor], src: int = 0, group: ProcessGroup | None = None) -> Tensor:
    """Return element i of one rank's list on rank i.

    Parameters
    ----------
    tensors : sequence of Tensor
        One for each rank, of one shape and dtype, on all ranks; those of other ranks than ``src`` are not sent.
    src : int
        The rank of the job whose list it is.
    group : ProcessGroup, optional
        By default the group of all ranks.
    """
    result: Tensor = _Scatter.apply(tt.stack(list(tensors)), src, group)
    return result


def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: ProcessGroup | None = None,
) -> tuple[Tensor, ...]:
    """Send tensor i of a list to rank i, and return what all ranks send to this one.

    Parameters
    ----------
    output_tensor_list : sequence of Tensor
        They say the shapes of what comes, and stay as they are.
    input_tensor_list : sequence of Tensor
        One for each rank, of one dtype.
    group : ProcessGroup, optional
        By default the group of all ranks.
    """
    sent = [each.numel() for each in input_tensor_list]
    received = [each.numel() for each in output_tensor_list]
    flat: Tensor = _AllToAll.apply(
        tt.cat([each.reshape(-1) for each in input_tensor_list]), received, sent, group
    )
    parts = flat.split(received)
    return tuple(part.reshape(like.shape) for part, like in zip(parts, output_tensor_list, strict=True))


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: ProcessGroup | None = None,
) -> Tensor:
    """Send part i of a tensor to rank i, and return the parts that all ranks send to this one.

    Parameters
    ----------
    output : Tensor
        It says the shape of what comes, and stays as it is.
    input : Tensor
        The tensor to send.
    output_split_sizes, input_split_sizes : sequence of int, optional
        The sizes of the parts along dimension 0; by default they are equal.
    group : ProcessGroup, optional
        By default the group of all ranks.
    """
    size = dist.get_world_size(group)
    sent = list(input_split_sizes or [input.shape[0] // size] * size)
    received = list(output_split_sizes or [output.shape[0] // size] * size)
    result: Tensor = _AllToAll.apply(input, received, sent, group)
    return result
