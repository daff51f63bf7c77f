"""Averages of gradients that are under way while backward goes on."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from tt import Tensor
from tt.distributed import collectives, exchanging
from tt.distributed.process_group import ProcessGroup

__all__ = ["Average", "UnderWay"]

_LIMIT: Final = 2


class Average:
    """A rank's part of the averaged gradients of a group, from the start of its `reduce_scatter`.

    Parameters
    ----------
    given : Tensor
        The gradients, divided by the number of ranks: a row for each rank.
    group : ProcessGroup
        The ranks that share the parameters.
    replicas : ProcessGroup, optional
        Ranks with the same parts, whose averages are added up afterwards.
    """

    def __init__(self, given: Tensor, group: ProcessGroup, replicas: ProcessGroup | None) -> None:
        self._part = given.new_empty(given.shape[1])
        self._replicas = replicas
        self._work = exchanging.reduce_scatter_single(
            self._part, given.reshape(-1), group=group, async_op=True
        )
        self._summed: Any = None

    def settle(self) -> None:
        """Wait for `reduce_scatter`, which frees the gradients, and start what follows it."""
        if self._work is None:
            return
        self._work.wait()
        # Lets go of the flattened gradients, the largest tensors of a backward pass.
        self._work = None
        if self._replicas is not None:
            self._summed = collectives.all_reduce(self._part, group=self._replicas, async_op=True)

    def part(self) -> Tensor:
        """Return this rank's part when it is there."""
        self.settle()
        if self._summed is not None:
            self._summed.wait()
            self._summed = None
        return self._part


class UnderWay:
    """The averages that a backward pass has started: few at a time, for each holds gradients of whole parameters.

    Attributes
    ----------
    limit : int
        How many `reduce_scatter` run while backward goes on; 0 to wait for each at once.
    """

    def __init__(self) -> None:
        self.limit = _LIMIT
        self._running: deque[Average] = deque()

    def start(self, given: Tensor, group: ProcessGroup, replicas: ProcessGroup | None) -> Average:
        """Start an average, after the earliest one has ended if too many run."""
        while self._running and len(self._running) >= self.limit:
            self._running.popleft().settle()
        average = Average(given, group, replicas)
        if self.limit:
            self._running.append(average)
        else:
            average.settle()
        return average

    def forget(self) -> None:
        """Drop averages that a failed backward pass has started."""
        self._running.clear()
