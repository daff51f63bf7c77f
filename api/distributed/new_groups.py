"""Groups of some of the ranks: new_group, new_subgroups, split_group."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import tt
from tt.distributed import derived
from tt.distributed.backend import Backend
from tt.distributed.call import Call
from tt.distributed.engines.names import by_device
from tt.distributed.process_group import ProcessGroup
from tt.distributed.progress import Steps
from tt.distributed.world import GroupMember, World, current_world, default_group

__all__ = ["new_group", "new_subgroups", "new_subgroups_by_enumeration", "split_group"]


def _checked_timeout(timeout: object, default: timedelta) -> timedelta:
    if timeout is None:
        return default
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    return timeout


def _agreed(parent: ProcessGroup, name: str, what: Sequence[object]) -> None:
    """Wait until all ranks of a group are here, with the same arguments."""

    def body(engine: Backend) -> Steps:
        if not parent.guard.enabled:
            yield from derived.barrier(engine)
        return None

    parent.collective(Call(name, agree=what, detail=f"{list(what)}"), parent.first_device, body, False)


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: object = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: tt.device | None = None,
    sort_ranks: bool = True,
) -> Any:
    """Make a group of some ranks.  All ranks of the job call it, in the same order, the others too.

    Parameters
    ----------
    ranks : sequence of int, optional
        Ranks of the job; by default all.
    timeout : timedelta, optional
        How long an operation may take; by default as for the group of all ranks.
    backend : str, optional
        The engine; by default that of the group of all ranks.
    pg_options : object, optional
        Options of the engine.
    use_local_synchronization : bool
        Only the ranks of the group call it.
    group_desc : str, optional
        The purpose of the group.
    device_id : Device, optional
        The device that this rank uses.
    sort_ranks : bool
        Whether the ranks of the group are in ascending order, or as they are given.

    Returns
    -------
    ProcessGroup or GroupMember.NON_GROUP_MEMBER
        The latter for a rank that does not belong to it.

    Raises
    ------
    ValueError
        A rank does not exist, or is there twice.
    CollectiveMismatchError
        The ranks of the job called it with different arguments.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     pair = dist.new_group([0, 2])
    ...     x = tt.ones(1)
    ...     if pair is not dist.GroupMember.NON_GROUP_MEMBER:
    ...         dist.all_reduce(x, group=pair)
    ...     return x.item()
    >>> dist.run_threads(program, 3)
    [2.0, 1.0, 2.0]
    """
    parent = default_group()
    world = current_world()
    timeout = _checked_timeout(timeout, parent.timeout)
    members = _checked_ranks(ranks, parent.size(), sort_ranks)
    engines = parent.engine_names if backend is None or backend == world.backend else by_device(backend)
    if use_local_synchronization:
        if world.rank not in members:
            return GroupMember.NON_GROUP_MEMBER
        # The others do not come, so the count of all groups differs between ranks and cannot name it.
        name = _local_name(world, members)
    else:
        _agreed(parent, "new_group", members)
        name = str(world.made)
        world.made += 1
    world.count += 1
    started: dict[str, Backend] = {}
    if not use_local_synchronization and engines == parent.engine_names and pg_options is None:
        # Splitting a connection costs less than a new one, and all ranks are here.
        engine = parent.split_engine(members, name, timeout)
        started = {} if engine is None else {parent.first_device: engine}
    if world.rank not in members:
        return GroupMember.NON_GROUP_MEMBER
    process_group = ProcessGroup(
        name, members, world, engines, timeout, group_desc or "undefined", started, pg_options
    )
    process_group.bind(parent.bound_device_id if device_id is None else device_id)
    # Connected now, when all members are here: a rank may use its group much later than the others.
    process_group.engine(process_group.first_device)
    world.groups[name] = process_group
    return process_group


def _local_name(world: World, members: list[int]) -> str:
    """Return a name that the members of a group find without the other ranks."""
    base = "ranks " + ",".join(map(str, members))
    world.local[base] = world.local.get(base, 0) + 1
    return f"{base} #{world.local[base]}"


def _checked_ranks(ranks: Sequence[int] | None, size: int, sort: bool) -> list[int]:
    if ranks is None:
        return list(range(size))
    members = [int(rank) for rank in ranks]
    if not members:
        raise ValueError("new_group: a group must have at least one rank")
    if len(set(members)) != len(members):
        raise ValueError(f"new_group: a rank is there twice: {members}")
    if not all(0 <= rank < size for rank in members):
        raise ValueError(
            "The new group's rank should be within the world_size set by init_process_group:"
            f" {members}, and there are {size} ranks"
        )
    return sorted(members) if sort else members


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: object = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Divide the ranks into groups of one size: the first ranks, the next, and so on.

    Parameters
    ----------
    group_size : int, optional
        By default the number of ranks on a machine: ``LOCAL_WORLD_SIZE``, else all ranks.
    group : ProcessGroup, optional
        The group to divide; by default that of all ranks.
    timeout, backend, pg_options, group_desc
        As for `new_group`.

    Returns
    -------
    tuple of ProcessGroup and list of ProcessGroup
        This rank's group, and all of them (``NON_GROUP_MEMBER`` where it does not belong to one).

    Raises
    ------
    ValueError
        The size is not positive, or does not divide the number of ranks.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> def program():
    ...     own, groups = dist.new_subgroups(2)
    ...     return dist.get_process_group_ranks(own), len(groups)
    >>> dist.run_threads(program, 4)[3]
    ([2, 3], 2)
    """
    parent = default_group() if group is None else group
    size = parent.size()
    if group_size is None:
        group_size = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if size < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})")
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by 'group_size={group_size}'")
    rows = [parent.ranks[start : start + group_size] for start in range(0, size, group_size)]
    own, groups = new_subgroups_by_enumeration(rows, timeout, backend, pg_options, group_desc)
    return own, groups


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: object = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Divide the ranks into groups that are given by lists of ranks.

    Parameters
    ----------
    ranks_per_subgroup_list : sequence of sequence of int
        The ranks of each group; no rank may be in two.
    timeout, backend, pg_options, group_desc
        As for `new_group`.

    Returns
    -------
    tuple of ProcessGroup and list of ProcessGroup
        This rank's group (None if it is in none), and all of them.

    Raises
    ------
    ValueError
        There is no list, or a rank is in two groups.
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: set[int] = set()
    for row in ranks_per_subgroup_list:
        for rank in row:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in two subgroups of {ranks_per_subgroup_list}")
            seen.add(rank)
    own = None
    groups = []
    for row in ranks_per_subgroup_list:
        subgroup = new_group(row, timeout, backend, pg_options, group_desc=group_desc)
        groups.append(subgroup)
        if subgroup != GroupMember.NON_GROUP_MEMBER:
            own = subgroup
    return own, groups


