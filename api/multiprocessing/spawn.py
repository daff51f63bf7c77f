"""Starting processes that all call one function, and waiting for them."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing import connection
from typing import Any, Final

from tt.errors import ArgumentError, ValueRangeError
from tt.library import warn_user

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

_LONGEST: Final = 48_000
"""Characters of a traceback that are reported: a pipe holds them although its reader waits for the process."""

_PATIENCE: Final = 30.0
"""Seconds that processes have to end by themselves after another one failed, if `grace_period` does not say."""


class ProcessException(Exception):
    """A process of `start_processes` that failed.

    Attributes
    ----------
    msg : str
        What happened.
    error_index : int
        The number of the process.
    pid, error_pid : int
        Its id.
    """

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    @property
    def error_pid(self) -> int:
        """The id of the process that failed."""
        return self.pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process whose function raised an exception; the message is its traceback."""


class ProcessExitedException(ProcessException):
    """A process that was ended by a signal, or ended itself with an exit code.

    Attributes
    ----------
    exit_code : int
        As `Process.exitcode`: negative for a signal.
    signal_name : str or None
        The name of the signal.
    """

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


# --- in the child ----------------------------------------------------------------------------------------------------


def _end_with_parent(parent: int) -> None:
    """Have the system end this process when its parent ends, however that ends.

    An interrupt would be an exception of Python, which is lost where a finalizer runs.
    """
    if sys.platform != "linux":
        return
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)
    # The parent has ended before the request: no signal will come.
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], report: Any, parent: int | None) -> None:
    if parent is not None:
        _end_with_parent(parent)
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        sys.exit(1)  # of the terminal, which interrupts the parent too
    except Exception:
        text = traceback.format_exc()
        if len(text) > _LONGEST:
            half = _LONGEST // 2
            text = f"{text[:half]}\n  [... {len(text) - _LONGEST} characters ...]\n{text[-half:]}"
        report.send((time.time(), text))
        sys.exit(1)


# --- in the parent ---------------------------------------------------------------------------------------------------


def missing_main() -> str:
    """Return why a new Python cannot import what this program defines, or "" if it can.

    `multiprocessing` has it run the file of the main module, and `python -`, `python -c` and a prompt have none.
    """
    main = sys.modules.get("__main__")
    if getattr(main, "__spec__", None) is not None:
        return ""
    path = getattr(main, "__file__", None)
    if path is not None and os.path.exists(path):
        return ""
    return (
        "the main program has no file (python -, python -c or a prompt), and processes that are not forked import "
        "from it\n  try: the program in a file, or the start method 'fork'"
    )


