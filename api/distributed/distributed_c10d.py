"""tt.distributed.distributed_c10d: names of `tt.distributed` that programs import from where PyTorch defines them."""

from __future__ import annotations

import tt.distributed as dist
from tt.distributed import *  # noqa: F403 - all names of the namespace are found here too
from tt.distributed.constants import default_pg_nccl_timeout, default_pg_timeout
from tt.distributed.process_group import ProcessGroup
from tt.distributed.world import current_world, default_group

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]

_get_default_group = default_group


def _get_global_rank(group: ProcessGroup, rank: int) -> int:
    return dist.get_global_rank(group, rank)


def _rank_not_in_group(group: ProcessGroup | None) -> bool:
    """Return whether this rank is none of a group's."""
    return group is not None and dist.get_rank(group) == -1


def _resolve_process_group(group_name: str) -> ProcessGroup:
    """Return the group of a name.

    Raises
    ------
    ValueError
        If this rank has none of the name.
    """
    group = current_world().groups.get(group_name)
    if group is None:
        raise ValueError(f"there is no process group named {group_name!r}")
    return group
