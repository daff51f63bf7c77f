"""The process of a worker: receives indices, sends batches.

Note [The end of a worker]
--------------------------
A thread receives, so that the loader never waits to send, and the worker sees at once that it should end: by a
message, or because the loader's process is gone.  That process is watched for itself, since other
children of it may hold the other end of the connection open.  Whoever is in the middle of a batch when the loader's
process has died gets a few seconds.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, Final, NamedTuple

import numpy as np

import tt
from tt.multiprocessing.segments import Sender
from tt.utils.data.fetch import STREAM, make_fetcher
from tt.utils.data.worker_errors import ExceptionWrapper
from tt.utils.data.worker_info import WorkerInfo, become_worker

__all__ = ["EndOfStream", "WorkerArguments", "run_worker"]

WATCH_INTERVAL: Final = 1.0
"""Seconds between two checks of the loader's process."""

GRACE: Final = 5.0
"""Seconds that a worker has to end after the loader's process has died."""


class EndOfStream(NamedTuple):
    """A worker's answer when its copy of a stream has ended."""

    worker: int


class WorkerArguments(NamedTuple):
    """The settings of a worker."""

    kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    base_seed: int
    init_fn: Callable[[int], Any] | None
    worker: int
    workers: int


def run_worker(arguments: WorkerArguments, connection: Connection, not_ours: list[Connection]) -> None:
    """Serve a loader until it says that this is the end.

    Parameters
    ----------
    arguments : WorkerArguments
        What to read, and how.
    connection : multiprocessing.connection.Connection
        To the loader.
    not_ours : list of Connection
        Connections of the loader that a fork copied into this process.
    """
    if not_ours:
        # Garbage of the parent is its own: its finalizers would act on what belongs to the parent.  And a collection
        # that writes to every inherited object would copy their pages.
        gc.freeze()
    for other in not_ours:
        other.close()
    sender = Sender(connection)
    try:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # blocked where WorkerPool forks
        # A signal of the terminal reaches every process; the loader's says what becomes of the workers.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _serve(arguments, sender)
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        pass  # the loader has the same signal, or is gone
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sender.close()


def _seed(arguments: WorkerArguments) -> int:
    """Seed the generators of the process; each worker has a seed of its own."""
    seed = arguments.base_seed + arguments.worker
    random.seed(seed)
    tt.manual_seed(seed)
    low, high = arguments.base_seed & 0xFFFFFFFF, arguments.base_seed >> 32
    # NumPy's seeds must not overlap with those of the next worker in another run.
    np.random.seed(np.random.SeedSequence([arguments.worker, low, high, 0]).generate_state(4))
    return seed


def _serve(arguments: WorkerArguments, sender: Sender) -> None:
    inbox: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_listen, args=(sender.connection, inbox), daemon=True).start()
    # Workers are parallel already: threads of each would only compete.
    tt.set_num_threads(1)
    seed = _seed(arguments)
    become_worker(WorkerInfo(arguments.worker, arguments.workers, seed, arguments.dataset), sender)
    where = f"in DataLoader worker process {arguments.worker}"
    failed: ExceptionWrapper | None = None
    fetch: Any = None
    try:
        if arguments.init_fn is not None:
            arguments.init_fn(arguments.worker)
        fetch = _fetcher(arguments)
    except Exception as error:
        failed = ExceptionWrapper(error, where)
    ended = False
    while (message := inbox.get()) is not None:
        number, index, free, dropped = message
        sender.recycle(free, dropped)
        if number is None:
            ended = False
            try:
                fetch = _fetcher(arguments)
            except Exception as error:
                failed = ExceptionWrapper(error, where)
            sender.send((None, None))
            continue
        if ended:
            continue
        data: Any
        if failed is not None:
            data, failed = failed, None
        else:
            try:
                data = fetch(index)
            except Exception as error:
                if isinstance(error, StopIteration) and arguments.kind == STREAM:
                    data, ended = EndOfStream(arguments.worker), True
                else:
                    data = ExceptionWrapper(error, where)
        try:
            sender.send((number, data))
        except (BrokenPipeError, ConnectionResetError):
            raise
        except Exception as error:  # the batch cannot be pickled
            sender.send((number, ExceptionWrapper(error, where)))
        # Held until the next message, the batch would keep its segment from being used again.
        del data, message, index


def _fetcher(arguments: WorkerArguments) -> Callable[[Any], Any]:
    return make_fetcher(
        arguments.kind,
        arguments.dataset,
        arguments.auto_collation,
        arguments.collate_fn,
        arguments.drop_last,
    )


def _listen(connection: Connection, inbox: SimpleQueue[Any]) -> None:
    """Receive messages until the last one, which is None."""
    parent, parent_pid = multiprocessing.parent_process(), os.getppid()
    try:
        while True:
            while not connection.poll(WATCH_INTERVAL):
                if os.getppid() != parent_pid or (parent is not None and not parent.is_alive()):
                    raise EOFError
            message = connection.recv()
            inbox.put(message)
            if message is None:
                return
    except (EOFError, OSError):
        inbox.put(None)
        # In this thread: the main one may be in the middle of a batch, or wait to send it.
        threading.Event().wait(GRACE)
        os._exit(1)
