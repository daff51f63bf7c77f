"""Workers: the processes of one machine, from their start to the end of all that they have started."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from tt.distributed.elastic.multiprocessing.errors import ProcessFailure
from tt.distributed.run.options import Options
from tt.distributed.run.output import Output, Pipes

__all__ = ["Watcher", "Workers", "command"]

HERE: Final = Path(__file__).parent


def command(options: Options) -> list[str]:
    """Return the command that starts a worker."""
    if options.kind == "command":
        return [options.program, *options.arguments]
    python = [options.environ.get("PYTHON_EXEC", sys.executable), "-u"]
    if options.kind == "file" and not Path(options.program).is_file():
        return [*python, options.program, *options.arguments]  # a folder or a zip file, or Python's own error
    return [*python, str(HERE / "bootstrap.py"), options.kind, options.program, *options.arguments]


class Watcher:
    """A process that kills the workers if the agent dies without having ended them, and removes its folder.

    Each worker leads a process group, and so a session, of its own: Ctrl-C reaches the agent alone, and what a worker
    has started ends with it.
    """

    def __init__(self, temporary: str = "") -> None:
        # Isolated, without `site`: it starts quickly, and nothing in the environment can break it.
        words = [sys.executable, "-I", "-S", str(HERE / "watcher.py"), *filter(None, [temporary])]
        # In a session of its own, which Ctrl-C in the agent's terminal does not reach.
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)

    def say(self, line: str) -> None:
        """Tell it that a group has begun (``+12``) or ended."""
        pipe: IO[bytes] | None = self._process.stdin
        assert pipe is not None
        with suppress(BrokenPipeError):  # somebody killed it; the workers need it only if the agent dies, too
            pipe.write(f"{line}\n".encode())
            pipe.flush()

    def close(self) -> None:
        """End it; groups that have not ended are killed."""
        self._process.communicate()


@dataclass(slots=True)
class Worker:
    """One process."""

    rank: int
    local_rank: int
    process: subprocess.Popen[bytes]
    pipes: Pipes
    end: int | None
    ended: float | None = None


class Workers:
    """The workers of this machine in one generation."""

    def __init__(self, options: Options, output: Output, watcher: Watcher, host: str) -> None:
        self._options = options
        self._output = output
        self._watcher = watcher
        self._host = host
        self._workers: list[Worker] = []

    def start(self, generation: int, environments: Sequence[Mapping[str, str]]) -> None:
        """Start a process for each environment.

        Raises
        ------
        OSError
            The program cannot be started; those that were are ended.
        """
        words = command(self._options)
        for local_rank, environment in enumerate(environments):
            rank = int(environment["RANK"])
            pipes = self._output.pipes(generation, rank, local_rank)
            try:
                process = subprocess.Popen(
                    words,
                    env={**self._options.environ, **environment, "TORCHELASTIC_ERROR_FILE": pipes.error_file},
                    # A group of its own, so that all processes that the worker has started can be ended
                    # with it.
                    start_new_session=True,
                    **pipes.arguments,
                )
            except OSError:
                pipes.end()
                raise
            self._watcher.say(f"+{process.pid}")
            # Can be read when the process has ended: `wait` returns at once and needs no handler of
            # SIGCHLD.
            end = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else None
            self._workers.append(Worker(rank, local_rank, process, pipes, end))
            pipes.begin(process)

    def poll(self) -> tuple[bool, list[ProcessFailure]]:
        """Return whether all have ended, and how those ended that have failed."""
        for worker in self._workers:
            if worker.ended is None and has_ended(worker.process.pid):
                self._reap(worker)
        failures = [self._failure(w) for w in self._workers if w.ended is not None and w.process.returncode]
        return all(w.ended is not None for w in self._workers), failures

    def wait(self, seconds: float) -> None:
        """Wait until one of them ends, or for so long.

        Who failed first is the cause, and the others may fail a moment later, so the moments must be told apart.
        """
        ends = [w.end for w in self._workers if w.ended is None and w.end is not None]
        if ends:
            select.select(ends, [], [], seconds)
        else:
            time.sleep(seconds)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End all of them: by a signal, and by SIGKILL after the time that they have."""
        for worker in self._workers:
            if worker.ended is None:
                with suppress(ProcessLookupError):
                    os.killpg(worker.process.pid, number)
                    os.killpg(worker.process.pid, signal.SIGCONT)  # a stopped one would not see the signal
        deadline = time.monotonic() + self._options.shutdown_timeout
        while not self.poll()[0]:
            if time.monotonic() > deadline:
                self.kill()
            self.wait(0.02)

    def kill(self) -> None:
        """End all of them at once."""
        for worker in self._workers:
            if worker.ended is None:
                with suppress(ProcessLookupError):
                    os.killpg(worker.process.pid, signal.SIGKILL)

    def clear(self) -> None:
        """Forget those of this generation, which have ended."""
        self._workers.clear()

    def _reap(self, worker: Worker) -> None:
        # Before it is reaped its number belongs to nothing else; what it has left in its group ends here.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(worker.process.pid, signal.SIGKILL)
        worker.process.wait()
        if worker.end is not None:
            os.close(worker.end)
            worker.end = None
        worker.ended = time.time()
        self._watcher.say(f"-{worker.process.pid}")
        worker.pipes.end()

    def _failure(self, worker: Worker) -> ProcessFailure:
        return ProcessFailure.of(
            worker.pipes.error_file,
            rank=worker.rank,
            local_rank=worker.local_rank,
            pid=worker.process.pid,
            exitcode=worker.process.returncode,
            timestamp=worker.ended,
            host=self._host,
        )


def has_ended(pid: int) -> bool:
    """Return whether a child has ended, without reaping it."""
    # Until it is reaped, its number cannot be given to another process.
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
