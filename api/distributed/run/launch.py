"""main: what `tt run` and `python -m tt.distributed.run` do."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Final

from tt.distributed.elastic.multiprocessing.errors import ChildFailedError
from tt.distributed.errors import DistError
from tt.distributed.run.agent import Agent, AgentStopped, JobFailedError
from tt.distributed.run.options import Options, parse_args

__all__ = ["main"]

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def complain(message: str) -> None:
    """Print a message of the agent on the standard error."""
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()


def heard() -> list[signal.Signals]:
    """Return the signals that end the agent: not those that `nohup` or a shell has told it to ignore.

    Python gives signals to the main thread alone; in another one, it is the caller's matter to end the agent.
    """
    if threading.current_thread() is not threading.main_thread():
        return []
    return [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


def main(words: Sequence[str] | None = None, say: Callable[[str], None] = complain) -> int:
    """Run a job; return the exit code: 0, 1 if it failed, 2 if there is no such program, or 128 and a signal's number.

    Parameters
    ----------
    words : sequence of str, optional
        The command line; by default that of this process.
    say : callable
        Takes each message of the agent.

    Examples
    --------
    >>> from tt.distributed.run import main
    >>> main(["--no-python", "--nproc-per-node=1", "true"])
    0
    """
    options = parse_args(words)
    if (missing := _missing(options)) is not None:
        say(missing)
        return 2
    try:
        agent = Agent(options, say)
    except OSError as error:
        say(f"cannot write to {error.filename}: {error.strerror}")
        return 1
    before = {number: signal.signal(number, agent.on_signal) for number in heard()}
    try:
        agent.run()
    except ChildFailedError as error:
        say(str(error))
        return 1
    except (JobFailedError, DistError) as error:
        say(f"the job has failed: {error}")
        return 1
    except AgentStopped as stopped:
        say(f"the agent was ended by {signal.Signals(stopped.number).name}; its workers have ended")
        return 128 + stopped.number
    finally:
        # `main` may be called by a program that has handlers of its own.
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0


def _missing(options: Options) -> str | None:
    """Return what to say of a program that does not exist: the workers of all machines would fail, and again."""
    program = options.program
    if options.kind == "file" and not os.path.exists(program):
        return f"there is no file {program}\n  try: -m for a module, --no-python for a command that is not Python"
    return None
