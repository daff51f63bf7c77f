"""Processes that call one function: results, the first failure, the end of the others."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
import time
import types

import pytest

import tt
import tt.multiprocessing as mp
from tests.api.multiprocessing import processes
from tests.api.multiprocessing.processes import nothing_left
from tt.multiprocessing.spawn import missing_main


def start(function, *args, nprocs=3, **options):
    return mp.start_processes(function, args, nprocs=nprocs, start_method="fork", **options)


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_program_without_a_file_is_named_where_processes_import_it(monkeypatch):
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert "the main program has no file" in missing_main()
    main.__file__ = "<stdin>"
    assert "the main program has no file" in missing_main()
    main.__file__ = __file__
    assert missing_main() == ""


def test_each_process_gets_its_number_and_shares_the_arguments():
    x = tt.zeros(3).share_memory_()
    with nothing_left():
        assert start(processes.write_rank, x) is None
    assert x.tolist() == [1, 2, 3]


def test_spawn_starts_a_new_python_and_shares_what_was_not_shared():
    x = tt.zeros(2)
    mp.spawn(processes.write_rank, (x,), nprocs=1)
    assert x.tolist() == [1, 0]


def test_an_exception_is_raised_with_its_traceback_and_the_others_end():
    context = start(processes.fail_one, 1, "this went wrong", join=False)
    with pytest.raises(
        mp.ProcessRaisedException, match=r"Process 1 terminated(.|\n)*fail_one(.|\n)*this went wrong"
    ) as caught:
        while not context.join():
            pass
    assert (caught.value.error_index, caught.value.error_pid) == (1, context.pids()[1])
    assert all(gone(pid) for pid in context.pids())
    assert isinstance(caught.value, mp.ProcessException)


def test_a_traceback_that_is_longer_than_a_pipe_is_cut():
    with pytest.raises(mp.ProcessRaisedException, match=r"\[\.\.\. \d+ characters \.\.\.\]"):
        start(processes.fail_one, 0, "x" * 500_000)


@pytest.mark.parametrize(
    ("function", "number", "code", "name", "text"),
    [
        (processes.exit_one, 3, 3, None, "process 2 terminated with exit code 3"),
        (processes.kill_one, signal.SIGKILL, -9, "SIGKILL", "process 2 terminated with signal SIGKILL"),
        (processes.kill_one, signal.SIGTERM, -15, "SIGTERM", "process 2 terminated with signal SIGTERM"),
    ],
)
def test_an_exit_code_and_a_signal_are_named(function, number, code, name, text):
    with pytest.raises(mp.ProcessExitedException, match=f"^{text}$") as caught:
        start(function, 2, number)
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.exit_code, error.signal_name, error.error_index) == (code, name, 2)
    assert str(error) == text


def test_failures_leave_nothing():
    with nothing_left():
        for function, argument in ((processes.kill_one, 9), (processes.fail_one, "bad")):
            with contextlib.suppress(mp.ProcessException):
                start(function, 1, argument)


def test_processes_that_do_not_end_are_killed_after_the_grace_period():
    context = start(processes.ignore_end, 0, nprocs=2, join=False)
    begin = time.monotonic()
    with pytest.raises(mp.ProcessRaisedException, match="first"):
        while not context.join(grace_period=0.2):
            pass
    assert time.monotonic() - begin < 20
    assert context.processes[1].exitcode == -signal.SIGKILL


def test_join_returns_after_its_timeout():
    context = start(processes.fail_one, 5, "", join=False, daemon=True)
    assert context.join(timeout=0.05) is False
    assert all(process.daemon for process in context.processes)
    for process in context.processes:
        process.kill()
    with pytest.raises(mp.ProcessExitedException, match="SIGKILL"):
        while not context.join():
            pass
    assert context.join() is True


def test_wrong_arguments():
    with pytest.raises(ValueError, match="cannot find context for 'thread'"):
        mp.start_processes(print, start_method="thread")
    with pytest.raises(TypeError, match="must be callable, not int"):
        mp.spawn(3)
    with pytest.raises(ValueError, match="nprocs must not be negative"):
        mp.spawn(print, nprocs=-1)
    with pytest.raises(ValueError, match="start_processes"):
        mp.spawn(print, start_method="fork")
    assert mp.start_processes(print, nprocs=0, start_method="fork") is None


def forever(rank):
    time.sleep(60)


def parent_of(connection):
    context = mp.start_processes(forever, nprocs=2, join=False, start_method="fork")
    connection.send(context.pids())
    time.sleep(60)


def test_processes_end_with_a_parent_that_is_killed():
    reader, writer = mp.Pipe(duplex=False)
    parent = mp.get_context("fork").Process(target=parent_of, args=(writer,))
    parent.start()
    pids = reader.recv()
    parent.kill()
    parent.join()
    deadline = time.monotonic() + 20
    while not all(gone(pid) or zombie(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def zombie(pid):
    """Whether a process has ended and waits for the system's first process to notice."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def started_in_a_thread(found, x):
    found.append(mp.start_processes(late, (x,), nprocs=1, join=False, start_method="fork"))


def late(rank, x):
    time.sleep(0.3)
    x.fill_(1)


def test_processes_outlive_the_thread_that_started_them():
    found, x = [], tt.zeros(1).share_memory_()
    thread = threading.Thread(target=started_in_a_thread, args=(found, x))
    thread.start()
    thread.join()
    while not found[0].join():
        pass
    assert x.tolist() == [1]
