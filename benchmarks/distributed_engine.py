"""An engine of `tt.distributed` whose messages take as long as over a slower network."""

from __future__ import annotations

import time
from typing import Any

__all__ = ["slow_engine"]


def slow_engine(bandwidth: float) -> str:
    """Register MPI on an imitated network of some bytes a second, and return the engine's name.

    An operation is done when MPI is, and when the larger of its buffers would have come through.  Operations that run
    at once share the network: each starts when the one before it is through.
    """
    from tt.distributed import Backend
    from tt.distributed.engines.mpi import Mpi

    class Slow(Mpi):
        name = "slow"
        free = 0.0

        def _pending(self, request: Any, *buffers: Any) -> Any:
            pending = super()._pending(request, *buffers)
            sizes = [memoryview(b[0] if isinstance(b, list) else b).nbytes for b in buffers if b is not None]
            self.free = max(self.free, time.monotonic()) + max(sizes, default=0) / bandwidth
            return _Later(pending, self.free)

    Backend.register_backend("slow", Slow)
    return "slow"


class _Later:
    """Is done when an operation is, and not before some time."""

    source = None

    def __init__(self, pending: Any, until: float) -> None:
        self._pending, self._until = pending, until
        self._done = False

    def test(self) -> bool:
        self._done = self._done or self._pending.test()
        return self._done and time.monotonic() >= self._until

    def cancel(self) -> None:
        self._pending.cancel()
