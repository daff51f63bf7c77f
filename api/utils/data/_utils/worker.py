"""The worker's names at PyTorch's path, and what libraries with workers of their own build them from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tt.utils.data.worker_info import WorkerInfo, get_worker_info

__all__ = ["ManagerWatchdog", "WorkerInfo", "get_worker_info"]

MP_STATUS_CHECK_INTERVAL: Final = 5.0
"""Seconds that programs wait for a batch before they check whether the other process lives."""


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """A worker's answer when its copy of a stream has ended."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """Starts a worker's next pass over the data.

    Attributes
    ----------
    seed : int, optional
        The seed that the workers share in the pass.
    """

    seed: int | None = None


class ManagerWatchdog:
    """Tells whether the process lives that started this one."""

    def __init__(self) -> None:
        self.manager_pid = os.getppid()
        self.manager_dead = False

    def is_alive(self) -> bool:
        """Return whether it lives: a process gets another parent when its own ends."""
        self.manager_dead = self.manager_dead or os.getppid() != self.manager_pid
        return not self.manager_dead


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Return the seed of NumPy's global generator in a worker: four words that depend on both numbers.

    Examples
    --------
    >>> from tt.utils.data._utils.worker import _generate_state
    >>> _generate_state(1, 0) == _generate_state(1, 1)
    False
    """
    words: Any = np.random.SeedSequence(
        [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    ).generate_state(4)
    return [int(word) for word in words]
