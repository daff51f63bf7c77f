"""HierarchicalModelAverager: averages over few ranks often, and over more of them less often."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tt.distributed import ranks
from tt.distributed.algorithms.model_averaging import utils
from tt.distributed.algorithms.model_averaging.averagers import ModelAverager
from tt.distributed.new_groups import new_subgroups
from tt.distributed.process_group import ProcessGroup

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(ModelAverager):
    """Averages parameters over groups of several sizes, each with a period of its own.

    In a step in which several periods end, the largest group is averaged ("Hierarchical local SGD").

    Parameters
    ----------
    period_group_size_dict : mapping of int to int
        Period -> the number of ranks of a group; both increase, and the last group has all ranks.
    warmup_steps : int
        How many steps at first are not averaged.
    process_group : ProcessGroup, optional
        The ranks; by default all.

    Raises
    ------
    ValueError
        The mapping is empty or not increasing, a period is not positive, or the last group lacks ranks.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> from tt.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
    >>> def train():
    ...     x = tt.nn.Parameter(tt.tensor([float(dist.get_rank())]))
    ...     x.grad = tt.ones(1)
    ...     averager = HierarchicalModelAverager({2: 2, 4: 4}, warmup_steps=1)
    ...     found = []
    ...     for _ in range(5):
    ...         averager.average_parameters([x])
    ...         found.append(x.item())
    ...     return found
    >>> dist.run_threads(train, 4)[3]      # steps 0 to 4: none, none, a pair, none, all
    [3.0, 3.0, 2.5, 2.5, 1.5]
    """

    def __init__(
        self,
        period_group_size_dict: Mapping[int, int],
        warmup_steps: int = 0,
        process_group: ProcessGroup | None = None,
    ) -> None:
        super().__init__(process_group)
        periods, sizes = list(period_group_size_dict), list(period_group_size_dict.values())
        if not periods:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        if periods[0] <= 0:
            raise ValueError("The minimum period in arg ``period_group_size_dict`` must be a positive value.")
        if periods != sorted(set(periods)) or sizes != sorted(set(sizes)):
            raise ValueError("The periods and the sizes in arg ``period_group_size_dict`` must increase.")
        if sizes[-1] != ranks.get_world_size(self.process_group):
            raise ValueError(
                "The last value in arg ``period_group_size_dict`` must be equal to the size of arg ``process_group``."
            )
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps
        # Every rank makes the groups of all sizes, as `new_group` must be called by all.
        self.period_process_group_dict: dict[int, Any] = {
            period: new_subgroups(group_size=size, group=self.process_group)[0]
            for period, size in zip(periods[:-1], sizes[:-1], strict=True)
        }
        self.period_process_group_dict[periods[-1]] = self.process_group

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Count a step, and average over the largest group whose period ends.

        Parameters
        ----------
        params : iterable of Parameter or of dict
            Parameters, or an optimizer's groups; those without gradients are left as they are.
        """
        due = [group for period, group in self.period_process_group_dict.items() if not self.step % period]
        if self.step >= self.warmup_steps and due:
            # The largest group includes the smaller ones, whose averages it would overwrite.
            utils.average_parameters_or_parameter_groups(params, due[-1])
        self.step += 1
