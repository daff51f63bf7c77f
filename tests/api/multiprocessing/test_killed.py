"""Processes that are killed at random moments: nothing is lost, and nothing is left over.

Each family has a parent and two workers, which exchange tensors; one of them is killed.  Memory with a name is removed
by a tracker of the family.  Files of shared memory and descriptors are counted before and after.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from contextlib import suppress
from multiprocessing import resource_tracker
from pathlib import Path

import pytest

import tt
import tt.multiprocessing as mp
from tests.api.multiprocessing.test_spawn import gone, zombie
from tt.utils.data import DataLoader

FORK = mp.get_context("fork")
SIZE = 3000
KILLS = 200
BASE = 10
pytestmark = pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="shared memory has no files here")


def numbers():
    """Return which kills run in the base tier: the first of each scenario."""
    return [n if n < BASE else pytest.param(n, marks=pytest.mark.exhaustive) for n in range(KILLS)]


def files_of(pids):
    """Return the files of shared memory that some processes have made."""
    return [path.name for pid in pids for path in Path("/dev/shm").glob(f"tt_{pid}_*")]


def open_files():
    """Return how many files are open, without the one that native kernels read from their first job on."""
    count = 0
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the folder itself
            count += os.readlink(f"/proc/self/fd/{number}") != "/proc/loadavg"
    return count


def wait_until(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


# --- families ---------------------------------------------------------------------------------------------------------


def answer(rank, inbox, outbox):
    kept = []
    while True:
        x = inbox.get()
        x.add_(1)
        outbox.put((x, tt.full((SIZE,), rank)))
        kept = [*kept[-3:], x]


def exchange(inbox, outbox):
    while True:
        x = tt.zeros(SIZE)
        inbox.put(x)
        other, new = outbox.get()
        assert (new == new[0]).all() and (other == 1).all()


def family(strategy, connection):
    """Lead two workers until one of them is killed."""
    tracker = resource_tracker._resource_tracker  # the family has one of its own
    tracker._fd = tracker._pid = None
    mp.set_sharing_strategy(strategy)
    inbox, outbox = FORK.SimpleQueue(), FORK.SimpleQueue()
    context = mp.start_processes(answer, (inbox, outbox), nprocs=2, join=False, start_method="fork")
    threading.Thread(target=exchange, args=(inbox, outbox), daemon=True).start()
    helper = [] if tracker._pid is None else [tracker._pid]
    connection.send((context.pids(), helper))
    try:
        while not context.join():
            pass
    except mp.ProcessExitedException as error:
        connection.send((error.signal_name, error.error_pid))
        raise SystemExit(0) from None


def kill_one_of_a_family(chance, strategy):
    reader, writer = mp.Pipe(duplex=False)
    parent = FORK.Process(target=family, args=(strategy, writer))
    parent.start()
    assert reader.poll(60)
    workers, helpers = reader.recv()
    victim = chance.choice([parent.pid, *workers])
    time.sleep(chance.uniform(0, 0.05))
    os.kill(victim, signal.SIGKILL)
    parent.join(60)
    assert parent.exitcode == (-signal.SIGKILL if victim == parent.pid else 0)
    if victim != parent.pid:
        assert reader.recv() == ("SIGKILL", victim)
    for pid in (*workers, *helpers):
        wait_until(lambda pid=pid: gone(pid) or zombie(pid), f"the process {pid} lives on")
    reader.close()
    writer.close()
    return [parent.pid, *workers]


# --- files ------------------------------------------------------------------------------------------------------------


def save_forever(path, connection):
    number = 1
    while True:
        tt.save({"x": tt.full((SIZE,), number), "number": number}, path)
        connection.send_bytes(str(number).encode())
        number += 1


def kill_a_save(chance, folder):
    path = folder / "state.pt"
    tt.save({"x": tt.zeros(SIZE), "number": 0}, path)
    reader, writer = mp.Pipe(duplex=False)
    process = FORK.Process(target=save_forever, args=(path, writer))
    process.start()
    writer.close()
    time.sleep(chance.uniform(0.01, 0.08))
    process.kill()
    process.join()
    saved = 0
    while reader.poll():
        try:
            saved = int(reader.recv_bytes())
        except EOFError:
            break
    reader.close()
    found = tt.load(path)
    assert (found["x"] == found["number"]).all()
    assert found["number"] - saved in (0, 1), "a save that had returned is not lost"
    others = [p for p in folder.iterdir() if p != path]
    for other in others:  # killed between giving the new file a name and putting it in place of the old one
        assert (tt.load(other)["x"] == found["number"] + 1).all()
        other.unlink()
    return [process.pid]


# --- loaders ----------------------------------------------------------------------------------------------------------


class Slow:
    def __len__(self):
        return 400

    def __getitem__(self, index):
        time.sleep(0.0005)
        return tt.full((SIZE,), index)


def kill_a_worker_of_a_loader(chance):
    loader = DataLoader(Slow(), batch_size=4, num_workers=2, multiprocessing_context="fork")
    batches = iter(loader)
    first = next(batches)
    assert (first[:, 0] == tt.arange(4)).all()
    victim = chance.choice(batches._pool.processes)
    with pytest.raises(RuntimeError, match="SIGKILL"):
        for count, batch in enumerate(batches, 1):
            assert (batch[:, 0] == tt.arange(4) + 4 * count).all()
            if count == 1:
                threading.Timer(chance.uniform(0, 0.03), victim.kill).start()
    return [victim.pid]


@pytest.mark.parametrize("number", numbers())
def test_a_process_that_is_killed_loses_and_leaves_nothing(number, tmp_path):
    chance = random.Random(number)
    before = open_files()
    if number % 5 == 3:
        pids = kill_a_save(chance, tmp_path)
    elif number % 5 == 4:
        pids = kill_a_worker_of_a_loader(chance)
    else:
        strategies = sorted(mp.get_all_sharing_strategies())
        pids = kill_one_of_a_family(chance, strategies[number % len(strategies)])
    pids.append(os.getpid())
    wait_until(lambda: not files_of(pids), f"left over: {files_of(pids)}")
    wait_until(lambda: open_files() <= before, f"{open_files()} open files, {before} before")
