"""Functions that the tests run in other processes, and counts of leftover files and processes."""

from __future__ import annotations

import gc
import os
import signal
import time
from contextlib import contextmanager
from pathlib import Path

import tt


@contextmanager
def nothing_left():
    """Fail if files of shared memory, descriptors or child processes are left over."""
    gc.collect()
    before = left()
    yield
    deadline = time.monotonic() + 10
    while True:
        gc.collect()
        after = left()
        if after[0] <= before[0] and after[1] <= before[1]:
            return
        assert time.monotonic() < deadline, (
            f"left over: {sorted(after[0] - before[0])}, descriptors {before[1]} -> {after[1]}"
        )
        time.sleep(0.05)


def left():
    names = {path.name for path in Path("/dev/shm").glob(f"tt_{os.getpid()}_*")}
    return names, len(os.listdir("/proc/self/fd"))


def sleep_until_killed():
    time.sleep(60)


# --- functions of processes -------------------------------------------------------------------------------------------


def change(inbox, outbox):
    """Change what comes, and send some of each kind back."""
    x, row = inbox.get()
    x.add_(1)
    row.fill_(7)
    outbox.put((x, row))


def send_all(outbox, items):
    for item in items:
        outbox.put(item)


def send_and_die(connection, count):
    for number in range(count):
        connection.send(tt.full((5000,), number))
    os.kill(os.getpid(), signal.SIGKILL)


def receive_and_die(inbox, ready):
    kept = inbox.get()
    ready.send(float(kept.sum()))
    os.kill(os.getpid(), signal.SIGKILL)


def write_rank(rank, x):
    x[rank] = rank + 1


def fail_one(rank, which, message):
    if rank == which:
        raise ValueError(message)
    time.sleep(60)


def exit_one(rank, which, code):
    if rank == which:
        os._exit(code)
    time.sleep(60)


def kill_one(rank, which, number):
    if rank == which:
        os.kill(os.getpid(), number)
    time.sleep(60)


def ignore_end(rank, which):
    if rank == which:
        time.sleep(0.3)  # until the others ignore the signal
        raise ValueError("first")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(60)


def square(x):
    return x * x


def gradient_of(x):
    """Return the gradient of a sum of squares: native kernels, threads and autograd in a child."""
    leaf = x.clone().requires_grad_()
    (leaf * leaf).sum().backward()
    return leaf.grad


def in_child(outbox, function, *args):
    outbox.send(function(*args))
