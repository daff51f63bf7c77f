"""tt.multiprocessing: Python's `multiprocessing`, with tensors that processes share.

Importing it teaches the pickler of `multiprocessing` how tensors travel; all names of that module are here, too.
"""

from __future__ import annotations

import multiprocessing as _standard
from collections.abc import Callable, Iterable
from multiprocessing import *  # noqa: F403
from typing import Any

from tt.library import get_all_sharing_strategies, get_sharing_strategy, set_sharing_strategy
from tt.multiprocessing.connections import Pipe
from tt.multiprocessing.contexts import get_context
from tt.multiprocessing.reductions import init_reductions
from tt.multiprocessing.spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    *_standard.__all__,
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "init_reductions",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


def Queue(maxsize: int = 0) -> Any:  # type: ignore[no-redef]
    """Return a queue between processes; tensors that pass through it are shared.

    See `multiprocessing.Queue`.  `put` pickles at once.

    Examples
    --------
    >>> import tt
    >>> import tt.multiprocessing as mp
    >>> queue, x = mp.Queue(), tt.zeros(2)
    >>> queue.put(x)
    >>> x.is_shared(), queue.get()
    (True, tensor([0., 0.]))
    """
    return get_context().Queue(maxsize)


def JoinableQueue(maxsize: int = 0) -> Any:  # type: ignore[no-redef]
    """Return a queue with `task_done` and `join`; see `multiprocessing.JoinableQueue`."""
    return get_context().JoinableQueue(maxsize)


def SimpleQueue() -> Any:  # type: ignore[no-redef]
    """Return a queue that is little more than a pipe with locks; see `multiprocessing.SimpleQueue`."""
    return get_context().SimpleQueue()


def Pool(  # type: ignore[no-redef]
    processes: int | None = None,
    initializer: Callable[..., object] | None = None,
    initargs: Iterable[Any] = (),
    maxtasksperchild: int | None = None,
) -> Any:
    """Return processes that call functions; tensors among arguments and results are shared.

    See `multiprocessing.Pool`.
    """
    return get_context().Pool(processes, initializer, initargs, maxtasksperchild)


init_reductions()
