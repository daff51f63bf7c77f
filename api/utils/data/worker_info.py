"""The number, seed and dataset of a loader's worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from tt.multiprocessing.segments import Sender

__all__ = ["WorkerInfo", "get_worker_info"]


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """The worker process in which a dataset is read.

    Attributes
    ----------
    id : int
        Its number, from 0.
    num_workers : int
        How many workers the loader has.
    seed : int
        The seed of its random numbers.
    dataset : Dataset
        Its copy of the dataset.

    Examples
    --------
    >>> from tt.utils.data.worker_info import WorkerInfo
    >>> WorkerInfo(id=1, num_workers=2, seed=7, dataset="ab")
    WorkerInfo(id=1, num_workers=2, seed=7, dataset='ab')
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None
_sender: Sender | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return the worker of a loader that this process is, or None where it is none.

    Returns
    -------
    WorkerInfo or None
        Its `id`, `num_workers`, `seed` and `dataset`, which is this process's copy.

    Examples
    --------
    >>> import tt
    >>> class Numbers(tt.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         info = tt.utils.data.get_worker_info()
    ...         return iter(range(info.id if info else 0, 6, info.num_workers if info else 1))
    >>> fork = {"num_workers": 2, "multiprocessing_context": "fork"}
    >>> tt.cat(list(tt.utils.data.DataLoader(Numbers(), batch_size=3, **fork)))
    tensor([0, 2, 4, 1, 3, 5])
    """
    return _info


def become_worker(info: WorkerInfo, sender: Sender) -> None:
    """Make this process a worker."""
    global _info, _sender
    _info, _sender = info, sender


def empty_in_batch(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any] | None:
    """Return a new array in memory that the loader's process shares, or None where it needs none."""
    return None if _sender is None else _sender.empty(shape, dtype)
