"""meet: wait in a store for all ranks, and name those that did not come."""

from __future__ import annotations

from datetime import timedelta

from tt.distributed.errors import DistStoreError, DistTimeoutError
from tt.distributed.stores.store import Store

__all__ = ["meet"]


def meet(store: Store, rank: int, size: int, timeout: timedelta, engine: str) -> None:
    """Wait until all ranks are here: libraries that connect them would wait for ever for who does not come.

    Parameters
    ----------
    store : Store
        One that no other meeting uses.
    rank, size : int
        This rank, and how many there are.
    timeout : timedelta
        How long to wait.
    engine : str
        The engine, for the message.

    Raises
    ------
    DistTimeoutError
        Not all ranks came; it names the missing ones.

    Examples
    --------
    >>> from datetime import timedelta
    >>> from tt.distributed import HashStore
    >>> from tt.distributed.engines.meeting import meet
    >>> meet(HashStore(), 0, 1, timedelta(seconds=1), "mpi")
    """
    store.set(str(rank), b"here")
    try:
        store.wait([str(other) for other in range(size)], timeout)
    except DistStoreError as error:
        missing = [str(other) for other in range(size) if not store.check([str(other)])]
        raise DistTimeoutError(
            f"{engine}: rank {rank} waited {timeout.total_seconds():g} s for rank{'s' * (len(missing) > 1)} "
            f"{', '.join(missing)} of {size} to start"
        ) from error