class ProcessContext:
    """The processes of `start_processes`.

    Attributes
    ----------
    processes : list of multiprocessing.Process
        In the order of their numbers.
    reason : str
        Why a process may not have come as far as the function, or "".
    sentinels : dict
        What becomes ready when a process ends -> its number, for those that run.
    """

    def __init__(self, processes: list[Any], reports: list[Any], reason: str = "") -> None:
        self.processes = processes
        self.reason = reason
        self._reports = reports
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int | None]:
        """Return the ids of the processes."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until at least one more process has ended; call it in a loop until it returns True.

        When a process has failed, the others are ended, and its failure is raised.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait; by default until one ends.
        grace_period : float, optional
            Seconds that the others have to end after being terminated; then they are killed.

        Returns
        -------
        bool
            Whether all have ended well.

        Raises
        ------
        ProcessRaisedException
            If the function raised an exception in a process.
        ProcessExitedException
            If a process was ended by a signal, or ended itself with another exit code than 0.
        """
        if not self.sentinels:
            return True
        failed: list[tuple[float, int, str]] = []
        # A sentinel is ready when its process has ended, so nothing is polled.
        for ready in connection.wait(list(self.sentinels), timeout):
            index = self.sentinels.pop(ready)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed.append(self._report(index))
        if not failed:
            return not self.sentinels
        self._end_others(_PATIENCE if grace_period is None else grace_period)
        # Of several that ended together, the one that raised first: others may have failed because of it.
        _, index, text = min(failed)
        raise self._exception(index, text)

    def _report(self, index: int) -> tuple[float, int, str]:
        """Return when a process failed, its number, and its traceback if it had one."""
        report = self._reports[index]
        try:
            # A process that was killed has reported nothing.
            moment, text = report.recv() if report.poll() else (float("inf"), "")
        except (EOFError, OSError):
            moment, text = float("inf"), ""
        return moment, index, text

    def _end_others(self, seconds: float) -> None:
        running = [process for process in self.processes if process.is_alive()]
        for process in running:
            process.terminate()
        deadline = time.monotonic() + seconds
        for process in running:
            process.join(max(0.0, deadline - time.monotonic()))
        for process in running:
            if process.is_alive():
                process.kill()
            process.join()
        self.sentinels.clear()

    def _exception(self, index: int, text: str) -> ProcessException:
        process = self.processes[index]
        if text:
            message = f"\n\n-- Process {index} terminated with the following error:\n{text}"
            return ProcessRaisedException(message, index, process.pid)
        code = process.exitcode
        if code >= 0:
            message = f"process {index} terminated with exit code {code}"
            if code == 1 and self.reason:
                message += f"\n  {self.reason}"
            return ProcessExitedException(message, index, process.pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:  # a real-time signal
            name = f"<Unknown signal {-code}>"
        message = f"process {index} terminated with signal {name}"
        return ProcessExitedException(message, index, process.pid, code, name)


class SpawnContext(ProcessContext):
    """`ProcessContext` under PyTorch's older name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn_user("SpawnContext is now ProcessContext")
        super().__init__(*args, **kwargs)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Start processes that call `fn(number, *args)`.

    Parameters
    ----------
    fn : callable
        Called in each process; to be found in a module, unless processes are forked.
    args : tuple
        Further arguments; tensors among them are shared.
    nprocs : int
        How many processes.
    join : bool
        Whether to wait for all.
    daemon : bool
        Whether the processes end with this one, and have no children.
    start_method : str
        "spawn", "fork" or "forkserver".

    Returns
    -------
    ProcessContext or None
        None if all have been waited for.

    Raises
    ------
    ProcessRaisedException, ProcessExitedException
        With `join`: the first failure; the other processes are ended.
    TypeError
        If `fn` cannot be called.
    ValueError
        If the start method does not exist, or `nprocs` is negative.

    Examples
    --------
    >>> import tt
    >>> import tt.multiprocessing as mp
    >>> x = tt.zeros(3).share_memory_()
    >>> def write(rank, x):
    ...     x[rank] = rank
    >>> mp.start_processes(write, (x,), nprocs=3, start_method="fork")
    >>> x
    tensor([0., 1., 2.])
    """
    if not callable(fn):
        raise ArgumentError("start_processes", f"argument 'fn' must be callable, not {type(fn).__name__}")
    if nprocs < 0:
        raise ValueRangeError(f"start_processes(): nprocs must not be negative, but is {nprocs}")
    context: Any = multiprocessing.get_context(start_method)
    processes: list[Any] = []
    reports: list[Any] = []
    # The system ends children when the thread that started them ends, so only the main one may ask for it; and
    # the children of a fork server are not this process's.
    lasting = start_method != "forkserver" and threading.current_thread() is threading.main_thread()
    parent = os.getpid() if lasting else None
    try:
        for index in range(nprocs):
            here, there = context.Pipe(duplex=False)
            process = context.Process(
                target=_run, args=(fn, index, tuple(args), there, parent), daemon=daemon
            )
            process.start()
            # Otherwise `recv` would wait for ever after the child has ended, which holds the other copy.
            there.close()
            processes.append(process)
            reports.append(here)
    except BaseException:
        for process in processes:
            process.kill()
            process.join()
        raise
    running = ProcessContext(processes, reports, "" if start_method == "fork" else missing_main())
    if not join:
        return running
    while not running.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Start processes that call `fn(number, *args)`, each in a new Python.

    `start_processes` starts them in other ways, and describes the arguments.

    Raises
    ------
    ProcessRaisedException, ProcessExitedException
        With `join`: the first failure; the other processes are ended.
    """
    if start_method != "spawn":
        raise ValueRangeError(
            f"spawn(): start_method={start_method!r}\n  try: tt.multiprocessing.start_processes, which takes it"
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method)
