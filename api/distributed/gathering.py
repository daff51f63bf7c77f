"""Collectives that put tensors together or take them apart: all_gather, gather, scatter, and their kin."""

from __future__ import annotations

import tt
from tt import Tensor
from tt.distributed import derived
from tt.distributed.backend import Backend
from tt.distributed.call import Call
from tt.distributed.checks import group_rank, member, one_tensor, same_dtype, same_sizes, tensor_list
from tt.distributed.process_group import ProcessGroup
from tt.distributed.progress import Steps
from tt.distributed.target import Target
from tt.distributed.work import Work
from tt.library import warn_user

__all__ = [
    "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_single", "gather", "scatter",
]  # fmt: skip


def _rows(tensor: Tensor, size: int) -> Tensor:
    """Return an empty tensor with room for those of all ranks."""
    return tt.empty((size, tensor.numel()), dtype=tensor.dtype, device=tensor.device)


def _spread(rows: Tensor, outputs: list[Tensor]) -> None:
    for row, output in zip(rows, outputs, strict=True):
        output.detach().copy_(row.view(output.shape))


def _joined(inputs: list[Tensor]) -> Tensor:
    return tt.cat([each.detach().reshape(-1) for each in inputs])


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Gather the tensors of all ranks into a list, on every rank.

    Parameters
    ----------
    tensor_list : list of Tensor
        One for each rank, with the size and the dtype of ``tensor``; they are filled.
    tensor : Tensor
        Any shape, strides and dtype; the same number of elements and the same dtype on all ranks.
    group, async_op
        As for `all_reduce`.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     found = [tt.zeros(1), tt.zeros(1)]
    ...     dist.all_gather(found, tt.tensor([dist.get_rank() + 1.0]))
    ...     return found
    >>> dist.run_threads(program, 2)[0]
    [tensor([1.]), tensor([2.])]
    """
    outputs = _checked_list(tensor_list, "tensor_list")
    one_tensor(tensor, "tensor")
    same_dtype(outputs, [tensor])
    process_group = member(group, "all_gather")
    if process_group is None:
        return None
    same_sizes(outputs, tensor.numel(), "tensor_list", process_group.size())

    def body(engine: Backend) -> Steps:
        # The tensors of the list need not be contiguous, nor lie behind each other.
        rows = _rows(tensor, engine.size)
        if tensor.numel():
            yield from derived.all_gather(engine, rows, tensor.detach().contiguous())
        _spread(rows, outputs)
        return None

    return process_group.collective(Call("all_gather", tensor), tensor.device.type, body, async_op, outputs)


_checked_list = tensor_list  # whose name is that of all_gather's first argument


def all_gather_single(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Gather the tensors of all ranks into one tensor, on every rank.

    Parameters
    ----------
    output_tensor : Tensor
        As many times the elements of ``input_tensor`` as there are ranks: the inputs one after the other.
    input_tensor : Tensor
        Any shape, strides and dtype; the same number of elements and the same dtype on all ranks.
    group, async_op
        As for `all_reduce`.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     found = tt.zeros(4)
    ...     dist.all_gather_single(found, tt.full((2,), dist.get_rank() + 1.0))
    ...     return found
    >>> dist.run_threads(program, 2)[0]
    tensor([1., 1., 2., 2.])
    """
    one_tensor(input_tensor, "input_tensor")
    one_tensor(output_tensor, "output_tensor")
    same_dtype([output_tensor, input_tensor])
    process_group = member(group, "all_gather_into_tensor")
    if process_group is None:
        return None
    if output_tensor.numel() != process_group.size() * input_tensor.numel():
        raise RuntimeError(
            "output tensor size must be equal to world_size times input tensor size:"
            f" {output_tensor.numel()} elements, not {process_group.size()} times {input_tensor.numel()}"
        )

    def body(engine: Backend) -> Steps:
        target = Target(output_tensor)
        if input_tensor.numel():
            yield from derived.all_gather(engine, target.buffer, input_tensor.detach().contiguous())
        target.finish()
        return None

    call = Call("all_gather_into_tensor", input_tensor)
    return process_group.collective(call, input_tensor.device.type, body, async_op, [output_tensor])


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Do as `all_gather_single`, under its former name."""
    warn_user("all_gather_into_tensor() is deprecated: use all_gather_single", FutureWarning)
    return all_gather_single(output_tensor, input_tensor, group, async_op)


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Gather several tensors of all ranks at once.

    Deprecated, as in PyTorch.

    Parameters
    ----------
    output_tensor_lists : list of list of Tensor
        For each rank a list like ``input_tensor_list``; they are filled.
    input_tensor_list : list of Tensor
        Of one dtype; the same numbers of elements on all ranks.
    group, async_op
        As for `all_reduce`.
    """
    warn_user(
        "all_gather_coalesced() is deprecated\n  try: all_gather of each, in a _coalescing_manager",
        FutureWarning,
    )
    inputs = _checked_list(input_tensor_list, "input_tensor_list")
    if not isinstance(output_tensor_lists, (list, tuple)):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    outputs = [_checked_list(each, "output_tensor_lists") for each in output_tensor_lists]
    same_dtype(inputs, *outputs)
    process_group = member(group, "all_gather_coalesced")
    if process_group is None or not inputs:
        return None
    for row in outputs:
        if [each.numel() for each in row] != [each.numel() for each in inputs]:
            raise RuntimeError("`output_tensor_lists`: each list must have tensors of the inputs' sizes")
    if len(outputs) != process_group.size():
        raise RuntimeError(
            f"`output_tensor_lists` must have a list for each of the {process_group.size()} ranks"
        )

    def body(engine: Backend) -> Steps:
        for at, tensor in enumerate(inputs):
            rows = _rows(tensor, engine.size)
            if tensor.numel():
                yield from derived.all_gather(engine, rows, tensor.detach().contiguous())
            _spread(rows, [row[at] for row in outputs])
        return None

    sizes = [each.numel() for each in inputs]
    call = Call("all_gather_coalesced", inputs[0], agree=sizes, detail=f"and {len(inputs) - 1} more")
    return process_group.collective(
        call, inputs[0].device.type, body, async_op, [each for row in outputs for each in row]
    )


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Gather the tensors of all ranks into a list, on one rank.

    Parameters
    ----------
    tensor : Tensor
        Any shape, strides and dtype; the same number of elements and the same dtype on all ranks.
    gather_list : list of Tensor, optional
        One for each rank, which are filled; only on the rank that gathers.
    dst : int
        The rank of the job that gathers (0 by default); or ``group_dst``, a rank of the group.
    group, async_op
        As for `all_reduce`.
    group_dst : int
        See ``dst``.

    Raises
    ------
    ValueError
        ``gather_list`` is missing where it is needed, or there where it is not.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     found = [tt.zeros(1), tt.zeros(1)] if dist.get_rank() == 0 else None
    ...     dist.gather(tt.tensor([dist.get_rank() + 1.0]), found, dst=0)
    ...     return found
    >>> dist.run_threads(program, 2)
    [[tensor([1.]), tensor([2.])], None]
    """
    one_tensor(tensor, "tensor")
    outputs = _checked_list(gather_list, "gather_list") if gather_list else []
    same_dtype(outputs, [tensor])
    process_group = member(group, "gather")
    if process_group is None:
        return None
    root = group_rank(process_group, dst, group_dst, "gather", default=0)
    if process_group.rank() == root:
        if not outputs:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        same_sizes(outputs, tensor.numel(), "gather_list", process_group.size())
    elif outputs:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")

    def body(engine: Backend) -> Steps:
        rows = _rows(tensor, engine.size) if engine.rank == root else None
        if tensor.numel():
            yield from derived.gather(engine, rows, tensor.detach().contiguous(), root)
        if rows is not None:
            _spread(rows, outputs)
        return None

    return process_group.collective(
        Call("gather", tensor, root=root), tensor.device.type, body, async_op, outputs
    )


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give each rank one tensor of a list that one rank has.

    Parameters
    ----------
    tensor : Tensor
        The tensor to fill: any shape, strides and dtype.
    scatter_list : list of Tensor, optional
        One for each rank, with the size and the dtype of ``tensor``; only on the rank that scatters.
    src : int
        The rank of the job that scatters (0 by default); or ``group_src``, a rank of the group.
    group, async_op
        As for `all_reduce`.
    group_src : int
        See ``src``.

    Raises
    ------
    ValueError
        ``scatter_list`` is missing where it is needed, or there where it is not.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     x = tt.zeros(1)
    ...     dist.scatter(x, [tt.ones(1), tt.ones(1) * 2] if dist.get_rank() == 0 else None, src=0)
    ...     return x
    >>> dist.run_threads(program, 2)
    [tensor([1.]), tensor([2.])]
    """
    one_tensor(tensor, "tensor")
    inputs = _checked_list(scatter_list, "scatter_list") if scatter_list else []
    same_dtype([tensor], inputs)
    process_group = member(group, "scatter")
    if process_group is None:
        return None
    root = group_rank(process_group, src, group_src, "scatter", default=0)
    if process_group.rank() == root:
        if not inputs:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        same_sizes(inputs, tensor.numel(), "scatter_list", process_group.size())
    elif inputs:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")

    def body(engine: Backend) -> Steps:
        target = Target(tensor)
        if tensor.numel():
            parts = _joined(inputs) if engine.rank == root else None
            yield from derived.scatter(engine, target.buffer, parts, root)
        target.finish()
        return None

    return process_group.collective(
        Call("scatter", tensor, root=root), tensor.device.type, body, async_op, [tensor]
    )
