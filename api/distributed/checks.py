"""Arguments of collectives and messages: checked before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence

import tt
from tt import Tensor
from tt.distributed.process_group import ProcessGroup
from tt.distributed.ranks import get_group_rank, get_rank
from tt.distributed.world import GroupMember, default_group
from tt.library import warn_user

__all__ = [
    "group_rank", "member", "one_tensor", "same_dtype", "same_sizes", "tensor_list",
]  # fmt: skip


def member(group: ProcessGroup | int | None, name: str) -> ProcessGroup | None:
    """Return the group that is meant; None, with a warning, if this rank does not belong to it."""
    if group is None:
        return default_group()
    if group == GroupMember.NON_GROUP_MEMBER:
        # As in PyTorch, programs may call collectives of a group on all ranks: the others go on.
        warn_user(f"Running {name} on global rank {get_rank()} which does not belong to the given group.")
        return None
    if not isinstance(group, ProcessGroup):
        raise ValueError(f"{name}: group must be a ProcessGroup, got {type(group).__name__}")
    return group


def group_rank(
    group: ProcessGroup, rank: int | None, within: int | None, name: str, default: int | None = None
) -> int:
    """Return a rank in the group that is given as one of the job, or as one of the group."""
    if within is not None:
        if rank is not None:
            raise ValueError(f"{name}: Can't specify both group_rank and global_rank")
        if not 0 <= within < group.size():
            raise ValueError(f"{name}: Group rank {within} is not part of group {group}")
        return within
    if rank is None:
        if default is None:
            raise ValueError(f"{name}: Must specify global_rank or group_rank")
        rank = default
    return get_group_rank(group, rank)


def one_tensor(value: object, name: str) -> Tensor:
    """Return a tensor; raise for anything else."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type tt.Tensor but got {type(value)} instead."
        )
    if value.layout is not tt.strided:
        raise NotImplementedError(f"parameter `{name}`: tensors must be dense, got layout {value.layout}")
    return value


def tensor_list(value: object, name: str) -> list[Tensor]:
    """Return a list of tensors; raise for anything else."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[tt.Tensor] but got {type(value)}"
            " instead."
        )
    if not all(isinstance(each, Tensor) for each in value):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[tt.Tensor] but got {type(value)}"
            f" with elements of type {[type(each) for each in value]}."
        )
    return [one_tensor(each, name) for each in value]


def same_dtype(*groups: Sequence[Tensor]) -> None:
    """Raise where tensors have different dtypes or devices."""
    tensors = [each for group in groups for each in group]
    for each in tensors[1:]:
        if each.dtype is not tensors[0].dtype:
            raise ValueError(
                f"Invalid usage of tensors with different dtypes Found {tensors[0].dtype} and {each.dtype}"
            )
        if each.device.type != tensors[0].device.type:
            raise ValueError(
                f"Invalid usage of tensors on different devices: found {tensors[0].device} and {each.device}"
            )


def same_sizes(tensors: Sequence[Tensor], numel: int, name: str, count: int) -> None:
    """Raise where a list has not one tensor of so many elements for each rank."""
    if len(tensors) != count:
        raise RuntimeError(f"`{name}` must have one tensor for each of the {count} ranks, got {len(tensors)}")
    for at, each in enumerate(tensors):
        if each.numel() != numel:
            raise RuntimeError(
                f"`{name}`: all tensors must have the same size, and number {at} has {each.numel()} elements,"
                f" not {numel}"
            )
