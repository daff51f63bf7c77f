"""The flight recorder: the last operations of a rank."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Final

from tt.distributed.call import Call
from tt.library import Carried

__all__ = ["FlightRecord", "FlightRecorder", "record_comm"]

_LENGTH: Final = "TT_DISTRIBUTED_RECORDS"
_FILE: Final = "TT_DISTRIBUTED_RECORD_FILE"


@dataclass(slots=True)
class FlightRecord:
    """An operation of this rank.

    Attributes
    ----------
    group : str
        The name of its group.
    rank : int
        This rank in the group.
    sequence : int or None
        The number of a collective, counted in the group; None for messages.
    operation : str
        Name, dtype and shape: ``all_reduce of float32[4]``.
    place : str
        File and line of the program.
    started : float
        Seconds since the epoch.
    state : str
        ``running``, ``completed`` or ``failed``.
    seconds : float or None
        How long it took.
    error : str
        The first line of what went wrong.
    name : str
        The program's name for it, by `record_comm`.
    """

    group: str
    rank: int
    sequence: int | None
    operation: str
    place: str
    started: float
    state: str = "running"
    seconds: float | None = None
    error: str = ""
    name: str = ""


_thread = Carried()


@contextmanager
def record_comm(name: str) -> Iterator[None]:
    """Give the operations of a block a name in the flight recorder.

    Parameters
    ----------
    name : str
        The name; that of the innermost block counts.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> def program():
    ...     with dist.record_comm("statistics"):
    ...         dist.all_reduce(tt.ones(2))
    ...     return [(each.name, each.operation) for each in dist.flight_recorder()]
    >>> dist.run_threads(program, 1)
    [[('statistics', 'all_reduce of float32[2]')]]
    """
    before = getattr(_thread, "name", "")
    _thread.name = name
    try:
        yield
    finally:
        _thread.name = before


class FlightRecorder:
    """Keeps the last operations of a rank: 1000, or as many as ``TT_DISTRIBUTED_RECORDS`` says.

    Where ``TT_DISTRIBUTED_RECORD_FILE`` is set, a failed operation writes all of them as JSON to that file, with the
    rank appended to its name.

    Parameters
    ----------
    rank : int
        The rank in the whole job.

    Raises
    ------
    ValueError
        ``TT_DISTRIBUTED_RECORDS`` is not a number.
    """

    def __init__(self, rank: int) -> None:
        self.rank = rank
        length = os.environ.get(_LENGTH, "1000")
        if not length.isdecimal():
            raise ValueError(f"{_LENGTH} must be a number of operations, got {length!r}")
        # Text is made only when it is read: a training run makes millions of records.
        self._kept: deque[tuple[FlightRecord, Call]] = deque(maxlen=int(length))

    def start(self, group: str, rank: int, call: Call) -> FlightRecord:
        """Record that an operation starts."""
        record = FlightRecord(group, rank, call.sequence, "", "", time.time())
        record.name = getattr(_thread, "name", "")
        self._kept.append((record, call))
        return record

    def end(self, record: FlightRecord, error: BaseException | None = None) -> None:
        """Record that it has ended, well or not."""
        record.seconds = time.time() - record.started
        record.state = "completed"
        if error is not None:
            record.state = "failed"
            record.error = str(error).partition("\n")[0] or type(error).__name__
            self.dump()

    def records(self) -> list[FlightRecord]:
        """Return the records, the oldest first."""
        matches = []
        # A copy, for other threads go on recording.
        for record, call in list(self._kept):
            record.operation, record.place = str(call), call.place
            matches.append(record)
        return matches

    def dump(self, path: str | None = None) -> str | None:
        """Write the records as JSON; return the file's name, or None where no file is named.

        A file that cannot be written is ignored: this runs while another one is reported.
        """
        path = path or os.environ.get(_FILE)
        if not path:
            return None
        name = f"{path}.{self.rank}"
        try:
            with open(f"{name}.new", "w", encoding="utf-8") as file:
                json.dump([asdict(record) for record in self.records()], file, indent=1)
            os.replace(f"{name}.new", name)
        except OSError:
            return None
        return name
