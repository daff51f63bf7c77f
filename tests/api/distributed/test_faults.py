"""What ranks that are processes do when one of them fails: the others end in time, and their errors name it."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import MPI, TCP, outcomes_of

TIMEOUT = timedelta(seconds=3)
LATE = 12.0
"""Seconds that ranks may take longer than their timeout, while other work keeps the processors busy."""
ENGINES = ("gloo", TCP, MPI)


def raises():
    raise KeyError("mine")


def another_shape():
    dist.all_reduce(tt.ones(5))


def another_dtype():
    dist.all_reduce(tt.ones(4, dtype=tt.float64))


def another_collective():
    dist.broadcast(tt.ones(4), src=0)


def killed_within():
    dist.all_reduce(tt.ones(25 << 18), async_op=True)
    time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


FAULTS = {
    "raises": (raises, "rank 2 raised KeyError: 'mine'"),
    "exits": (lambda: sys.exit(0), "cannot end: .*rank 2 raised SystemExit"),
    "returns": (lambda: None, "cannot end: .*rank 2 ended: its function returned"),
    "killed": (lambda: os.kill(os.getpid(), signal.SIGKILL), "rank 2 ended without a word: it was killed"),
    "killed within": (killed_within, "rank 2"),
    "stopped": (lambda: os.kill(os.getpid(), signal.SIGSTOP), "rank 2 is silent"),
    "sleeps": (lambda: time.sleep(TIMEOUT.total_seconds() + 3), "rank 2 is silent"),
    "another shape": (another_shape, r"rank 2 is at all_reduce of float32\[5\]"),
    "another dtype": (another_dtype, r"rank 2 is at all_reduce of float64\[4\]"),
    "another collective": (another_collective, r"rank 2 is at broadcast of float32\[4\]"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", FAULTS)
def test_a_rank_that_fails_ends_the_others_and_is_named(kind, engine):
    fail, text = FAULTS[kind]

    def program():
        x = tt.ones(4)
        dist.all_reduce(x)
        if dist.get_rank() == 2:
            return fail()
        start = time.monotonic()
        count = 25 << 18 if kind == "killed within" else 4
        with pytest.raises(dist.DistError) as caught:
            dist.all_reduce(tt.ones(count))
        return str(caught.value), time.monotonic() - start

    silent = 1 if kind == "stopped" else 0
    for _, result in outcomes_of(program, 3, engine, TIMEOUT, silent)[:2]:
        assert isinstance(result, tuple), result
        message, took = result
        assert re.search(text, message), message
        assert "all_reduce of float32[" in message
        assert took < TIMEOUT.total_seconds() + LATE


@pytest.mark.parametrize("engine", ENGINES)
def test_a_killed_rank_is_known_to_be_dead_long_before_the_timeout(engine):
    def program():
        dist.barrier()
        if dist.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        start = time.monotonic()
        with pytest.raises(
            dist.DistTimeoutError, match="cannot end: rank 1 ended without a word: it was killed"
        ):
            dist.all_reduce(tt.ones(2))
        return time.monotonic() - start

    (_, took), _ = outcomes_of(program, 2, engine, timedelta(seconds=60))
    assert isinstance(took, float), took
    assert took < 30


# --- killed at random -----------------------------------------------------------------------------------------------

SIZES = (1, 100, 5000, 300_000)


def loop(size, seed):
    """Call collectives of all kinds until something fails; return the error."""
    chance = random.Random(seed)  # the same on all ranks
    own = dist.get_rank()
    while True:
        kind, count, root = chance.randrange(6), chance.choice(SIZES), chance.randrange(size)
        x = tt.full((count,), own + 1.0)
        start = time.monotonic()
        try:
            if kind == 0:
                dist.all_reduce(x)
                assert x[0].item() == size * (size + 1) / 2
            elif kind == 1:
                dist.broadcast(x, src=root)
                assert x[-1].item() == root + 1
            elif kind == 2:
                rows = tt.zeros(size, count)
                dist.all_gather_single(rows, x)
                assert rows[:, -1].tolist() == [rank + 1.0 for rank in range(size)]
            elif kind == 3:
                dist.reduce_scatter_single(x, tt.ones(size * count))
                assert x[0].item() == size
            elif kind == 4:
                works = [dist.isend(x, (own + 1) % size), dist.irecv(y := tt.zeros(count), (own - 1) % size)]
                for work in works:
                    work.wait()
                assert y[-1].item() == (own - 1) % size + 1
            else:
                works = [dist.all_reduce(tt.ones(count), async_op=True) for _ in range(4)]
                for work in works:
                    work.wait()
        except dist.DistError as error:
            return str(error), time.monotonic() - start


OTHERS = ("sem.", "pym-", "mpich")
"""What semaphores, Python's and MPI's shared memory of tests beside this one are called."""


def named_memory():
    with contextlib.suppress(FileNotFoundError):
        return {name for name in os.listdir("/dev/shm") if not name.startswith(OTHERS)}
    return set()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for notes; at the end of the test no temporary file is left."""
    temporary, notes = tmp_path / "temporary", tmp_path / "notes"
    temporary.mkdir()
    notes.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    before = named_memory()
    yield notes
    assert [*temporary.iterdir()] == []
    assert named_memory() <= before


def killed_at_random(seed, folder):
    """Kill some ranks of a job at a moment that a seed chooses, and look at what is left."""
    chance = random.Random(seed)
    size = chance.choice([2, 2, 3, 4])
    victims = chance.sample(range(size), chance.choice([1, 1, 1, size - 1, size]))
    moment = chance.uniform(0.0, 0.5)
    engine = chance.choice(["gloo", "gloo", "gloo over TCP"])

    def program():
        return loop(size, seed)

    def kill():
        # Each rank notes its process when it begins; those that have not come yet are waited for.
        time.sleep(moment)
        for rank in victims:
            while not (pids := list(folder.glob(f"{rank}.*"))):
                time.sleep(0.001)
            os.kill(int(pids[0].suffix[1:]), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    outcomes = outcomes_of(program, size, engine, TIMEOUT, noted=folder)
    killer.join()
    case = f"seed {seed}: {engine}, ranks {victims} of {size} after {moment:.3f} s"
    for rank, (_, result) in enumerate(outcomes):
        if rank in victims:
            assert isinstance(result, ChildProcessError) and result.args == (-signal.SIGKILL,), (case, result)
            continue
        if isinstance(result, BaseException):  # in init_process_group
            assert isinstance(result, dist.DistError), (case, result, result.__notes__)
        message, took = (str(result), 0.0) if isinstance(result, dist.DistError) else result
        named = re.findall(r"\d+", " ".join(re.findall(r"ranks? ([\d, and]+)", message)))
        assert {str(victim) for victim in victims} & set(named), (case, message)
        assert took < TIMEOUT.total_seconds() + LATE, (case, took)
    for note in folder.iterdir():
        assert not Path("/proc", note.suffix[1:]).exists(), case
        note.unlink()


@pytest.mark.parametrize("seed", range(6))
def test_ranks_killed_at_a_random_moment_leave_nothing_and_the_others_name_one(seed, folder):
    killed_at_random(seed, folder)


@pytest.mark.exhaustive
@pytest.mark.parametrize("hundred", [1, 2])
def test_two_hundred_kills_leave_nothing(hundred, folder):
    for seed in range(100 * hundred, 100 * hundred + 100):
        killed_at_random(seed, folder)
