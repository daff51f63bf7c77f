"""Collectives with one tensor: all_reduce, reduce, broadcast, barrier, and several all_reduce in one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import tt
from tt import Tensor
from tt.distributed import derived
from tt.distributed.backend import Backend
from tt.distributed.call import Call
from tt.distributed.carried import Carried
from tt.distributed.checks import group_rank, member, one_tensor, same_dtype, tensor_list
from tt.distributed.process_group import ProcessGroup
from tt.distributed.progress import Steps
from tt.distributed.reduce_op import ReduceOp
from tt.distributed.reductions import check_reduction
from tt.distributed.sparse_reduction import all_reduce_sparse
from tt.distributed.target import Target
from tt.distributed.work import Work
from tt.library import warn_user
from tt.types import Device

__all__ = [
    "_coalescing_manager", "all_reduce", "all_reduce_coalesced", "barrier", "broadcast", "monitored_barrier", "reduce",
]  # fmt: skip


def all_reduce(
    tensor: Tensor,
    op: ReduceOp | ReduceOp.RedOpType = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Combine the tensors of all ranks; each of them gets the result, in place.

    Parameters
    ----------
    tensor : Tensor
        Any shape and strides, the same number of elements and the same dtype on all ranks.  Sparse COO tensors are
        added up or averaged, and coalesced.
    op : ReduceOp
        How they are combined.  float16 and bfloat16 are combined in float32 and rounded once.
    group : ProcessGroup, optional
        By default the group of all ranks.
    async_op : bool
        Whether to return at once, with a `Work`.

    Returns
    -------
    Work or None
        With ``async_op``; wait for it before using the tensor.

    Raises
    ------
    CollectiveMismatchError
        Another rank called something else, or with another size or dtype.
    DistTimeoutError
        Not all ranks called it within the timeout.
    RuntimeError, ValueError
        The dtype has no such reduction.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     x = tt.tensor([1.0, 2.0]) * dist.get_rank()
    ...     dist.all_reduce(x)
    ...     return x
    >>> dist.run_threads(program, 3)[0]
    tensor([3., 6.])
    """
    sparse = getattr(tensor, "layout", tt.strided) is not tt.strided
    if not sparse:
        one_tensor(tensor, "tensor")
    process_group = member(group, "all_reduce")
    if process_group is None:
        return None
    reduction = check_reduction(op, tensor, "all_reduce")
    if sparse:
        return all_reduce_sparse(tensor, reduction, process_group, async_op)

    def body(engine: Backend) -> Steps:
        target = Target(tensor)
        if tensor.numel():
            yield from derived.all_reduce(engine, target.buffer, reduction)
        target.finish()
        return None

    call, device = Call("all_reduce", tensor, op=reduction), tensor.device.type
    # A small tensor travels within the guard's record, which saves a round of messages.
    carried = Carried(tensor, reduction) if device == "cpu" and call.count else None
    return process_group.collective(call, device, body, async_op, [tensor], carried=carried)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp | ReduceOp.RedOpType = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Combine the tensors of all ranks into that of one rank; those of the others stay as they are.

    Parameters
    ----------
    tensor : Tensor
        Any shape and strides, the same number of elements and the same dtype on all ranks.
    dst : int
        The rank of the job that gets the result; or ``group_dst``, a rank of the group.
    op, group, async_op
        As for `all_reduce`.
    group_dst : int
        See ``dst``.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     x = tt.tensor([dist.get_rank() + 1])
    ...     dist.reduce(x, dst=0, op=dist.ReduceOp.MAX)
    ...     return x.item()
    >>> dist.run_threads(program, 3)
    [3, 2, 3]
    """
    one_tensor(tensor, "tensor")
    process_group = member(group, "reduce")
    if process_group is None:
        return None
    root = group_rank(process_group, dst, group_dst, "reduce")
    reduction = check_reduction(op, tensor, "reduce")

    def body(engine: Backend) -> Steps:
        target = Target(tensor)
        if tensor.numel():
            yield from derived.reduce(engine, target.buffer, root, reduction)
        # The other ranks' tensors have not changed, so autograd must not be told that they have.
        if engine.rank == root:
            target.finish()
        return None

    call = Call("reduce", tensor, root=root, op=reduction)
    fills = process_group.rank() == root
    return process_group.collective(call, tensor.device.type, body, async_op, [tensor], fills=fills)


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy the tensor of one rank into those of all others.

    Parameters
    ----------
    tensor : Tensor
        Any shape, strides and dtype; the same number of elements and the same dtype on all ranks.
    src : int
        The rank of the job that has it; or ``group_src``, a rank of the group.
    group, async_op
        As for `all_reduce`.
    group_src : int
        See ``src``.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     x = tt.tensor([dist.get_rank()])
    ...     dist.broadcast(x, src=1)
    ...     return x.item()
    >>> dist.run_threads(program, 3)
    [1, 1, 1]
    """
    one_tensor(tensor, "tensor")
    process_group = member(group, "broadcast")
    if process_group is None:
        return None
    root = group_rank(process_group, src, group_src, "broadcast")

    def body(engine: Backend) -> Steps:
        target = Target(tensor)
        if tensor.numel():
            yield from derived.broadcast(engine, target.buffer, root)
        # Root's tensor has not changed, so autograd must not be told that it has.
        if engine.rank != root:
            target.finish()
        return None

    call, fills = Call("broadcast", tensor, root=root), process_group.rank() != root
    return process_group.collective(call, tensor.device.type, body, async_op, [tensor], fills=fills)


