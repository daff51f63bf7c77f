"""The sampler of one of several processes, each of which reads a part of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import tt
from tt.errors import ValueRangeError
from tt.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """The indices that belong to one of several processes.

    All processes yield the same number of indices: some indices come twice, or with `drop_last` some are left out.

    Parameters
    ----------
    dataset : Sized
        A dataset with a length.
    num_replicas : int, optional
        The number of processes; by default that of the distributed group.
    rank : int, optional
        Which process this is; by default its rank in the distributed group.
    shuffle : bool
        Whether the order is random.
    seed : int
        The seed of the order, equal in all processes.
    drop_last : bool
        Whether to leave indices out instead of repeating some.

    Raises
    ------
    ValueError
        If a number is left out, and there is no distributed group.
    ValueRangeError
        If the rank is not one of `num_replicas`.

    Examples
    --------
    >>> import tt
    >>> sampler = tt.utils.data.DistributedSampler("abcde", num_replicas=2, rank=1, shuffle=False)
    >>> list(sampler)
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            num_replicas = tt.distributed.get_world_size()
        if rank is None:
            rank = tt.distributed.get_rank()
        if not 0 <= rank < num_replicas:
            raise ValueRangeError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        length = len(dataset)
        self.num_samples = length // num_replicas if drop_last else math.ceil(length / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        length = len(self.dataset)
        if self.shuffle:
            generator = tt.Generator()
            # The same on all ranks, so that their parts do not overlap.
            generator.manual_seed(self.seed + self.epoch)
            indices = tt.randperm(length, generator=generator).tolist()
        else:
            indices = list(range(length))
        if length:
            # A dataset may be smaller than the number of ranks, so it is repeated as often as needed.
            indices *= math.ceil(self.total_size / length)
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose another order; called with the same number in all processes before each pass.

        Parameters
        ----------
        epoch : int
            The number of the pass.
        """
        self.epoch = epoch
