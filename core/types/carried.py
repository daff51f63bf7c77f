"""State of threads that follows a computation into another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, Self
from weakref import WeakSet

__all__ = ["Carried", "state_of_thread"]


class Carried(threading.local):
    """Thread-local state that goes along where a computation goes on in another thread.

    A backward pass that is started inside of many others runs in a thread of its own, for the stack of one does not
    suffice.  To the program it is the same thread of execution: the state of the thread that waits becomes that of the
    thread that computes, and comes back with what has changed.  All thread-local state of tt derives from this class.

    A subclass whose state is kept by another library overrides `take` and `put`.

    Examples
    --------
    >>> from tt.library import Carried
    >>> class Settings(Carried):
    ...     level: int = 0
    >>> settings = Settings()
    >>> settings.level = 3
    >>> settings.take()
    {'level': 3}
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:  # noqa: D102
        instance = super().__new__(cls, *args, **kwargs)
        _ALL.add(instance)
        return instance

    def take(self) -> Any:
        """Return the state of this thread."""
        return dict(self.__dict__)

    def put(self, state: Any) -> None:
        """Give this thread the state that `take` returned in another one."""
        # Cleared first: what the other thread has never set has its default there.
        mine = self.__dict__
        mine.clear()
        mine.update(state)


_ALL: Final[WeakSet[Carried]] = WeakSet()
"""The instances; one that nothing else holds is gone with its backend."""


def state_of_thread() -> Callable[[], None]:
    """Return a function that gives all `Carried` state that this thread has now to the thread that calls it."""
    states = [(each, each.take()) for each in list(_ALL)]

    def put() -> None:
        for each, state in states:
            each.put(state)

    return put