def barrier(
    group: ProcessGroup | None = None,
    async_op: bool = False,
    device_ids: Any = None,
    timeout: timedelta | None = None,
) -> Work | None:
    """Wait until all ranks of a group have called it.

    Parameters
    ----------
    group, async_op
        As for `all_reduce`.
    device_ids : list of int, optional
        Taken for programs that are written for NCCL.
    timeout : timedelta, optional
        By default that of the group.

    Raises
    ------
    TypeError
        ``device_ids`` is not a list of integers.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> dist.run_threads(dist.barrier, 3)
    [None, None, None]
    """
    process_group = member(group, "barrier")
    if process_group is None:
        return None
    if device_ids is not None and not (
        isinstance(device_ids, list) and all(isinstance(each, int) for each in device_ids)
    ):
        raise TypeError("Invalid function argument: device_ids type should be List[int]")

    def body(engine: Backend) -> Steps:
        if not process_group.guard.enabled:  # otherwise the ranks have just met
            yield from derived.barrier(engine)
        return None

    return process_group.collective(
        Call("barrier"), process_group.first_device, body, async_op, timeout=timeout
    )


def monitored_barrier(
    group: ProcessGroup | None = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """Wait until all ranks have called it; the error names those that have not.

    Every operation of tt names them; this one exists for programs that call it.

    Parameters
    ----------
    group : ProcessGroup, optional
        By default the group of all ranks.
    timeout : timedelta, optional
        By default that of the group.
    wait_all_ranks : bool
        Taken for PyTorch's sake: always all ranks that are missing are named.

    Raises
    ------
    DistTimeoutError
        Not all ranks came within the timeout.
    """
    process_group = member(group, "monitored_barrier")
    if process_group is None:
        return

    def body(engine: Backend) -> Steps:
        if not process_group.guard.enabled:
            yield from derived.barrier(engine)
        return None

    process_group.collective(
        Call("monitored_barrier"), process_group.first_device, body, False, timeout=timeout
    )


def all_reduce_coalesced(
    tensors: list[Tensor],
    op: ReduceOp | ReduceOp.RedOpType = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Do `all_reduce` for several tensors at once.

    Deprecated, as in PyTorch.

    Parameters
    ----------
    tensors : list of Tensor
        Of one dtype; the same numbers of elements on all ranks.
    op, group, async_op
        As for `all_reduce`.

    Examples
    --------
    >>> import tt, tt.distributed as dist, warnings
    >>> def program():
    ...     pair = [tt.ones(2), tt.ones(1)]
    ...     dist.all_reduce_coalesced(pair)
    ...     return pair
    >>> with warnings.catch_warnings(action="ignore"):
    ...     dist.run_threads(program, 2)[0]
    [tensor([2., 2.]), tensor([2.])]
    """
    warn_user(
        "all_reduce_coalesced() is deprecated\n  try: all_reduce of each, in a _coalescing_manager",
        FutureWarning,
    )
    inputs = tensor_list(tensors, "tensors")
    same_dtype(inputs)
    process_group = member(group, "all_reduce_coalesced")
    if process_group is None or not inputs:
        return None
    reduction = check_reduction(op, inputs[0], "all_reduce_coalesced")

    def body(engine: Backend) -> Steps:
        # Without a guard the ranks have agreed on nothing, so each tensor is a collective of its own.
        for tensor in inputs:
            target = Target(tensor)
            if tensor.numel():
                yield from derived.all_reduce(engine, target.buffer, reduction)
            target.finish()
        return None

    sizes = [each.numel() for each in inputs]
    call = Call(
        "all_reduce_coalesced", inputs[0], op=reduction, agree=sizes, detail=f"and {len(inputs) - 1} more"
    )
    return process_group.collective(call, inputs[0].device.type, body, async_op, inputs)


class _CoalescingManager:
    """What was started within `_coalescing_manager`."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None) -> None:
        """Take up an operation."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Wait for all operations."""
        for work in self.works:
            work.wait()


@contextmanager
def _coalescing_manager(
    group: ProcessGroup | None = None, device: Device = None, async_ops: bool = False
) -> Iterator[_CoalescingManager]:
    """Start the collectives of a block together; wait for them at its end, or with ``async_ops`` when asked.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     x, y = tt.ones(2), tt.ones(1)
    ...     with dist._coalescing_manager():
    ...         dist.all_reduce(x)
    ...         dist.all_reduce(y)
    ...     return x, y
    >>> dist.run_threads(program, 2)[0]
    (tensor([2., 2.]), tensor([2.]))
    """
    manager = _CoalescingManager()
    process_group = member(group, "_coalescing_manager")
    if process_group is None:
        yield manager
        return
    if process_group.coalescing is not None:
        raise ValueError("_coalescing_manager: the group is in another one already")
    process_group.coalescing = manager.works
    try:
        yield manager
    finally:
        process_group.coalescing = None
    if not async_ops:
        manager.wait()
