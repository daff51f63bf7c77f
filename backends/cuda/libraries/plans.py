"""Shared by the library interfaces: cached plans, and workspace memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from tt.core.library import fork_safe_lock

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["Plans", "Workspaces", "place_of"]

Plan = TypeVar("Plan")

MOST: Final = 4096
"""The maximum number of cached plans of a library; the least recently used one is dropped."""


class Plans(Generic[Plan]):
    """A cache of plans, which drops the least recently used one first.

    Parameters
    ----------
    close : callable, optional
        Frees the resources of a dropped plan.
    most : int
        How many are kept.
    """

    def __init__(self, close: Callable[[Plan], Any] | None = None, most: int = MOST) -> None:
        self._kept: OrderedDict[Hashable, Plan] = OrderedDict()
        self._close, self._most, self._lock = close, most, fork_safe_lock()

    def get(self, key: Hashable, make: Callable[[], Plan]) -> Plan:
        """Return the plan of a key; the first time it is made."""
        with self._lock:
            cached = self._kept.get(key)
            if cached is not None:
                self._kept.move_to_end(key)
                return cached
        # Outside of the lock: a library takes its time, and plans for other calls need not wait.
        candidate = make()
        dropped = []
        with self._lock:
            cached = self._kept.setdefault(key, candidate)
            if cached is not candidate:
                dropped.append(candidate)
            while len(self._kept) > self._most:
                dropped.append(self._kept.popitem(last=False)[1])
        if self._close is not None:
            for plan in dropped:
                self._close(plan)
        return cached

    def __len__(self) -> int:
        return len(self._kept)

    def items(self) -> list[tuple[Hashable, Plan]]:
        """Return the keys and plans, the one used last at the end."""
        with self._lock:
            return list(self._kept.items())


def place_of(backend: CudaBackend) -> tuple[int, int]:
    """Return the current device and the address of its current stream."""
    cuda = backend.library().cuda
    return int(cuda.runtime.getDevice()), int(cuda.get_current_stream().ptr)


class _OfGraph(NamedTuple):
    """A workspace that a graph keeps."""

    place: tuple[int, int]
    owner: Any


class Workspaces:
    """Workspace memory for a library, one piece for each device and stream, which grows on demand.

    Work on one stream is done in order, so that calls on it can share their piece.

    Parameters
    ----------
    backend : CudaBackend
        Whose memory is used.
    """

    def __init__(self, backend: CudaBackend) -> None:
        self._backend = backend
        self._owners: dict[tuple[int, int], Any] = {}

    def address(self, place: tuple[int, int], nbytes: int) -> int:
        """Return the address of at least so many bytes, 0 for none."""
        if nbytes <= 0:
            return 0
        memory, captured = self._backend.memory, self._backend.transfers.captured
        if captured is not None:
            return memory.address(self._of_graph(captured, place, nbytes))
        owner = self._owners.get(place)
        if owner is None or memory.nbytes(owner) < nbytes:
            # Memory freed here may still be in use: the pool reuses it only for later work of the same stream.
            owner = self._owners[place] = memory.allocate(nbytes)
        return memory.address(owner)

    def _of_graph(self, kept: list[Any], place: tuple[int, int], nbytes: int) -> Any:
        """Return memory that a graph keeps: its replays may run concurrently with other work of the captured stream."""
        for item in kept:
            if (
                type(item) is _OfGraph
                and item.place == place
                and self._backend.memory.nbytes(item.owner) >= nbytes
            ):
                return item.owner
        kept.append(_OfGraph(place, self._backend.memory.allocate(nbytes)))
        return kept[-1].owner

    def clear(self) -> None:
        """Give the memory back."""
        self._owners.clear()
