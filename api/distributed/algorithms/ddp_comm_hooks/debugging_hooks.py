"""Hooks that help to find out where time goes."""

from __future__ import annotations

from tt import Tensor
from tt.distributed.reducer import GradBucket
from tt.futures import Future

__all__ = ["noop_hook"]


def noop_hook(_: object, bucket: GradBucket) -> Future[Tensor]:
    """Return gradients as they are: a step without communication, whose time is that of computing alone.

    Each rank keeps the gradients of its own batch, so the ranks' parameters differ afterwards.

    Parameters
    ----------
    _ : object
        Unused.
    bucket : GradBucket
        The gradients.

    Examples
    --------
    >>> import tt
    >>> from tt.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
    >>> def train():
    ...     model = tt.nn.parallel.DistributedDataParallel(tt.nn.Linear(1, 1))
    ...     model.register_comm_hook(None, noop_hook)
    ...     model(tt.full((1, 1), float(tt.distributed.get_rank()))).sum().backward()
    ...     return model.module.weight.grad.item()
    >>> tt.distributed.run_threads(train, 2)
    [0.0, 1.0]
    """
    future: Future[Tensor] = Future()
    future.set_result(bucket.buffer())
    return future
