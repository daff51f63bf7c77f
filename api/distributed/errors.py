"""What goes wrong between processes; the names are PyTorch's, and all are RuntimeErrors."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "CollectiveMismatchError",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "DistTimeoutError",
    "QueueEmptyError",
    "RankReport",
]


class DistError(RuntimeError):
    """Something went wrong in `tt.distributed`.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> try:
    ...     dist.get_rank()
    ... except ValueError as error:
    ...     print(error)
    Default process group has not been initialized, please make sure to call init_process_group.
    """


class DistBackendError(DistError):
    """An engine (MPI, NCCL, ...) reported a failure; its own message is part of this one."""


class DistNetworkError(DistError, ConnectionError):
    """A connection could not be made, or was lost.

    Attributes
    ----------
    rank : int or None
        The rank of the group that the connection led to, as far as it is known.
    """

    def __init__(self, message: str = "", rank: int | None = None) -> None:
        super().__init__(message)
        self.rank = rank


class DistStoreError(DistError):
    """A request to a store failed: a key did not appear in time, or the server is gone."""


class QueueEmptyError(DistStoreError):
    """A queue of a store has no value, and the caller would not wait."""


@dataclass(frozen=True, slots=True)
class RankReport:
    """What one rank of a group was doing.

    Attributes
    ----------
    rank : int
        The rank in the group.
    sequence : int or None
        The number of its collective, counted in the group; None where it is not known.
    operation : str
        Name, dtype and shape: ``all_reduce of float32[1024]``; or why nothing is known.
    place : str
        File and line of the user's program, or an empty string.
    """

    rank: int
    sequence: int | None
    operation: str
    place: str = ""

    def __str__(self) -> str:
        number = "" if self.sequence is None else f" #{self.sequence}"
        where = f" in {self.place}" if self.place else ""
        return f"rank {self.rank}: {self.operation}{number}{where}"


class CollectiveMismatchError(DistError):
    """The ranks of a group called different collectives, or the same with tensors that do not fit together.

    Attributes
    ----------
    reports : tuple of RankReport
        What each rank called.
    """

    def __init__(self, message: str, reports: tuple[RankReport, ...] = ()) -> None:
        super().__init__(message)
        self.reports = reports


class DistTimeoutError(DistError, TimeoutError):
    """A collective, a message or a store's key did not come within the timeout.

    Attributes
    ----------
    reports : tuple of RankReport
        What each rank was doing, as far as it is known.
    """

    def __init__(self, message: str, reports: tuple[RankReport, ...] = ()) -> None:
        super().__init__(message)
        self.reports = reports
