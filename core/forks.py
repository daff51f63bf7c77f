"""Locks that a child process can take.

Note [Locks and fork]
---------------------
fork copies the memory of a process and only one of its threads.  A lock that another thread held stays held in the
child, where no thread will ever release it.  So before a fork, every lock that is made here is taken, outer ones
first, and afterwards released in both processes, so that the child sees nothing half done.  Module locks of imports
cannot be taken, so the fork waits until no other thread imports for tt.

A thread may hold one lock and want an outer one, or hold a lock for any time.  So after 20 ms everything is released
and taken again, and after five seconds (`PATIENCE`) the fork continues; the child makes new locks for those that could
not be taken.  Locks are reentrant: the thread that forks may hold some itself, for example in the hook of a plugin.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from functools import cached_property
from itertools import count
from types import FrameType
from typing import Any, Final, TypeVar

__all__ = ["fork_safe_lock", "fork_safe_properties"]

PATIENCE: Final = 5.0
"""For how many seconds a fork waits for the locks that other threads hold."""

_PAUSE: Final = 0.02
_IMPORTING: Final = "<frozen importlib._bootstrap>"

Cls = TypeVar("Cls", bound=type)


class _Locks:
    """All locks of the process, and what one fork does with them."""

    def __init__(self) -> None:
        self._numbers = count()
        # The key says the order in which locks are taken: rank, then age.
        self._refs: dict[tuple[int, int], weakref.ref[Any]] = {}
        # Held while a lock is made: a module that another thread imports at this moment may bring one.
        self._making = threading.RLock()
        self._taken: list[Any] = []
        self._missed: list[Any] = []
        if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
            os.register_at_fork(
                before=self.before, after_in_parent=self.in_parent, after_in_child=self.in_child
            )

    def add(self, lock: Any, rank: int) -> None:
        key = rank, next(self._numbers)
        with self._making:
            # The entry goes with its lock: a fork takes only locks that somebody can still use.
            self._refs[key] = weakref.ref(lock, lambda _: self._refs.pop(key, None) and None)

    def before(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            late = time.monotonic() > deadline
            taken: list[Any] = []
            missed: list[Any] = []
            for lock in self._in_order():
                # For a short time: the holder may itself wait for a lock that is taken here.
                if lock.acquire(timeout=0 if late else _PAUSE):
                    taken.append(lock)
                else:
                    missed.append(lock)
                    if not late:
                        break
            if late or not (missed or _others_import()):
                self._taken, self._missed = taken, missed
                return
            # The innermost first, as nested blocks end.
            for lock in reversed(taken):
                lock.release()
            time.sleep(0.001)

    def _in_order(self) -> Iterator[Any]:
        yield self._making
        # Looked up only now, when the caller holds the first.
        # A copy, since a lock may die while the fork takes the others.
        for _, ref in sorted(self._refs.copy().items()):
            if (lock := ref()) is not None:
                yield lock

    def in_parent(self) -> None:
        for lock in reversed(self._taken):
            lock.release()
        self._taken, self._missed = [], []

    def in_child(self) -> None:
        for lock in self._missed:
            lock._at_fork_reinit()  # as the standard library's modules do
        self.in_parent()


def _others_import() -> bool:
    """Return whether another thread imports a module on behalf of tt."""
    frames = sys._current_frames()
    # A variable that refers to its own frame would keep the variables of all callers alive.
    del frames[threading.get_ident()]
    for frame in frames.values():
        importing, ours = False, False
        at: FrameType | None = frame
        while at is not None and not (importing and ours):
            importing = importing or at.f_code.co_filename == _IMPORTING
            ours = ours or str(at.f_globals.get("__name__")).startswith("tt.")
            at = at.f_back
        if importing and ours:
            return True
    return False


_LOCKS: Final = _Locks()


def fork_safe_lock(rank: int = 2, *, reentrant: bool = True) -> Any:
    """Return a lock that no child process of a fork waits for in vain.

    Parameters
    ----------
    rank : int
        In which order a fork takes the locks: first those that are held while others are taken (0), last those that are
        held for a few statements (2).
    reentrant : bool
        Whether the thread that holds the lock may take it again.  A lock that is not reentrant must not be held by a
        thread that forks.

    Returns
    -------
    threading.RLock or threading.Lock
        The lock.

    Examples
    --------
    >>> from tt.core.forks import fork_safe_lock
    >>> lock = fork_safe_lock()
    >>> with lock:
    ...     pass
    """
    lock = threading.RLock() if reentrant else threading.Lock()
    _LOCKS.add(lock, rank)
    return lock


def fork_safe_properties(cls: Cls) -> Cls:
    """Do the same for the cached properties of a class, which have locks of their own in Python 3.11."""
    for value in vars(cls).values():
        lock = getattr(value, "lock", None) if isinstance(value, cached_property) else None
        if lock is not None:
            _LOCKS.add(lock, 1)
    return cls
