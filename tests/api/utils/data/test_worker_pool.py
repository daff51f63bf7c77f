"""Pools of workers: how they start, end and die, and that nothing is left over."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from multiprocessing import connection as connections
from multiprocessing import resource_tracker

import numpy as np
import pytest

import tt
from tests.api.utils.data.workers import (
    MARKS,
    children,
    image,
    left_over,
    loader,
)
from tests.api.utils.data.workers import nothing_is_left_over as nothing_is_left_over
from tt.utils.data import DataLoader

pytestmark = MARKS


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_ways_to_start(method):
    if method == "forkserver":
        script = """
            import numpy as np, tt
            if __name__ == "__main__":
                data = np.arange(4000.0).reshape(2, 2000)
                loader = tt.utils.data.DataLoader(data, num_workers=1, multiprocessing_context="forkserver")
                print(sum(x.sum().item() for x in loader))
        """
        done = run(script)
        assert (done.stdout.strip(), done.stderr) == ("7998000.0", "")
        return
    was_running = resource_tracker._resource_tracker._fd is not None
    resource_tracker.ensure_running()  # spawn starts it, and it stays
    before = left_over()
    data = np.arange(4000.0).reshape(2, 2000)
    found = [x.sum().item() for x in DataLoader(data, num_workers=1, multiprocessing_context=method)]
    assert found == [data[0].sum(), data[1].sum()]
    assert left_over() == before
    if not was_running:
        resource_tracker._resource_tracker._stop()


@pytest.mark.parametrize("words", [["-"], ["-c"]])
def test_without_a_main_file_the_error_of_spawned_workers_says_so(words):
    script = """
import tt
class Data:
    __len__ = lambda self: 3
    __getitem__ = lambda self, index: index
try:
    list(tt.utils.data.DataLoader(Data(), num_workers=1, multiprocessing_context="spawn"))
except tt.errors.WorkerExitError as error:
    print(error)
"""
    arguments = [sys.executable, *words, *([script] if words == ["-c"] else [])]
    done = subprocess.run(arguments, input=script, capture_output=True, text=True, check=False, timeout=120)
    assert "the main program has no file" in done.stdout, done.stderr


@pytest.mark.parametrize("data", [range(4), [{"x": tt.ones(2), "y": (1.5, tt.ones(5000))}] * 4])
def test_batches_of_workers_are_shared(data):
    batch = next(iter(DataLoader(data, batch_size=2, num_workers=1)))
    tensors = tt.utils._pytree.tree_leaves(batch)
    assert [x.is_shared() for x in tensors] == [True] * len(tensors)


def test_what_spawn_cannot_pickle_is_an_exception_with_a_hint():
    was_running = resource_tracker._resource_tracker._fd is not None
    resource_tracker.ensure_running()
    before = left_over()
    with pytest.warns(UserWarning, match="not picklable"), pytest.raises(Exception, match="pickle"):
        iter(loader(lambda i: i, multiprocessing_context="spawn"))
    assert left_over() == before
    if not was_running:
        resource_tracker._resource_tracker._stop()


@pytest.mark.parametrize(
    ("end", "message"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "signal: SIGKILL\n.*out of memory"),
        (
            lambda: [signal.signal(signal.SIGBUS, signal.SIG_DFL), os.kill(os.getpid(), signal.SIGBUS)],
            "signal: SIGBUS\n.*shared memory",
        ),
        (lambda: os._exit(3), "exited with code 3\n.*num_workers=0"),
    ],
)
def test_the_death_of_a_worker_is_noticed(end, message):
    def make(index):
        if index == 5:
            end()
        return image(index)

    began, found = time.monotonic(), []
    with pytest.raises(
        tt.errors.WorkerExitError, match=rf"worker 1 \(pid\(s\) \d+\) exited unexpectedly: .*{message}"
    ):
        for _, y in loader(make):
            found.append(y.item())
    assert time.monotonic() - began < 10
    assert found == list(range(len(found)))


@pytest.mark.parametrize("long_ago", [False, True])
def test_the_death_of_an_idle_persistent_worker_is_noticed(long_ago):
    batches = loader(image, persistent_workers=True)
    assert len(list(batches)) == 8
    victim = children()[0]
    os.kill(victim, signal.SIGKILL)
    while long_ago and is_alive(victim):  # then a task cannot even be sent
        time.sleep(0.01)
    with pytest.raises(tt.errors.WorkerExitError):
        list(batches)
    assert len(list(batches)) == 8  # with new workers


def test_a_pass_is_over_after_the_death_of_a_worker():
    batches = iter(loader(lambda i: os._exit(1)))
    with pytest.raises(tt.errors.WorkerExitError):
        next(batches)
    assert list(batches) == []


def test_a_loader_that_is_dropped_ends_its_workers_at_once():
    gc.disable()
    try:
        batches = loader(image, persistent_workers=True)
        assert len(list(batches)) == 8
        assert len(children()) == 2
        del batches
        assert not children()
    finally:
        gc.enable()


def test_what_this_process_cannot_unpickle_is_an_exception():
    def make(index):
        class OfTheWorker:
            def __reduce__(self):
                return importlib.import_module, ("a_module_that_is_missing",)

        return OfTheWorker()

    batches = iter(loader(make, batch_size=None))
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_missing"):
        next(batches)
    assert list(batches) == []


def test_a_batch_that_takes_too_long():
    def make(index):
        time.sleep(0.2 if index else 0)
        return index

    batches = iter(loader(make, length=2, num_workers=1, timeout=60))
    assert next(batches).item() == 0
    batches._timeout = 0.1  # not before: how long a worker takes to start is unknown
    with pytest.raises(tt.errors.WorkerTimeoutError, match=r"DataLoader timed out after 0\.1 seconds"):
        next(batches)
    batches._timeout = 60
    assert next(batches).item() == 1


def test_a_pass_that_is_given_up_ends_its_workers():
    for _ in loader(image, length=100):
        break


# --- other processes -------------------------------------------------------------------------------------------------


def run(script, **options):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


PROGRAM = """
    import os, signal, sys, time
    import numpy as np, tt

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's processes in the background ignore it

    class Slow(tt.utils.data.Dataset):
        def __getitem__(self, index):
            time.sleep(0.01)
            return np.zeros(5000)

        def __len__(self):
            return 100_000

    loader = tt.utils.data.DataLoader(Slow(), num_workers=2, multiprocessing_context="fork")
    batches = iter(loader)
    next(batches)
    print(*(process.pid for process in batches._pool.processes), flush=True)
    for _ in batches:
        pass
