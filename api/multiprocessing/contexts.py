"""Contexts: the functions of `multiprocessing` for one way to start processes, with queues and pipes that share."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable
from multiprocessing import context
from typing import Any, Final

from tt.multiprocessing.connections import Connection, Pipe
from tt.multiprocessing.pool import Pool as _Pool
from tt.multiprocessing.queues import JoinableQueue, Queue, SimpleQueue

__all__ = ["ForkContext", "ForkServerContext", "SpawnContext", "get_context"]


class _Sharing:
    """The members that all contexts share."""

    def Queue(self, maxsize: int = 0) -> Queue:
        """Return a queue; see `multiprocessing.Queue`."""
        return Queue(maxsize, ctx=self)

    def JoinableQueue(self, maxsize: int = 0) -> JoinableQueue:
        """Return a queue with `task_done` and `join`."""
        return JoinableQueue(maxsize, ctx=self)

    def SimpleQueue(self) -> SimpleQueue:
        """Return a queue that is little more than a pipe with locks."""
        return SimpleQueue(ctx=self)

    def Pipe(self, duplex: bool = True) -> tuple[Connection, Connection]:
        """Return the two ends of a pipe."""
        return Pipe(duplex)

    def Pool(
        self,
        processes: int | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: Iterable[Any] = (),
        maxtasksperchild: int | None = None,
    ) -> _Pool:
        """Return processes that call functions; see `multiprocessing.Pool`."""
        return _Pool(processes, initializer, initargs, maxtasksperchild, context=self)

    def get_context(self, method: str | None = None) -> Any:
        """Return the context of a start method, or this one."""
        return self if method is None else get_context(method)


class SpawnContext(_Sharing, context.SpawnContext):
    """Starts a new Python for each process."""


_CONTEXTS: Final[dict[str, Any]] = {"spawn": SpawnContext()}

if hasattr(context, "ForkContext"):

    class ForkContext(_Sharing, context.ForkContext):
        """Starts processes as copies of this one."""

    class ForkServerContext(_Sharing, context.ForkServerContext):
        """Starts processes as copies of a server, which is free of threads."""

    _CONTEXTS.update({"fork": ForkContext(), "forkserver": ForkServerContext()})


def get_context(method: str | None = None) -> Any:
    """Return the functions of this module for one way to start processes.

    Parameters
    ----------
    method : str, optional
        "fork", "spawn" or "forkserver"; by default what `set_start_method` says.

    Raises
    ------
    ValueError
        If the start method does not exist.

    Examples
    --------
    >>> import tt.multiprocessing as mp
    >>> mp.get_context("spawn").get_start_method()
    'spawn'
    """
    original = multiprocessing.get_context(method)
    # By the method's name, for None stands for the default that the program has set.
    return _CONTEXTS.get(original.get_start_method(), original)
