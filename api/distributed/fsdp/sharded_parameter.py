"""ShardedParameter: the part of a parameter that one rank keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import tt
from tt import Tensor
from tt.distributed import gathering, ranks
from tt.distributed.fsdp.policies import CPUOffloadPolicy
from tt.distributed.fsdp.rows import call, rows_of
from tt.distributed.process_group import ProcessGroup
from tt.nn import Parameter

__all__ = ["Placement", "ShardedParameter", "ShardedTensor", "padded", "whole"]


@dataclass(frozen=True, slots=True)
class Placement:
    """How a tensor is divided: the rows of its first dimension in equal chunks, of which the last may be shorter.

    Attributes
    ----------
    group : ProcessGroup
        The ranks.
    shape : tuple of int
        The shape of the whole.
    replicas : ProcessGroup, optional
        The ranks that keep the same rows as this one.
    """

    group: Any
    shape: tuple[int, ...]
    replicas: Any = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Placement:
        """Return the same placement: copies of a part are divided among the same ranks."""
        return self

    @property
    def rows(self) -> int:
        """The length of the first dimension; 1 for a tensor without any."""
        return self.shape[0] if self.shape else 1

    @property
    def chunk(self) -> int:
        """How many rows a rank has, but for the last ones."""
        return -(-self.rows // ranks.get_world_size(self.group))

    @property
    def row_size(self) -> int:
        """How many elements a row has."""
        return prod(self.shape[1:])

    @property
    def rank(self) -> int:
        """The rank of this process in the group."""
        return ranks.get_rank(self.group)

    @property
    def is_first(self) -> bool:
        """Whether this rank is the first of those that keep the same rows."""
        return self.replicas is None or ranks.get_rank(self.replicas) == 0

    def part(self, tensor: Tensor) -> Tensor:
        """Return this rank's rows of the whole."""
        first, end = self.of_rank(self.rank)
        return tensor.detach().reshape(self.rows, *self.shape[1:])[first:end]

    def of_rank(self, rank: int) -> tuple[int, int]:
        """Return the first row of a rank and the one after its last."""
        # The last ranks may have no rows: five rows for four ranks are 2, 2, 1, 0.
        first = min(rank * self.chunk, self.rows)
        return first, min(first + self.chunk, self.rows)


class _Part:
    """What tensors have of which this rank keeps some rows."""

    placement: Placement

    @classmethod
    def __tt_function__(
        cls,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Call an operator on this rank's rows, or over all ranks, or refuse it; see `tt.distributed.fsdp.rows`."""
        return call(func, args, kwargs or {})

    @property
    def group(self) -> Any:
        """The ranks that have the other rows."""
        return self.placement.group

    def like(self, result: Tensor, same_places: bool = False) -> Tensor:
        """Return a result of an operator on this part as a part; divided like it if it has the same elements."""
        # Where a row of the whole is cannot be told after elements have moved.
        if not same_places or result.shape != self.shape:  # type: ignore[attr-defined]  # of a tensor's class
            return rows_of(result, self.group)
        new: ShardedTensor = result.as_subclass(ShardedTensor)
        new.placement = self.placement
        return new

    def by_row(self, result: Tensor) -> ShardedTensor:
        """Return a result each row of which is computed from the same row of this part, as a part divided alike."""
        new: ShardedTensor = result.as_subclass(ShardedTensor)
        placement = self.placement
        new.placement = Placement(placement.group, (placement.rows, *result.shape[1:]), placement.replicas)
        return new

    def to_local(self) -> Tensor:
        """Return this rank's part as an ordinary tensor that shares its memory."""
        with tt.DisableTTFunctionSubclass():
            return self.detach().as_subclass(Tensor)  # type: ignore[attr-defined, no-any-return]  # of a tensor's class

    def full_tensor(self) -> Tensor:
        """Return the whole; all ranks call it."""
        return whole(self.to_local(), self.placement)


class ShardedTensor(_Part, Tensor):
    """A tensor of which this rank keeps some rows, as state dicts have them; its shape and values are the part's.

    Attributes
    ----------
    placement : Placement
        How it is divided.
    """

    @classmethod
    def of(cls, part: Tensor, placement: Placement) -> ShardedTensor:
        """Return a part that shares a tensor's memory."""
        with tt.DisableTTFunctionSubclass():
            result: ShardedTensor = part.detach().as_subclass(cls)
        result.placement = placement
        return result


class ShardedParameter(_Part, Parameter):
    """A parameter of which this rank keeps some rows; its shape, values and gradient are those of the part.

    Attributes
    ----------
    placement : Placement
        How it is divided.
    """

    @classmethod
    def of(
        cls,
        parameter: Tensor,
        group: ProcessGroup,
        replicas: ProcessGroup | None = None,
        offload: CPUOffloadPolicy | None = None,
    ) -> ShardedParameter:
        """Return this rank's part of a parameter that all ranks have whole."""
        placement = Placement(group, tuple(parameter.shape), replicas)
        # A copy, or the view would keep the whole parameter in memory.
        part = placement.part(parameter).clone()
        if offload is not None:
            part = part.cpu()
            if offload.pin_memory and parameter.device.type == "cuda":
                part = part.pin_memory()
        result = cls(part, requires_grad=parameter.requires_grad)
        result.placement = placement
        return result

    def of_rows(self, rows: Tensor) -> ShardedParameter:
        """Return a parameter with other values, perhaps on another device, for the same rows."""
        with tt.DisableTTFunctionSubclass():
            new = type(self)(rows.detach().as_subclass(Tensor), requires_grad=self.requires_grad)
        new.placement = self.placement
        return new


def padded(part: Tensor, placement: Placement) -> Tensor:
    """Return rows as a vector with the length that every rank's has."""
    flat = part.reshape(-1)
    missing = placement.chunk * placement.row_size - flat.numel()
    return flat if not missing else tt.cat([flat, flat.new_zeros(missing)])


def whole(part: Tensor, placement: Placement) -> Tensor:
    """Gather the parts of all ranks."""
    flat = padded(part, placement)
    size = ranks.get_world_size(placement.group)
    gathered = flat.new_empty(size * flat.numel())
    gathering.all_gather_single(gathered, flat, group=placement.group)
    # The padding lies behind the last row, since only the last ranks have less than a chunk.
    count = placement.rows * placement.row_size
    return gathered[:count].reshape(placement.shape)