"""


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_the_workers_end_with_their_process(number):
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as the terminal does
    else:
        os.kill(process.pid, number)
    _, errors = process.communicate(timeout=30)
    deadline = time.monotonic() + 10
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_alive, pids))
    if number == signal.SIGINT:
        assert errors.count("Traceback") == 1
        assert errors.rstrip().endswith("KeyboardInterrupt")


def test_a_program_that_ends_with_workers_says_nothing():
    done = run(
        """
        import tt
        loader = tt.utils.data.DataLoader(range(100), num_workers=2, persistent_workers=True)
        batches = iter(loader)
        print(next(batches))
        """
    )
    assert (done.stdout, done.stderr, done.returncode) == ("tensor([0])\n", "", 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(40))
def test_a_worker_that_is_killed_at_any_moment_leaves_nothing(seed):
    moments = random.Random(seed)
    batches = iter(loader(image, length=400, batch_size=4, persistent_workers=moments.random() < 0.3))
    victim = moments.choice(children())

    def kill():
        with contextlib.suppress(ProcessLookupError):  # it may have ended, with the last batch
            os.kill(victim, signal.SIGKILL)

    timer = threading.Timer(moments.random() * 0.3, kill)
    timer.start()
    found = []
    try:
        for x, y in batches:
            assert (x == y.reshape(-1, 1, 1)).all()
            found += y.tolist()
    except tt.errors.WorkerExitError as error:
        assert error.pid == victim
        assert error.exitcode == -signal.SIGKILL
    else:
        timer.cancel()
    timer.join()
    assert found == list(range(len(found)))


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(20))
def test_a_program_that_is_killed_at_any_moment_leaves_no_worker(seed):
    mark = f"workers-of-{os.getpid()}-{seed}"
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), mark],
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    time.sleep(0.2 + random.Random(seed).random())
    process.kill()
    process.wait()
    deadline = time.monotonic() + 15
    while (left := with_argument(mark)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


def with_argument(mark):
    """Return the processes with an argument."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/cmdline", encoding="utf-8") as line:
                    if mark in line.read().split("\0"):
                        found.append(int(name))
            except OSError:
                pass
    return found


# --- descriptors ------------------------------------------------------------------------------------------------


class Raising(tt.utils.data.Dataset):
    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index == 2:
            raise self.error
        return tt.full((100,), index)


def test_a_pass_whose_connections_were_collected_first_closes_no_other_file():
    passing = iter(DataLoader(Raising(ValueError("bad")), num_workers=1, multiprocessing_context="fork"))
    connection = passing._pool._receivers[0].connection
    descriptor = connection.fileno()
    with open(os.devnull) as file:
        connection.__del__()  # as the garbage collector may do before it comes to the pass
        os.dup2(file.fileno(), descriptor)  # another file gets the number
    try:
        passing.close()
        os.fstat(descriptor)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("error", [ValueError("bad"), SystemExit(3)], ids=repr)
def test_workers_that_raise_close_every_descriptor_once(error, persistent, tmp_path, monkeypatch):
    log = tmp_path / "closed twice"
    close = os.close

    def checked(descriptor):
        try:
            os.fstat(descriptor)
        except OSError:
            with log.open("a") as file:
                print(os.getpid(), descriptor, file=file)
        close(descriptor)

    monkeypatch.setattr(os, "close", checked)
    monkeypatch.setattr(connections.Connection._close, "__defaults__", (checked,))
    caught = []
    for _ in range(2):
        loader = DataLoader(
            Raising(error), num_workers=2, persistent_workers=persistent, multiprocessing_context="fork"
        )
        # The frame of the traceback holds the pass, and the exception, which makes a cycle.
        passing = iter(loader)
        with pytest.raises((type(error), RuntimeError)) as raised:
            list(passing)
        caught.append((raised, passing))
        del loader, passing
    del caught, raised
    gc.collect()
    assert not log.exists(), log.read_text()
