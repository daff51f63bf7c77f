"""Deferred: a future whose value is computed by whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tt.futures import Future

__all__ = ["Deferred"]

T = TypeVar("T")


class Deferred(Future[T]):
    """The result of a hook that communicates in several rounds.

    Note [Rounds of a hook]
    -----------------------
    Collectives must start in the same order on all ranks.  A hook that starts its second round when the first has
    ended would do so in whatever order buckets end on a rank.  So the first rounds start while backward goes on, and
    the others when the reducer waits for the buckets, which it does in the order of their numbers.

    Parameters
    ----------
    compute : callable
        Called without arguments, once, by the first `wait`; returns the value.

    Examples
    --------
    >>> from tt.distributed.algorithms.ddp_comm_hooks.deferred import Deferred
    >>> future = Deferred(lambda: 2)
    >>> doubled = future.then(lambda done: 2 * done.value())
    >>> future.done(), doubled.wait(), future.done()
    (False, 4, True)
    """

    def __init__(self, compute: Callable[[], T]) -> None:
        super().__init__()
        self._compute = compute

    def wait(self) -> T:
        """Return the value; compute it first, if that was not done."""
        if not self.done():
            try:
                value = self._compute()
            except Exception as error:
                self.set_exception(error)
            else:
                self.set_result(value)
        return super().wait()

    def then(self, callback: Callable[[Any], Any]) -> Future[Any]:
        """Return a future for the result of a function, which is computed by whoever waits for it."""

        def compute() -> Any:
            self.wait()
            return callback(self)

        return Deferred(compute)
