"""Messages between two ranks: send, recv, isend, irecv, and several at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt import Tensor
from tt.autograd._refusal import refusal
from tt.distributed.backend import ANY_RANK, RESERVED_TAG, Backend
from tt.distributed.call import Call
from tt.distributed.checks import group_rank, member, one_tensor
from tt.distributed.process_group import ProcessGroup
from tt.distributed.progress import Steps
from tt.distributed.ranks import get_global_rank
from tt.distributed.target import Target
from tt.distributed.work import Work

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def _checked_tag(tag: object) -> int:
    if not isinstance(tag, int) or not 0 <= tag < RESERVED_TAG:
        raise ValueError(f"tag must be an integer from 0 to {RESERVED_TAG - 1}, got {tag!r}")
    return tag


def _other(group: ProcessGroup, rank: int, what: str) -> int:
    if rank == group.rank():
        raise ValueError(
            f"Invalid {what} rank: {what} rank should not be the same as the rank of the current process."
        )
    return rank


def _sent(
    tensor: Tensor,
    dst: int | None,
    group: ProcessGroup | None,
    tag: int,
    group_dst: int | None,
    name: str,
    async_op: bool,
) -> Work | None:
    one_tensor(tensor, "tensor")
    process_group = member(group, name)
    if process_group is None:
        return None
    to = _other(process_group, group_rank(process_group, dst, group_dst, name), "destination")
    tag = _checked_tag(tag)

    def body(engine: Backend) -> Steps:
        # The engine keeps the contiguous copy until the message is gone.
        yield engine.send(tensor.detach().contiguous(), to, tag)
        return None

    call = Call(name, tensor, detail=f"to rank {to}" + (f" with tag {tag}" if tag else ""), peer=to)
    return process_group.message(call, tensor.device.type, body, async_op, [tensor])


def _received(
    tensor: Tensor,
    src: int | None,
    group: ProcessGroup | None,
    tag: int,
    group_src: int | None,
    name: str,
    async_op: bool,
) -> Work | None:
    one_tensor(tensor, "tensor")
    process_group = member(group, name)
    if process_group is None:
        return None
    source = ANY_RANK
    if src is not None or group_src is not None:
        source = _other(process_group, group_rank(process_group, src, group_src, name), "source")
    tag = _checked_tag(tag)
    # Messages have no guard to agree on a refusal, so it is raised here.
    refused = refusal(name, [tensor])
    if refused is not None:
        raise refused

    def body(engine: Backend) -> Steps:
        target = Target(tensor)
        pending = engine.recv(target.buffer, source, tag)
        yield pending
        target.finish()
        came_from = source if pending.source is None else pending.source
        return process_group.ranks[came_from]

    origin = "any rank" if source == ANY_RANK else f"rank {source}"
    call = Call(name, tensor, detail=f"from {origin}" + (f" with tag {tag}" if tag else ""), peer=source)
    return process_group.message(call, tensor.device.type, body, async_op, [tensor])


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to a rank.

    Parameters
    ----------
    tensor : Tensor
        Any shape, strides and dtype.
    dst : int
        The rank of the job that receives it; or ``group_dst``, a rank of the group.
    group : ProcessGroup, optional
        By default the group of all ranks.
    tag : int
        Only a receive with the same tag gets it; below 32767.
    group_dst : int
        See ``dst``.

    Raises
    ------
    ValueError
        The rank is this one, or none of the group.
    DistTimeoutError
        It was not received within the timeout.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     x = tt.tensor([dist.get_rank()])
    ...     if dist.get_rank() == 0:
    ...         dist.send(tt.tensor([5]), dst=1)
    ...         return None
    ...     return dist.recv(x, src=0), x
    >>> dist.run_threads(program, 2)[1]
    (0, tensor([5]))
    """
    _sent(tensor, dst, group, tag, group_dst, "send", async_op=False)


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Send a tensor to a rank in the background; do not change it before the `Work` has ended.

    Parameters and errors are those of `send`.
    """
    return _sent(tensor, dst, group, tag, group_dst, "isend", async_op=True)


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive a tensor from a rank.

    Parameters
    ----------
    tensor : Tensor
        The tensor to fill: as many bytes as are sent.
    src : int, optional
        The rank of the job that sends it; or ``group_src``, a rank of the group.  By default any rank.
    group, tag
        As for `send`.
    group_src : int, optional
        See ``src``.

    Returns
    -------
    int
        The rank of the job that sent it; -1 if this rank does not belong to the group.

    Raises
    ------
    ValueError
        The rank is this one, or none of the group.
    DistTimeoutError
        Nothing came within the timeout.
    DistBackendError
        A message of another size came.
    """
    work = _received(tensor, src, group, tag, group_src, "recv", async_op=False)
    return -1 if work is None else work.source_rank()


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Receive a tensor in the background; it is there when the `Work` has ended.

    Parameters and errors are those of `recv`.
    """
    return _received(tensor, src, group, tag, group_src, "irecv", async_op=True)


class P2POp:
    """A send or a receive for `batch_isend_irecv`.

    Parameters
    ----------
    op : callable
        `isend` or `irecv`.
    tensor : Tensor
        The tensor to send or fill.
    peer : int
        The rank of the job; or ``group_peer``, a rank of the group.
    group, tag
        As for `send`.
    group_peer : int
        See ``peer``.

    Raises
    ------
    ValueError
        The operation is neither, or the group has no such rank.
    """

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``tt.distributed.isend`` or ``tt.distributed.irecv``."
            )
        self.op = op
        self.tensor = one_tensor(tensor, "tensor")
        self.group = member(group, "P2POp")
        if self.group is not None:
            self.group_peer = group_rank(self.group, peer, group_peer, "P2POp")
            self.peer = get_global_rank(self.group, self.group_peer)
        self.tag = tag

    def __repr__(self) -> str:
        return (
            f"P2POp({self.op.__name__}, peer={self.peer}, tag={self.tag}, shape={tuple(self.tensor.shape)})"
        )


def _is_batch(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, P2POp) for each in value)


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Start several sends and receives; return their Works.

    Parameters
    ----------
    p2p_op_list : list of P2POp
        Of one group.

    Raises
    ------
    ValueError
        It is empty, has something else in it, or operations of different groups.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     rank = dist.get_rank()
    ...     x = tt.zeros(1)
    ...     works = dist.batch_isend_irecv([
    ...         dist.P2POp(dist.isend, tt.full((1,), float(rank)), (rank + 1) % 3),
    ...         dist.P2POp(dist.irecv, x, (rank - 1) % 3),
    ...     ])
    ...     for work in works:
    ...         work.wait()
    ...     return x.item()
    >>> dist.run_threads(program, 3)
    [2.0, 0.0, 1.0]
    """
    if not (p2p_op_list and _is_batch(p2p_op_list)):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to be of type ``tt.distributed.P2POp``."
        )
    if any(each.group is not p2p_op_list[0].group for each in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    if p2p_op_list[0].group is None:
        return []
    works = []
    for each in p2p_op_list:
        name = "group_dst" if each.op is isend else "group_src"
        work = each.op(each.tensor, group=each.group, tag=each.tag, **{name: each.group_peer})
        if work is not None:
            works.append(work)
    return works
