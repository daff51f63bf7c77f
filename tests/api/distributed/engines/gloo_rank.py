"""One rank of a test of the gloo engine: python gloo_rank.py PROGRAM FILE RANK SIZE TIMEOUT."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import numpy as np

import tt
import tt.distributed as dist
from tt.distributed.stores import FileStore


def large(rank, size):
    """Combine tensors of many chunks, in the foreground, in the background, and in two groups at once."""
    twin = dist.new_group()
    parts = [np.random.default_rng(r).normal(size=400_003).astype(np.float32) for r in range(size)]
    total = sum(parts[1:], parts[0])
    first, second, third = (tt.from_numpy(parts[rank].copy()) for _ in range(3))
    works = [dist.all_reduce(first, async_op=True), dist.all_reduce(second, group=twin, async_op=True)]
    dist.all_reduce(third)
    for work in works:
        work.wait()
    for found in (first, second, third):
        np.testing.assert_allclose(found.numpy(), total, rtol=2e-5, atol=2e-5)
    gathered = tt.empty(size, third.numel())
    dist.all_gather_single(gathered, third)
    assert all(tt.equal(row, third) for row in gathered)  # the same bits everywhere
    end = time.monotonic() + 20
    work = dist.all_reduce(first, async_op=True)
    while not work.is_completed():  # nobody waits: it goes on by itself
        assert time.monotonic() < end
        time.sleep(0.01)


def open_files():
    """Return how many sockets and segments this process has open."""
    links = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # that of the folder itself
            links.append(os.readlink(f"/proc/self/fd/{name}"))
    return sum(link.startswith(("socket:", "/memfd:", "anon_inode:")) for link in links)


def tidy(rank, size):
    """Use groups and end them: no file, no mapping and no name is left."""
    before = open_files()
    for _ in range(3):
        group = dist.new_group()
        dist.all_reduce(tt.ones(1 << 18), group=group)
        dist.destroy_process_group(group)
    assert open_files() == before
    assert Path("/proc/self/maps").read_text().count("memfd:tt") == (0 if "no memory" in sys.argv else size)


def forked(rank, size):
    """Kill the last rank, whose child lives on with copies of its connections."""
    dist.barrier()
    if rank == size - 1:
        if os.fork() == 0:
            time.sleep(8)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    try:
        dist.barrier()
    except dist.DistTimeoutError as error:
        assert "killed" in str(error), error
        assert time.monotonic() - begin < 7
        sys.exit(3)


def fault(kind, rank):
    """Do something wrong on the last rank while the others call all_reduce or wait for a message."""
    count = (25 << 18) if "within" in kind else 4
    x = tt.ones(count)
    dist.all_reduce(x)
    if rank == dist.get_world_size() - 1:
        if kind == "exits":
            sys.exit(0)
        if kind == "raises":
            raise KeyError("mine")
        if "within" in kind:
            dist.all_reduce(x, async_op=True)
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGSTOP if "stopped" in kind else signal.SIGKILL)
    if "message" in kind:
        dist.recv(x, dist.get_world_size() - 1)
    dist.all_reduce(x)


def main():
    """Run a program, and say what went wrong."""
    program, file, rank, size, timeout = sys.argv[1:6]
    dist.init_process_group(
        "gloo", store=FileStore(file, int(size)), rank=int(rank), world_size=int(size),
        timeout=timedelta(seconds=float(timeout)),
    )  # fmt: skip
    try:
        known = {"large": large, "tidy": tidy, "forked": forked}
        if program in known:
            known[program](int(rank), int(size))
        else:
            fault(program, int(rank))
    except RuntimeError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        sys.exit(3)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
