"""The kernels of the registry, those of lazy tables included, which are made when their operator is asked for.

Whoever looks up an operator finds its kernels as if all tables had been there from the start: no reader knows which of
them are lazy.

Note [Order of lazy kernels]
----------------------------
The last registration of an operator comes first.  Registrations after a lazy table must come before its kernels,
so that adding a kernel makes the lazy ones of that operator first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping
from itertools import chain
from typing import Any

from tt.core.dispatch.registry.sources import Registration

__all__ = ["KernelRegistrations", "Maker"]

Maker = Callable[[str], list[Registration]]
"""Returns the registrations of an operator, the first of its table first."""


class KernelRegistrations(MutableMapping[str, list[Registration]]):
    """Operator -> its kernels, the one that was registered last first.

    Parameters
    ----------
    lock : context manager
        The registry's.
    refuse : callable
        Raises where a registration repeats one of others.

    Examples
    --------
    >>> from tt.core.library import REGISTRY
    >>> type(REGISTRY.kernels).__name__, [r.kernel.op for r in REGISTRY.kernels.get("no_such_operator", ())]
    ('KernelRegistrations', [])
    """

    def __init__(self, lock: Any, refuse: Callable[[Registration, Iterable[Registration]], None]) -> None:
        self._lock, self._refuse = lock, refuse
        self._made: dict[str, list[Registration]] = {}
        self._waiting: dict[str, list[Maker]] = {}

    def wait(self, op: str, maker: Maker) -> None:
        """Let an operator have kernels that are made when it is first asked for."""
        self._waiting[op] = [*self._waiting.get(op, ()), maker]

    def forget(self, op: str, maker: Maker) -> bool:
        """Take back what `wait` was given, and return whether it still waited."""
        makers = self._waiting.get(op, [])
        left = [other for other in makers if other is not maker]
        if left:
            self._waiting[op] = left
        else:
            self._waiting.pop(op, None)
        return len(left) < len(makers)

    def discard(self, registrations: Iterable[Registration]) -> None:
        """Take out registrations that have been made."""
        for gone in registrations:
            op = gone.kernel.op
            self._made[op] = [other for other in self._made.get(op, ()) if other is not gone]

    def make(self, op: str) -> None:
        """Make the kernels of an operator that wait; whatever a maker raises leaves it as it was."""
        makers = self._waiting.get(op)
        if makers is None:
            return
        # Not under the lock: makers import modules, and imports have locks of their own.
        batches = [maker(op) for maker in makers]
        with self._lock:
            # By identity: `wait` and `forget` replace the list, so that a change between the look and the lock shows.
            if self._waiting.get(op) is not makers:  # another thread has been faster, or a table came or went
                return self.make(op)
            kernels = list(self._made.get(op, ()))
            for registration in chain.from_iterable(batches):
                self._refuse(registration, kernels)
                kernels.insert(0, registration)
            self._made[op] = kernels
            del self._waiting[op]  # last: another thread that finds nothing waiting finds the kernels

    def __getitem__(self, op: str) -> list[Registration]:
        if op in self._waiting:
            self.make(op)
        return self._made[op]

    # Waiting kernels are older, and must not be made on top of the new ones; see Note [Order of lazy kernels].
    def __setitem__(self, op: str, registrations: list[Registration]) -> None:
        self.make(op)
        self._made[op] = registrations

    def __delitem__(self, op: str) -> None:
        self.make(op)
        del self._made[op]

    def __iter__(self) -> Iterator[str]:
        for op in list(self._waiting):
            self.make(op)
        return iter(list(self._made))

    def __len__(self) -> int:
        # Without making the waiting ones: counting must not import modules.
        return len({*self._made, *self._waiting})
