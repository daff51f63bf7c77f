"""Hook of post-local SGD: gradients are averaged over all ranks at first, over those of a machine afterwards."""

from __future__ import annotations

import logging
from typing import Any, Final

from tt.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from tt.distributed.algorithms.ddp_comm_hooks.default_hooks import average
from tt.distributed.new_groups import new_subgroups
from tt.distributed.process_group import ProcessGroup
from tt.distributed.reducer import GradBucket

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]

_log: Final = logging.getLogger(__name__)


class PostLocalSGDState:
    """What `post_localSGD_hook` keeps.

    Parameters
    ----------
    process_group : ProcessGroup or None
        The ranks of the first steps; None means all.
    subgroup : ProcessGroup or None
        The ranks of the later ones; None means those of this machine.
    start_localSGD_iter : int
        How many steps average over ``process_group``.
    post_local_gradient_allreduce : bool
        Whether later steps average over ``subgroup``; otherwise gradients stay each rank's own.

    Examples
    --------
    >>> from tt.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState
    >>> PostLocalSGDState(None, None, start_localSGD_iter=100).iter
    0
    """

    def __init__(
        self,
        process_group: ProcessGroup | None,
        subgroup: ProcessGroup | None,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group = process_group
        self.subgroup = subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a step, at its last bucket."""
        if bucket.is_last():
            self.iter += 1
            if self.iter == self.start_localSGD_iter:
                _log.info("Start to apply local SGD after %s iterations.", self.iter)


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Any:
    """Average gradients over all ranks at first, and over those of a machine later.

    The parameters of machines drift apart then: use it with `tt.distributed.optim.PostLocalSGDOptimizer`, which
    averages parameters from time to time ("Don't Use Large Mini-Batches, Use Local SGD", Lin et al., 2020).

    Parameters
    ----------
    state : PostLocalSGDState
        The groups, and the number of steps.
    bucket : GradBucket
        The gradients.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> from tt.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as post_local
    >>> def train():
    ...     model = tt.nn.parallel.DistributedDataParallel(tt.nn.Linear(1, 1))
    ...     alone, _ = dist.new_subgroups(1)
    ...     state = post_local.PostLocalSGDState(None, alone, start_localSGD_iter=1)
    ...     model.register_comm_hook(state, post_local.post_localSGD_hook)
    ...     found = []
    ...     for _ in range(2):
    ...         model.zero_grad()
    ...         model(tt.full((1, 1), float(dist.get_rank()))).sum().backward()
    ...         found.append(model.module.weight.grad.item())
    ...     return found
    >>> dist.run_threads(train, 2)
    [[0.5, 0.0], [0.5, 1.0]]
    """
    first = state.iter < state.start_localSGD_iter
    state.maybe_increase_iter(bucket)
    if first:
        return average(bucket.buffer(), state.process_group)
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = new_subgroups()
    return average(bucket.buffer(), state.subgroup)
