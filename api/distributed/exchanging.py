"""Collectives in which each rank has something for every other: reduce_scatter, all_to_all, and their kin."""

from __future__ import annotations

from collections.abc import Sequence

import tt
from tt import Tensor
from tt.distributed import derived
from tt.distributed.backend import Backend
from tt.distributed.call import Call
from tt.distributed.checks import member, one_tensor, same_dtype, same_sizes, tensor_list
from tt.distributed.process_group import ProcessGroup
from tt.distributed.progress import Steps
from tt.distributed.reduce_op import ReduceOp
from tt.distributed.reductions import check_reduction
from tt.distributed.target import Target
from tt.distributed.work import Work
from tt.library import warn_user

__all__ = [
    "all_to_all",
    "all_to_all_single",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
]


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: ReduceOp | ReduceOp.RedOpType = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Combine the lists of all ranks element by element; rank i gets element i.

    Parameters
    ----------
    output : Tensor
        The tensor to fill: any shape and strides.
    input_list : list of Tensor
        One for each rank, with the size and the dtype of ``output``.
    op, group, async_op
        As for `all_reduce`.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     x = tt.zeros(1)
    ...     dist.reduce_scatter(x, [tt.tensor([1.0]), tt.tensor([10.0])])
    ...     return x
    >>> dist.run_threads(program, 2)
    [tensor([2.]), tensor([20.])]
    """
    one_tensor(output, "output")
    inputs = tensor_list(input_list, "input_list")
    same_dtype([output], inputs)
    process_group = member(group, "reduce_scatter")
    if process_group is None:
        return None
    same_sizes(inputs, output.numel(), "input_list", process_group.size())
    return _reduced(process_group, "reduce_scatter", output, inputs, op, async_op)


def reduce_scatter_single(
    output: Tensor,
    input: Tensor,
    op: ReduceOp | ReduceOp.RedOpType = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Combine the tensors of all ranks, and give each rank its part of the result.

    Parameters
    ----------
    output : Tensor
        The tensor to fill: any shape and strides.
    input : Tensor
        As many times the elements of ``output`` as there are ranks.
    op, group, async_op
        As for `all_reduce`.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     x = tt.zeros(2)
    ...     dist.reduce_scatter_single(x, tt.arange(4.0))
    ...     return x
    >>> dist.run_threads(program, 2)
    [tensor([0., 2.]), tensor([4., 6.])]
    """
    one_tensor(output, "output")
    one_tensor(input, "input")
    same_dtype([output, input])
    process_group = member(group, "reduce_scatter_tensor")
    if process_group is None:
        return None
    if input.numel() != process_group.size() * output.numel():
        raise RuntimeError(
            "input tensor size must be equal to world_size times output tensor size:"
            f" {input.numel()} elements, not {process_group.size()} times {output.numel()}"
        )
    return _reduced(process_group, "reduce_scatter_tensor", output, [input], op, async_op)


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: ReduceOp | ReduceOp.RedOpType = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Do as `reduce_scatter_single`, under its former name."""
    warn_user("reduce_scatter_tensor() is deprecated: use reduce_scatter_single", FutureWarning)
    return reduce_scatter_single(output, input, op, group, async_op)


def _reduced(
    group: ProcessGroup,
    name: str,
    output: Tensor,
    inputs: list[Tensor],
    op: ReduceOp | ReduceOp.RedOpType,
    async_op: bool,
) -> Work | None:
    reduction = check_reduction(op, output, name)

    def body(engine: Backend) -> Steps:
        target = Target(output)
        if output.numel():
            flat = [each.detach().reshape(-1) for each in inputs]
            # Engines want the parts of all ranks one after the other in one tensor.
            joined = flat[0].contiguous() if len(flat) == 1 else tt.cat(flat)
            yield from derived.reduce_scatter(engine, target.buffer, joined, reduction)
        target.finish()
        return None

    return group.collective(Call(name, output, op=reduction), output.device.type, body, async_op, [output])


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Send tensor i of a list to rank i, and fill another list with what all ranks send to this one.

    Parameters
    ----------
    output_tensor_list, input_tensor_list : list of Tensor
        One for each rank, of one dtype; sizes may differ, but what one rank sends must have the size that the other
        receives.
    group, async_op
        As for `all_reduce`.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     found = [tt.zeros(1), tt.zeros(1)]
    ...     dist.all_to_all(found, list((tt.arange(2.0) + 10 * dist.get_rank()).chunk(2)))
    ...     return found
    >>> dist.run_threads(program, 2)
    [[tensor([0.]), tensor([10.])], [tensor([1.]), tensor([11.])]]
    """
    outputs = tensor_list(output_tensor_list, "output_tensor_list")
    inputs = tensor_list(input_tensor_list, "input_tensor_list")
    same_dtype(outputs, inputs)
    process_group = member(group, "all_to_all")
    if process_group is None:
        return None
    for name, each in (("output_tensor_list", outputs), ("input_tensor_list", inputs)):
        if len(each) != process_group.size():
            raise RuntimeError(
                f"`{name}` must have one tensor for each of the {process_group.size()} ranks, got {len(each)}"
            )
    sent, received = [each.numel() for each in inputs], [each.numel() for each in outputs]
    # Ranks may exchange different sizes, so counts are not compared in the record; `guard.sizes` compares
    # them in pairs.
    call = Call("all_to_all", inputs[0], compared=False)

    def body(engine: Backend) -> Steps:
        yield from process_group.guard.sizes(engine, call, sent, received)
        buffer = tt.empty(sum(received), dtype=inputs[0].dtype, device=inputs[0].device)
        joined = tt.cat([each.detach().reshape(-1) for each in inputs])
        # Into a buffer, for the tensors of the list need not lie behind each other.
        yield from derived.all_to_all(engine, buffer, joined, received, sent)
        for part, output in zip(buffer.split(received), outputs, strict=True):
            output.detach().copy_(part.view(output.shape))
        return None

    return process_group.collective(call, inputs[0].device.type, body, async_op, outputs)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Send part i of a tensor to rank i, and fill another with the parts that all ranks send to this one.

    Parameters
    ----------
    output, input : Tensor
        Of one dtype; any strides.
    output_split_sizes, input_split_sizes : sequence of int, optional
        The sizes of the parts along dimension 0; by default they are equal.
    group, async_op
        As for `all_reduce`.

    Raises
    ------
    RuntimeError
        The sizes do not add up to those of the tensors, or a tensor cannot be divided equally.
    CollectiveMismatchError
        A rank sends another size than its partner receives.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     found = tt.zeros(2)
    ...     dist.all_to_all_single(found, tt.arange(2.0) + 10 * dist.get_rank())
    ...     return found
    >>> dist.run_threads(program, 2)
    [tensor([ 0., 10.]), tensor([ 1., 11.])]
    """
    one_tensor(output, "output")
    one_tensor(input, "input")
    same_dtype([output, input])
    process_group = member(group, "all_to_all_single")
    if process_group is None:
        return None
    sent = _split_sizes(input, input_split_sizes, process_group.size())
    received = _split_sizes(output, output_split_sizes, process_group.size())
    call = Call("all_to_all_single", input, compared=False)

    def body(engine: Backend) -> Steps:
        yield from process_group.guard.sizes(engine, call, sent, received)
        target = Target(output)
        yield from derived.all_to_all(
            engine, target.buffer.view(-1), input.detach().contiguous().view(-1), received, sent
        )
        target.finish()
        return None

    return process_group.collective(call, input.device.type, body, async_op, [output])


def _split_sizes(tensor: Tensor, given: Sequence[int] | None, size: int) -> list[int]:
    """Return the sizes of the parts for all ranks, in elements."""
    rows = tensor.shape[0] if tensor.ndim else 1
    if not given:
        if rows % size:
            raise RuntimeError(
                f"Tensor's dim 0 does not divide equally across group size: {rows} rows, {size} ranks"
            )
        return [tensor.numel() // size] * size
    if len(given) != size:
        raise RuntimeError(f"Number of tensor splits not equal to group size: {len(given)} and {size}")
    if sum(given) != rows or min(given) < 0:
        raise RuntimeError(f"Split sizes doesn't match total dim 0 size: {list(given)} and {rows} rows")
    # Sizes are in rows, engines count elements.
    row = tensor.numel() // rows if rows else 0
    return [int(each) * row for each in given]
