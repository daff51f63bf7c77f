"""Collectives and messages of Python objects, which are pickled.

Unpickling runs code of the one who pickled: receive objects only from ranks of the same job, as these functions do.
"""

from __future__ import annotations

import pickle
from typing import Any

import tt
from tt import Tensor
from tt.distributed import derived
from tt.distributed.backend import Backend
from tt.distributed.call import Call
from tt.distributed.checks import group_rank, member
from tt.distributed.point_to_point import recv, send
from tt.distributed.process_group import ProcessGroup
from tt.distributed.progress import Steps
from tt.types import Device

__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list",
    "send_object_list",
]  # fmt: skip


def _packed(value: object) -> Tensor:
    # A bytearray, for `frombuffer` wants memory that can be written.
    return tt.frombuffer(bytearray(pickle.dumps(value, pickle.HIGHEST_PROTOCOL)), dtype=tt.uint8)


def _unpacked(data: Tensor) -> Any:
    return pickle.loads(data.cpu().numpy().tobytes())


def _padded(data: Tensor, length: int) -> Tensor:
    return tt.cat([data, data.new_zeros(length - data.numel())]) if length > data.numel() else data


def _place(group: ProcessGroup) -> Any:
    """Return the device on which objects travel: the CPU where the group has an engine for it, else the engine's."""
    # Pickles are made and read on the host, so this saves two copies.
    if "cpu" in group.engine_names:
        return tt.device("cpu")
    return tt.device(group.bound_device_id or group.first_device)


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type list, got {type(value)}"
        )
    return value


def all_gather_object(object_list: list[Any], obj: object, group: ProcessGroup | None = None) -> None:
    """Gather an object of each rank into a list, on every rank.

    Parameters
    ----------
    object_list : list
        As long as there are ranks; its elements are replaced.
    obj : object
        Anything that can be pickled.  Tensors keep their device.
    group : ProcessGroup, optional
        By default the group of all ranks.

    Raises
    ------
    RuntimeError
        The list has another length.
    Exception
        The object cannot be pickled.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> def program():
    ...     found = [None, None]
    ...     dist.all_gather_object(found, {"rank": dist.get_rank()})
    ...     return found
    >>> dist.run_threads(program, 2)[0]
    [{'rank': 0}, {'rank': 1}]
    """
    _list(object_list, "object_list")
    process_group = member(group, "all_gather_object")
    if process_group is None:
        return
    if len(object_list) != process_group.size():
        raise RuntimeError(
            f"`object_list` must have {process_group.size()} elements, one for each rank, got {len(object_list)}"
        )
    own, target = _packed(obj), _place(process_group)
    rows: list[Tensor] = []

    def body(engine: Backend) -> Steps:
        # Pickles differ in length, so lengths come first; then all are padded to the longest.
        sizes = tt.empty(engine.size, dtype=tt.int64, device=target)
        yield from derived.all_gather(engine, sizes, tt.tensor([own.numel()], device=target))
        lengths = sizes.tolist()
        parts = tt.empty((engine.size, max(lengths)), dtype=tt.uint8, device=target)
        yield from derived.all_gather(engine, parts, _padded(own.to(target), max(lengths)))
        rows.extend(part[:length] for part, length in zip(parts, lengths, strict=True))
        return None

    process_group.collective(Call("all_gather_object"), target.type, body, False)
    # Unpickled here, not in `body`: it runs code of the objects, which must not hold the lock of the
    # progress loop.
    object_list[:] = [_unpacked(row) for row in rows]


