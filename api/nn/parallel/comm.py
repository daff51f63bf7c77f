"""Copies of tensors on several devices, pieces of them, and their sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tt
from tt.errors import ShapeError, ValueRangeError
from tt.library import warn_user
from tt.nn.parallel.scatter_gather import accelerator

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def _one_of(name: str, given: object, out: object, what: str) -> None:
    """Raise unless exactly one of two arguments is given."""
    if (given is None) is (out is None):
        raise ValueRangeError(f"{name}(): give exactly one of {what} and out")


def broadcast(
    tensor: tt.Tensor, devices: Iterable[Any] | None = None, *, out: Sequence[tt.Tensor] | None = None
) -> tuple[tt.Tensor, ...]:
    """Return copies of a tensor on several devices.

    Parameters
    ----------
    tensor : Tensor
        On the CPU or on a GPU; where it lies already, it is not copied.
    devices : iterable of int or device, optional
        GPUs; the CPU is refused, as in PyTorch.
    out : sequence of Tensor, optional
        What is filled instead.

    Raises
    ------
    ValueRangeError
        If both or none of `devices` and `out` are given, or a device is the CPU.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.parallel.comm import broadcast
    >>> [copy.device for copy in broadcast(tt.ones(2), ["meta", "meta"])]
    [device(type='meta'), device(type='meta')]
    """
    _one_of("broadcast", devices, out, "devices")
    if out is not None:
        for copy in out:
            copy.copy_(tensor)
        return tuple(out)
    return tuple(tensor.to(accelerator(device), non_blocking=True) for device in devices or ())


def broadcast_coalesced(
    tensors: Sequence[tt.Tensor], devices: Iterable[Any], buffer_size: int = 10485760
) -> tuple[tuple[tt.Tensor, ...], ...]:
    """Return for each device the copies of several tensors.

    Parameters
    ----------
    tensors : sequence of Tensor
        On one device.
    devices : iterable of int or device
        GPUs.
    buffer_size : int
        PyTorch's size of a buffer in bytes; the copies follow each other on the stream without one.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.parallel.comm import broadcast_coalesced
    >>> [len(row) for row in broadcast_coalesced([tt.ones(2), tt.ones(3)], ["meta"])]
    [2]
    """
    # Not joined in buffers as in PyTorch: that saves calls, and the results are the same.
    return tuple(tuple(broadcast(tensor, [device])[0] for tensor in tensors) for device in devices)


def reduce_add(inputs: Sequence[tt.Tensor], destination: int | tt.device | None = None) -> tt.Tensor:
    """Return the sum of tensors of several devices, on one device.

    Parameters
    ----------
    inputs : sequence of Tensor
        On GPUs, of one shape; they stay as they are.
    destination : int or device, optional
        Where the sum lies; by default the current GPU.

    Raises
    ------
    ShapeError
        If the shapes differ.
    ValueRangeError
        If there are no inputs, or one lies on the CPU.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.parallel.comm import reduce_add
    >>> reduce_add([tt.ones(2, device="meta")] * 2, "meta").shape
    tt.Size([2])
    """
    inputs = list(inputs)
    if not inputs:
        raise ValueRangeError("reduce_add(): there are no inputs")
    for tensor in inputs:
        accelerator(tensor.device)
        if tensor.shape != inputs[0].shape:
            raise ShapeError(
                f"reduce_add(): inputs have one shape, not {list(inputs[0].shape)} and {list(tensor.shape)}"
            )
    target = tt.device("cuda") if destination is None else accelerator(destination)
    # A copy in any case, because the sum is made in place.
    total = inputs[0].to(target, copy=True)
    for tensor in inputs[1:]:
        total.add_(tensor.to(target, non_blocking=True))
    return total


def reduce_add_coalesced(
    inputs: Iterable[Iterable[tt.Tensor]],
    destination: int | tt.device | None = None,
    buffer_size: int = 10485760,
) -> tuple[tt.Tensor, ...]:
    """Return the sums of the tensors that stand at the same place in the lists of several devices.

    Parameters
    ----------
    inputs : iterable of iterable of Tensor
        A list for each device.
    destination : int or device, optional
        Where the sums lie; by default the current GPU.
    buffer_size : int
        PyTorch's size of a buffer in bytes; sums follow each other on the stream without one.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.parallel.comm import reduce_add_coalesced
    >>> one, two = tt.ones(2, device="meta"), tt.ones(3, device="meta")
    >>> [list(total.shape) for total in reduce_add_coalesced([[one, two], [one, two]], "meta")]
    [[2], [3]]
    """
    return tuple(reduce_add(row, destination) for row in zip(*inputs, strict=True))


def scatter(
    tensor: tt.Tensor,
    devices: Iterable[Any] | None = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Sequence[Any] | None = None,
    *,
    out: Sequence[tt.Tensor] | None = None,
) -> tuple[tt.Tensor, ...]:
    """Divide a tensor among devices.

    Parameters
    ----------
    tensor : Tensor
        On the CPU or on a GPU.
    devices : iterable of int or device, optional
        GPUs.
    chunk_sizes : sequence of int, optional
        The sizes of the pieces; by default they are equal, as of `tt.chunk`.
    dim : int
        The dimension that is divided.
    streams : sequence of Stream, optional
        For each device the stream of its copy, or None for the current one.
    out : sequence of Tensor, optional
        What is filled instead, each with a piece of its own size.

    Raises
    ------
    ValueRangeError
        If both or none of `devices` and `out` are given, `chunk_sizes` is given with `out` or has another length than
        `devices`, or a device is the CPU.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.parallel.comm import scatter
    >>> [list(piece.shape) for piece in scatter(tt.ones(5, 2), ["meta", "meta"], [1, 4])]
    [[1, 2], [4, 2]]
    """
    _one_of("scatter", devices, out, "devices")
    if out is not None:
        if chunk_sizes is not None:
            raise ValueRangeError(
                "scatter(): the sizes of out are those of the pieces; leave out chunk_sizes"
            )
        for target, piece in zip(out, tensor.split([t.size(dim) for t in out], dim), strict=True):
            target.copy_(piece)
        return tuple(out)
    targets = [accelerator(device) for device in devices or ()]
    if not targets:
        raise ValueRangeError("scatter(): tensors are divided among devices, and there are none")
    if chunk_sizes is not None and len(chunk_sizes) != len(targets):
        raise ValueRangeError(f"scatter(): {len(chunk_sizes)} chunk_sizes for {len(targets)} devices")
    pieces = tensor.chunk(len(targets), dim) if chunk_sizes is None else tensor.split(list(chunk_sizes), dim)
    moved = []
    for index, (piece, accelerated) in enumerate(zip(pieces, targets, strict=False)):
        stream = streams[index] if streams else None
        if stream is None:
            moved.append(piece.to(accelerated, non_blocking=True))
        else:
            with stream:
                moved.append(piece.to(accelerated, non_blocking=True))
    return tuple(moved)


def gather(
    tensors: Iterable[tt.Tensor],
    dim: int = 0,
    destination: int | tt.device | None = None,
    *,
    out: tt.Tensor | None = None,
) -> tt.Tensor:
    """Join tensors of several devices on one device.

    Parameters
    ----------
    tensors : iterable of Tensor
        On GPUs.
    dim : int
        The dimension along which they are joined; tensors without dimensions become rows of one element.
    destination : int or device, optional
        Where they are joined: "cpu" or -1 for the CPU; by default the current GPU.
    out : Tensor, optional
        What is filled instead.

    Raises
    ------
    ValueRangeError
        If both `destination` and `out` are given, or a tensor lies on the CPU.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.parallel.comm import gather
    >>> gather([tt.ones(2, 3, device="meta")] * 2, 1, "meta").shape
    tt.Size([2, 6])
    """
    # Scalars are joined to a vector, as in PyTorch.
    rows = [tensor.reshape(1) if tensor.dim() == 0 else tensor for tensor in tensors]
    for row in rows:
        accelerator(row.device)
    if out is not None:
        if destination is not None:
            raise ValueRangeError("gather(): out has a device; leave out destination")
        return out.copy_(tt.cat([row.to(out.device) for row in rows], dim))
    if destination == -1:
        warn_user("gather(): -1 for the CPU is deprecated: use 'cpu'", FutureWarning)
    if destination in (-1, "cpu"):
        target = tt.device("cpu")
    elif destination is None:
        target = tt.device("cuda")
    else:
        target = tt.device("cuda", destination) if isinstance(destination, int) else tt.device(destination)
    return tt.cat([row.to(target) for row in rows], dim)
