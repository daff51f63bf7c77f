"""Processes that work for this one: they died, or take too long."""

from __future__ import annotations

import errno
import os

from tt.core.errors.base import TTError

_HINTS = {
    "SIGKILL": "  the system may have run out of memory: fewer workers, smaller batches, a lower prefetch_factor",
    "SIGBUS": "  there may be too little shared memory: a larger /dev/shm, fewer workers, smaller batches",
    "SIGSEGV": "  compiled code crashed in the worker: rerun with num_workers=0 and `python -X faulthandler`",
}

_REFUSALS = {
    errno.ENOSPC: "  /dev/shm is full; try: a larger one, smaller or fewer tensors, or the strategy file_descriptor",
    errno.ENOMEM: "  try: smaller or fewer tensors",
    errno.EFBIG: "  the limit of the size of files is smaller; see: ulimit -f",
    errno.EMFILE: "  too many files are open; try: ulimit -n, or set_sharing_strategy('file_system')",
    errno.ETOOMANYREFS: "  too many files are on their way; try: ulimit -n, or set_sharing_strategy('file_system')",
    errno.ENOENT: "  the process that sent it has ended; try: let it run until the tensor has been received",
}


class WorkerExitError(TTError, RuntimeError):
    """A worker of a DataLoader that ended although the loader did not tell it to."""

    def __init__(self, worker: int, pid: int, exitcode: int, reason: str = "") -> None:
        self.worker, self.pid, self.exitcode = worker, pid, exitcode
        if exitcode < 0:
            try:
                import signal  # here: few programs meet the error, and all import this module

                name = signal.Signals(-exitcode).name
            except ValueError:  # a real-time signal
                name = str(-exitcode)
            ending = f"is killed by signal: {name}"
            hint = _HINTS.get(name, "")
        else:
            ending = f"exited with code {exitcode}"
            hint = f"  {reason}" if reason else "  try: num_workers=0, which shows what happened"
        super().__init__(
            f"DataLoader worker {worker} (pid(s) {pid}) exited unexpectedly: it {ending}"
            + (f"\n{hint}" if hint else "")
        )


class WorkerTimeoutError(TTError, RuntimeError):
    """A batch that did not come from the workers of a DataLoader in the time that it gives them."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(
            f"DataLoader timed out after {seconds} seconds\n  try: a larger timeout=, or num_workers=0 to see what "
            "takes so long"
        )


class SharedMemoryError(TTError, RuntimeError):
    """Memory that processes were to share, and that the system refused or has no longer."""

    def __init__(self, nbytes: int, code: int | None) -> None:
        code = code or 0
        self.nbytes, self.errno = nbytes, code
        hint = _REFUSALS.get(code, "")
        super().__init__(
            f"{nbytes} bytes of shared memory cannot be had: {os.strerror(code)}"
            + (f"\n{hint}" if hint else "")
        )
