"""PeriodicModelAverager: an average of the ranks' parameters after every few steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from tt.distributed import world
from tt.distributed.algorithms.model_averaging import utils
from tt.distributed.process_group import ProcessGroup
from tt.library import warn_user

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """What averages parameters between ranks, in steps that it counts.

    Parameters
    ----------
    process_group : ProcessGroup, optional
        The ranks; by default all.
    """

    def __init__(self, process_group: ProcessGroup | None = None) -> None:
        self.process_group = world.default_group() if process_group is None else process_group
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average parameters, or those of an optimizer's groups, if it is time for that."""


class PeriodicModelAverager(ModelAverager):
    """Averages parameters after every ``period`` steps, from ``warmup_steps`` on.

    Parameters
    ----------
    period : int
        How many steps ranks train alone.
    warmup_steps : int
        How many steps at first do not count, because gradients are averaged in them.
    process_group : ProcessGroup, optional
        The ranks; by default all.

    Raises
    ------
    ValueError
        ``warmup_steps`` is negative, or ``period`` is not positive.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> from tt.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    >>> def train():
    ...     x = tt.nn.Parameter(tt.zeros(1))
    ...     averager = PeriodicModelAverager(period=2, warmup_steps=1)
    ...     found = []
    ...     for _ in range(4):
    ...         x.grad = tt.ones(1)
    ...         x.data += dist.get_rank()
    ...         averager.average_parameters([x])
    ...         found.append(x.item())
    ...     return found
    >>> dist.run_threads(train, 2)       # after the second and the fourth step
    [[0.0, 1.0, 1.0, 2.0], [1.0, 1.0, 2.0, 2.0]]
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: ProcessGroup | None = None) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warn_user(
                "When period is 1, no need to use model averaging because the communication cost of all-reducing "
                "parameters will be no less than the cost of all-reducing gradients by DistributedDataParallel in the "
                "backward pass. Therefore, only DistributedDataParallel should be used for this case.",
            )
        self.period = period
        self.warmup_steps = warmup_steps

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Count a step, and average if it is the last of a period.

        Parameters
        ----------
        params : iterable of Parameter or of dict
            Parameters, or an optimizer's groups; those without gradients are left as they are.
        """
        if self.step >= self.warmup_steps and not (self.step - self.warmup_steps) % self.period:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
