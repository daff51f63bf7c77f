"""record, which keeps the traceback that ends a worker, and ChildFailedError, which shows those of a job."""

from __future__ import annotations

import functools
import json
import os
import signal
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ParamSpec, Self, TypeVar

__all__ = ["ChildFailedError", "ProcessFailure", "record"]

P = ParamSpec("P")
R = TypeVar("R")


def record(function: Callable[P, R]) -> Callable[P, R | None]:
    """Keep the traceback of an exception that leaves a function, for the launcher's summary.

    `tt run` does so for every Python program; under another launcher that sets TORCHELASTIC_ERROR_FILE, the main
    function needs this decorator.

    Parameters
    ----------
    function : callable
        The main function of a program.

    Examples
    --------
    >>> from tt.distributed.elastic.multiprocessing.errors import record
    >>> @record
    ... def main():
    ...     return "done"
    >>> main()
    'done'
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return function(*args, **kwargs)
        # A program that leaves by `sys.exit(0)` has not failed.
        except SystemExit as leaving:
            if leaving.code in (0, None):
                return None
            raise
        except Exception as error:
            path = os.environ.get("TORCHELASTIC_ERROR_FILE")
            if path:
                keep(path, error)
            raise

    return wrapper


def keep(path: str, error: BaseException) -> None:
    """Write an exception to a file, in the format that launchers of PyTorch read."""
    now = time.time()
    content = {
        "message": {
            "message": f"{type(error).__name__}: {error}",
            "extraInfo": {
                "py_callstack": "".join(traceback.format_exception(error)),
                "timestamp": str(int(now)),  # PyTorch reads whole seconds, too few to say who was first
                "time": now,
            },
        }
    }
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        json.dump(content, file)
    os.replace(f"{path}.part", path)  # a reader sees all of it or nothing


@dataclass(frozen=True, slots=True)
class ProcessFailure:
    """How a worker ended that did not end well.

    Attributes
    ----------
    rank, local_rank : int
        Of all workers, and on its machine.
    pid : int
        Its process.
    exitcode : int
        Its exit code; the negative number of a signal that ended it.
    timestamp : float
        When, in seconds since 1970.
    host : str
        Its machine.
    message : str
        The exception, or an empty string.
    traceback : str
        Its traceback, or an empty string.
    """

    rank: int
    local_rank: int
    pid: int
    exitcode: int
    timestamp: float
    host: str = ""
    message: str = ""
    traceback: str = ""

    @classmethod
    def of(cls, error_file: str, **facts: Any) -> Self:
        """Return the failure of a worker, with the contents of its error file."""
        try:
            with open(error_file, encoding="utf-8") as file:
                content = json.load(file)["message"]
            extra = content["extraInfo"]
            facts |= {
                "message": str(content["message"]),
                "traceback": str(extra["py_callstack"]),
                "timestamp": float(extra.get("time", extra["timestamp"])),
            }
        except (OSError, ValueError, KeyError, TypeError):
            pass  # it was killed, or is not a Python program: only its exit code is known
        return cls(**facts)

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes."""
        return asdict(self)

    @property
    def signal_name(self) -> str:
        """The name of the signal that ended it; an empty string where none did."""
        if self.exitcode >= 0:
            return ""
        try:
            return signal.Signals(-self.exitcode).name
        except ValueError:
            return f"signal {-self.exitcode}"

    @property
    def how(self) -> str:
        """Exit code or signal, in words."""
        return (
            f"was ended by {self.signal_name}" if self.exitcode < 0 else f"exited with code {self.exitcode}"
        )

    def __str__(self) -> str:
        when = time.strftime("%H:%M:%S", time.localtime(self.timestamp))
        location = f" on {self.host}" if self.host else ""
        what = f": {self.message.splitlines()[0]}" if self.message else ""
        return f"rank {self.rank} (local rank {self.local_rank}, pid {self.pid}{location}) {self.how} at {when}{what}"


class ChildFailedError(Exception):
    """Workers of a job have failed; the message begins with the one that failed first.

    Attributes
    ----------
    name : str
        The program.
    failures : dict of int to ProcessFailure
        By rank.

    Examples
    --------
    >>> from tt.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
    >>> failure = ProcessFailure(rank=3, local_rank=1, pid=7, exitcode=-9, timestamp=0.0)
    >>> ChildFailedError("train.py", {3: failure}).get_first_failure()[0]
    3
    """

    def __init__(self, name: str, failures: Mapping[int, ProcessFailure]) -> None:
        self.name = name
        self.failures = dict(failures)
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """Return the rank that failed first, and how."""
        rank = min(self.failures, key=lambda one: self.failures[one].timestamp)
        return rank, self.failures[rank]

    def format_msg(self) -> str:
        """Return the summary: the first failure with its traceback, then the others."""
        root, first = self.get_first_failure()
        lines = [f"{self.name} failed. The first failure:", f"  {first}"]
        if first.traceback:
            lines += [f"    {line}" for line in first.traceback.rstrip().splitlines()]
        elif first.exitcode < 0:
            lines.append("  A signal leaves no traceback; the kernel's log says if memory ran out.")
        else:
            lines.append("  It left no traceback; see its output.")
        others = [str(failure) for rank, failure in sorted(self.failures.items()) if rank != root]
        if others:
            lines += ["Later failures:", *(f"  {one}" for one in others)]
        return "\n".join(lines)
