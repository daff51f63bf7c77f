"""Who runs a case: this process or another one, with the same values, failures and counts."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from benchmarks.cases import Case, read_suite
from benchmarks.measure import measure_case
from benchmarks.turns import Here, Runner, StatementError, Worker, Workers

ADD = Case("add", "a + 1", numpy="a + 1", inputs={"a": "float32[3]"})


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Workers(["numpy"]) as workers:
        yield workers["numpy"]


@pytest.fixture(params=["here", "there"])
def runner(request: pytest.FixtureRequest, worker: Worker) -> Runner:
    return Here("numpy") if request.param == "here" else worker


def test_a_value_is_the_same_wherever_it_is_computed(worker: Worker) -> None:
    (here,), (there,) = Here("numpy").once(ADD, False), worker.once(ADD, False)
    np.testing.assert_array_equal(here, there)


def test_a_statement_that_raises_is_named_by_its_first_line(runner: Runner) -> None:
    with pytest.raises(StatementError, match=r"^ValueError: first$"):
        runner.once(Case("broken", "", numpy="fail()", numpy_setup=FAIL), False)
    with pytest.raises(StatementError, match=r"^ValueError: first$"):
        runner.prepare(Case("broken", "", numpy="fail()", numpy_setup=FAIL), False, True, 1e-5)


FAIL = "def fail():\n    raise ValueError('first' + chr(10) + 'second')"


def test_a_turn_takes_the_time_of_its_repetitions(runner: Runner) -> None:
    slow = Case("slow", "", numpy="sleep(0.002)", numpy_setup="from time import sleep")
    assert runner.prepare(slow, False, False, 0.004) in (1, 2)
    runner.collect()
    assert runner.turn(False, 3) >= 0.006


@pytest.mark.skipif(
    not hasattr(time, "CLOCK_PROCESS_CPUTIME_ID"), reason="threads' time is not in process_time"
)
def test_a_process_rests_when_its_threads_have_stopped_looking_for_work() -> None:
    def look() -> None:
        while time.perf_counter() < end:
            pass

    end = time.perf_counter() + 0.03
    thread = threading.Thread(target=look)
    thread.start()
    Here("numpy").rest()
    assert not thread.is_alive()


def test_a_worker_is_another_process_that_ends_with_the_block() -> None:
    with Workers(["numpy"]) as workers:
        pid = Case("pid", "", numpy="float(getpid())", numpy_setup="from os import getpid")
        (found,) = workers["numpy"].once(pid, False)
        assert int(found) != os.getpid()
        assert workers["numpy"].usable() == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(found), 0)


def test_a_statement_may_start_processes_itself() -> None:
    with Workers(["numpy"]) as workers:
        setup = "import multiprocessing\ncontext = multiprocessing.get_context('fork')\n" + START
        (found,) = workers["numpy"].once(Case("children", "", numpy="start()", numpy_setup=setup), False)
        assert found == 0


START = """
def start():
    process = context.Process(target=int)
    process.start()
    process.join()
    return float(process.exitcode)
"""


def test_the_end_of_a_process_is_a_failure_of_its_library() -> None:
    with Workers(["numpy"]) as workers:
        leave = Case("leave", "", numpy="_exit(7)", numpy_setup="from os import _exit")
        with pytest.raises(StatementError, match="the process of numpy ended with exit status 7"):
            workers["numpy"].once(leave, False)


@pytest.mark.exhaustive
def test_every_library_takes_its_turns_in_its_own_process() -> None:
    (case,) = (case for case in read_suite("custom_ops").cases if case.name == "own add(a, b)")
    with Workers(["tt", "numpy"]) as workers:
        found = measure_case(case, ["tt", "numpy"], rounds=1, seconds=1e-5, busy=True, runners=workers)
    assert list(found.samples) == ["tt", "numpy", "tt, built in"]
    assert found.failures == {}