def split_group(
    parent_pg: ProcessGroup | None = None,
    split_ranks: Sequence[Sequence[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: object = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> ProcessGroup | None:
    """Divide a group.  All its ranks call it, and no others need to.

    Parameters
    ----------
    parent_pg : ProcessGroup, optional
        The group to divide; by default that of all ranks.
    split_ranks : sequence of sequence of int
        The ranks of each new group, counted in the parent; no rank may be in two.
    timeout, pg_options, group_desc
        As for `new_group`.
    backend : str, optional
        Must be the parent's.

    Returns
    -------
    ProcessGroup or None
        This rank's group; None if it is in none.

    Raises
    ------
    ValueError
        There is no list, a rank is in two groups, or the parent has no such rank.
    CollectiveMismatchError
        The ranks called it with different lists.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> def program():
    ...     return dist.split_group(split_ranks=[[0, 2], [1]]).size()
    >>> dist.run_threads(program, 3)
    [2, 1, 2]
    """
    parent = default_group() if parent_pg is None else parent_pg
    world = current_world()
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    if backend is not None and by_device(backend) != parent.engine_names:
        raise ValueError(f"split_group: the backend must be the parent's, got {backend!r}")
    rows = [sorted(int(rank) for rank in row) for row in split_ranks]
    flat = [rank for row in rows for rank in row]
    if len(set(flat)) != len(flat):
        raise ValueError(f"split_group: a rank is in two groups of {rows}")
    if not all(rows) or not all(0 <= rank < parent.size() for rank in flat):
        raise ValueError(f"split_group: {rows} must be groups of ranks from 0 to {parent.size() - 1}")
    timeout = _checked_timeout(timeout, parent.timeout)
    _agreed(parent, "split_group", rows)
    parent.splits += 1
    world.count += 1
    own = None
    for at, row in enumerate(rows):
        name = f"{parent.group_name}:{parent.splits}:{at}"
        # Ranks that belong to another row call it, too: splitting is a collective of the whole group.
        engine = parent.split_engine(row, name, timeout)
        if parent.rank() in row:
            assert engine is not None
            ranks = [parent.ranks[rank] for rank in row]
            started = {parent.first_device: engine}
            own = ProcessGroup(
                name,
                ranks,
                world,
                parent.engine_names,
                timeout,
                group_desc or "undefined",
                started,
                pg_options,
            )
            world.groups[name] = own
    return own