def gather_object(
    obj: object,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    group_dst: int | None = None,
) -> None:
    """Gather an object of each rank into a list, on one rank.

    Parameters
    ----------
    obj : object
        Anything that can be pickled.
    object_gather_list : list, optional
        As long as there are ranks; its elements are replaced.  Only on the rank that gathers.
    dst : int
        The rank of the job that gathers (0 by default); or ``group_dst``, a rank of the group.
    group : ProcessGroup, optional
        By default the group of all ranks.
    group_dst : int
        See ``dst``.

    Raises
    ------
    ValueError
        The list is missing where it is needed, or there where it is not.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> def program():
    ...     found = [None, None] if dist.get_rank() == 0 else None
    ...     dist.gather_object("ab"[dist.get_rank()], found)
    ...     return found
    >>> dist.run_threads(program, 2)
    [['a', 'b'], None]
    """
    process_group = member(group, "gather_object")
    if process_group is None:
        return
    root = group_rank(process_group, dst, group_dst, "gather_object", default=0)
    here = process_group.rank() == root
    if here and not object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
    if not here and object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must NOT be specified on non-destination ranks.")
    if here and len(_list(object_gather_list, "object_gather_list")) != process_group.size():
        raise RuntimeError(
            f"`object_gather_list` must have {process_group.size()} elements, one for each rank"
        )
    own, target = _packed(obj), _place(process_group)
    rows: list[Tensor] = []

    def body(engine: Backend) -> Steps:
        sizes = tt.empty(engine.size, dtype=tt.int64, device=target)
        yield from derived.all_gather(engine, sizes, tt.tensor([own.numel()], device=target))
        lengths = sizes.tolist()
        parts = tt.empty((engine.size, max(lengths)), dtype=tt.uint8, device=target) if here else None
        yield from derived.gather(engine, parts, _padded(own.to(target), max(lengths)), root)
        if parts is not None:
            rows.extend(part[:length] for part, length in zip(parts, lengths, strict=True))
        return None

    process_group.collective(Call("gather_object", root=root), target.type, body, False)
    if object_gather_list:
        object_gather_list[:] = [_unpacked(row) for row in rows]


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Device = None,
    group_src: int | None = None,
) -> None:
    """Copy the objects of one rank's list into the lists of all others.

    Parameters
    ----------
    object_list : list
        Of one length on all ranks; its elements are replaced.
    src : int
        The rank of the job that has them (0 by default); or ``group_src``, a rank of the group.
    group : ProcessGroup, optional
        By default the group of all ranks.
    device : Device, optional
        Taken for PyTorch's sake: objects travel by the engine of the CPU.
    group_src : int
        See ``src``.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> def program():
    ...     found = ["text", 5] if dist.get_rank() == 0 else [None, None]
    ...     dist.broadcast_object_list(found, src=0)
    ...     return found
    >>> dist.run_threads(program, 2)[1]
    ['text', 5]
    """
    _list(object_list, "object_list")
    process_group = member(group, "broadcast_object_list")
    if process_group is None:
        return
    root = group_rank(process_group, src, group_src, "broadcast_object_list", default=0)
    here = process_group.rank() == root
    packed, target = _packed(object_list) if here else None, _place(process_group)
    received: list[Tensor] = []

    def body(engine: Backend) -> Steps:
        length = tt.tensor([0 if packed is None else packed.numel()], device=target)
        yield from derived.broadcast(engine, length, root)
        data = (
            tt.empty(int(length.item()), dtype=tt.uint8, device=target)
            if packed is None
            else packed.to(target)
        )
        yield from derived.broadcast(engine, data, root)
        received.append(data)
        return None

    call = Call(
        "broadcast_object_list", root=root, agree=[len(object_list)], detail=f"of {len(object_list)} objects"
    )
    process_group.collective(call, target.type, body, False)
    if not here:
        object_list[:] = _unpacked(received[0])


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    group_src: int | None = None,
) -> None:
    """Give each rank one object of a list that one rank has.

    Parameters
    ----------
    scatter_object_output_list : list
        Not empty; its first element is replaced.
    scatter_object_input_list : list, optional
        One object for each rank; only needed on the rank that scatters.
    src : int
        The rank of the job that scatters (0 by default); or ``group_src``, a rank of the group.
    group : ProcessGroup, optional
        By default the group of all ranks.
    group_src : int
        See ``src``.

    Raises
    ------
    ValueError
        The list for the output is empty, or that of the input has not one object for each rank.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> def program():
    ...     found = [None]
    ...     dist.scatter_object_list(found, ["a", "b"] if dist.get_rank() == 0 else None)
    ...     return found
    >>> dist.run_threads(program, 2)
    [['a'], ['b']]
    """
    process_group = member(group, "scatter_object_list")
    if process_group is None:
        return
    if not _list(scatter_object_output_list, "scatter_object_output_list"):
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root = group_rank(process_group, src, group_src, "scatter_object_list", default=0)
    packed, target = list[Tensor](), _place(process_group)
    if process_group.rank() == root:
        if (
            not isinstance(scatter_object_input_list, list)
            or len(scatter_object_input_list) != process_group.size()
        ):
            raise ValueError(
                f"scatter_object_input_list must have {process_group.size()} objects, one for each rank"
            )
        packed = [_packed(each) for each in scatter_object_input_list]
    received: list[Tensor] = []

    def body(engine: Backend) -> Steps:
        sizes = tt.tensor([each.numel() for each in packed] or [0] * engine.size, device=target)
        yield from derived.broadcast(engine, sizes, root)
        lengths = sizes.tolist()
        parts = tt.cat([_padded(each, max(lengths)) for each in packed]).to(target) if packed else None
        data = tt.empty(max(lengths), dtype=tt.uint8, device=target)
        yield from derived.scatter(engine, data, parts, root)
        received.append(data[: lengths[engine.rank]])
        return None

    process_group.collective(Call("scatter_object_list", root=root), target.type, body, False)
    scatter_object_output_list[0] = _unpacked(received[0])


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: ProcessGroup | None = None,
    device: Device = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send the objects of a list to a rank, which calls `recv_object_list` with a list of the same length.

    Parameters
    ----------
    object_list : list
        Anything that can be pickled.
    dst : int
        The rank of the job that receives them; or ``group_dst``, a rank of the group.
    group : ProcessGroup, optional
        By default the group of all ranks.
    device, use_batch
        Taken for PyTorch's sake.
    group_dst : int
        See ``dst``.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> def program():
    ...     found = ["text", None]
    ...     if dist.get_rank() == 0:
    ...         return dist.send_object_list(["text", {5}], dst=1)
    ...     return dist.recv_object_list(found, src=0), found
    >>> dist.run_threads(program, 2)
    [None, (0, ['text', {5}])]
    """
    _list(object_list, "object_list")
    process_group = member(group, "send_object_list")
    if process_group is None:
        return
    to = group_rank(process_group, dst, group_dst, "send_object_list")
    target = _place(process_group)
    data = _packed(object_list).to(target)
    # The number of objects lets the receiver refuse a list of another length, as the data alone cannot.
    send(tt.tensor([data.numel(), len(object_list)], device=target), group=process_group, group_dst=to)
    send(data, group=process_group, group_dst=to)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Device = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive the objects that a rank sends with `send_object_list`.

    Parameters
    ----------
    object_list : list
        As long as the one that is sent; its elements are replaced.
    src : int, optional
        The rank of the job that sends them; or ``group_src``, a rank of the group.  By default any rank.
    group : ProcessGroup, optional
        By default the group of all ranks.
    device, use_batch
        Taken for PyTorch's sake.
    group_src : int, optional
        See ``src``.

    Returns
    -------
    int
        The rank of the job that sent them; -1 if this rank does not belong to the group.

    Raises
    ------
    RuntimeError
        The list has another length.
    """
    _list(object_list, "object_list")
    process_group = member(group, "recv_object_list")
    if process_group is None:
        return -1
    target = _place(process_group)
    header = tt.zeros(2, dtype=tt.int64, device=target)
    source = recv(header, src, process_group, group_src=group_src)
    data = tt.empty(int(header[0].item()), dtype=tt.uint8, device=target)
    recv(data, source, process_group)
    if int(header[1].item()) != len(object_list):
        raise RuntimeError(
            f"recv_object_list: rank {source} sent {int(header[1].item())} objects, and the list has {len(object_list)}"
        )
    object_list[:] = _unpacked(data)
    return source
