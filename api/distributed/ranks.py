"""Who is who: ranks, sizes and names of groups and engines."""

from __future__ import annotations

import os

import tt
from tt.distributed.engines.names import default_backend, is_installed
from tt.distributed.process_group import ProcessGroup
from tt.distributed.world import GroupMember, current_world, default_group

__all__ = [
    "get_backend", "get_backend_config", "get_default_backend_for_device", "get_global_rank", "get_group_rank",
    "get_node_local_rank", "get_pg_count", "get_process_group_ranks", "get_rank", "get_world_size", "is_available",
    "is_backend_available", "is_gloo_available", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched",
    "is_ucc_available", "is_xccl_available",
]  # fmt: skip


def _group(group: ProcessGroup | int | None) -> ProcessGroup | None:
    """Return the group that is meant; None if this rank does not belong to it."""
    if group is None:
        return default_group()
    if group == GroupMember.NON_GROUP_MEMBER:
        return None
    if not isinstance(group, ProcessGroup):
        raise ValueError(f"group must be a ProcessGroup, got {type(group).__name__}")
    return group


def _valid(group: ProcessGroup | int | None) -> ProcessGroup:
    process_group = _group(group)
    if process_group is None or current_world().groups.get(process_group.group_name) is not process_group:
        raise ValueError("Invalid process group specified")
    return process_group


def get_rank(group: ProcessGroup | None = None) -> int:
    """Return this rank in a group; -1 if it does not belong to it.

    Parameters
    ----------
    group : ProcessGroup, optional
        By default the group of all ranks.

    Raises
    ------
    ValueError
        `init_process_group` was not called.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> dist.run_threads(dist.get_rank, 3)
    [0, 1, 2]
    """
    # Raises if there is no job, whatever the group.
    default_group()
    process_group = _group(group)
    return -1 if process_group is None else process_group.rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """Return the number of ranks of a group; -1 if this rank does not belong to it.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> dist.run_threads(dist.get_world_size, 3)
    [3, 3, 3]
    """
    default_group()
    process_group = _group(group)
    return -1 if process_group is None else process_group.size()


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Return the rank in a group of a rank of the job.

    Raises
    ------
    ValueError
        The rank does not belong to the group, or the group was destroyed.
    """
    process_group = _registered(group)
    if global_rank not in process_group.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return process_group.ranks.index(global_rank)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Return the rank in the job of a rank of a group.

    Raises
    ------
    ValueError
        The group has no such rank, or was destroyed.
    """
    process_group = _registered(group)
    if not 0 <= group_rank < process_group.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return process_group.ranks[group_rank]


def _registered(group: ProcessGroup | int | None) -> ProcessGroup:
    process_group = _group(group)
    if process_group is None or current_world().groups.get(process_group.group_name) is not process_group:
        raise ValueError(
            f"Group {group} is not registered, please create group with tt.distributed.new_group"
        )
    return process_group


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """Return the ranks in the job of a group's ranks, in the group's order.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> dist.run_threads(lambda: dist.get_process_group_ranks(None), 2)
    [[0, 1], [0, 1]]
    """
    return list(_registered(group).ranks)


def get_pg_count() -> int:
    """Return how many groups this rank has helped to make, with those that it does not belong to."""
    return current_world().count


def get_backend(group: ProcessGroup | None = None) -> str:
    """Return the name of a group's engine, as the program gave it.

    Raises
    ------
    ValueError
        This rank does not belong to the group, or the group was destroyed.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> dist.run_threads(dist.get_backend, 1)
    ['threads']
    """
    process_group = _valid(group)
    return process_group.engine_names[process_group.first_device]


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """Return a group's engines by device type: ``cpu:mpi,cuda:nccl``.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> dist.run_threads(dist.get_backend_config, 1)
    ['cpu:threads,cuda:threads']
    """
    return ",".join(f"{device}:{name}" for device, name in _valid(group).engine_names.items())


def get_default_backend_for_device(device: str | tt.device) -> str:
    """Return the name of the engine for a device if the program names none.

    Raises
    ------
    ValueError
        There is none.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> dist.get_default_backend_for_device("cpu")
    'gloo'
    """
    return default_backend(
        device if isinstance(device, str) and ":" not in device else tt.device(device).type
    )


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return this rank among those of its machine, which the launcher gives as ``LOCAL_RANK``.

    Parameters
    ----------
    fallback_rank : int, optional
        The value to return where there is no launcher.

    Raises
    ------
    RuntimeError
        There is no launcher, and no ``fallback_rank``.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> dist.get_node_local_rank(fallback_rank=0)
    0
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment\n  try: start the program with tt run, or pass fallback_rank="
    )


def is_available() -> bool:
    """Return True: this package works wherever tt does.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> dist.is_available()
    True
    """
    return True


def is_backend_available(backend: str) -> bool:
    """Return whether an engine and its requirements are installed.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> dist.is_backend_available("threads"), dist.is_backend_available("other")
    (True, False)
    """
    return is_installed(backend)


def is_mpi_available() -> bool:
    """Return whether the engine ``mpi``, and mpi4py, is installed."""
    return is_installed("mpi")


def is_gloo_available() -> bool:
    """Return whether the engine ``gloo`` is there: always, since it needs nothing but tt."""
    return is_installed("gloo")


def is_nccl_available() -> bool:
    """Return whether the engine ``nccl``, and a package for NCCL, is installed."""
    return is_installed("nccl")


def is_ucc_available() -> bool:
    """Return whether another package has brought an engine ``ucc``."""
    return is_installed("ucc")


def is_xccl_available() -> bool:
    """Return whether another package has brought an engine ``xccl``."""
    return is_installed("xccl")


def is_torchelastic_launched() -> bool:
    """Return whether a launcher that restarts failed ranks has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ
