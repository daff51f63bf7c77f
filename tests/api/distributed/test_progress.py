from __future__ import annotations

import os
import threading
import warnings
from time import monotonic, sleep

import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tt.distributed import DistError, DistTimeoutError
from tt.distributed.backend import Awaited
from tt.distributed.progress import Expired, Operation, Progress


class Counted:
    """Is done after some tests."""

    source = None

    def __init__(self, tests, log=None, name=""):
        self.left, self.log, self.name, self.cancelled = tests, log, name, False

    def test(self):
        if self.log is not None:
            self.log.append(self.name)
        self.left -= 1
        return self.left < 0

    def cancel(self):
        self.cancelled = True


class Never(Counted):
    def __init__(self):
        super().__init__(10**9)


class Slept(Awaited):
    """Is done when an event is set, on which a thread sleeps; notes whether the loop was locked meanwhile."""

    def __init__(self, loop):
        self.event, self._loop, self.locked = threading.Event(), loop, []

    def test(self):
        return self.event.is_set()

    def cancel(self):
        pass

    def linger(self, seconds):
        other = threading.Thread(target=self._look)
        other.start()
        other.join()
        self.event.wait(seconds)

    def _look(self):
        free = self._loop.lock.acquire(blocking=False)
        self.locked.append(not free)
        if free:
            self._loop.lock.release()


def waiting(*pending, returns=None):
    yield from pending
    return returns


@pytest.fixture
def loop():
    progress = Progress()
    yield progress
    progress.stop(DistError("the test has ended"))


def test_an_operation_goes_through_its_steps(loop):
    work = Operation("op", waiting(Counted(3), Counted(0), returns=5), timeout=5)
    loop.submit(work, background=False)
    assert not work.is_completed()
    assert work.wait() and work.source_rank() == 5


def test_ordered_operations_of_an_owner_start_after_each_other_and_others_at_once(loop):
    log = []
    first = Operation("1", waiting(Counted(2, log, "first")), 5, "owner", ordered=True)
    second = Operation("2", waiting(Counted(0, log, "second")), 5, "owner", ordered=True)
    alone = Operation("3", waiting(Counted(0, log, "alone")), 5, "owner")
    for each in (first, second, alone):
        loop.submit(each, background=False)
    assert alone.is_completed() and not second.is_completed()
    second.wait()
    assert log == ["first", "alone", "first", "first", "second"]


def test_the_background_thread_runs_what_nobody_waits_for_and_sleeps_otherwise(loop):
    work = Operation("op", waiting(Counted(50)), 5)
    loop.submit(work, background=True)
    thread = loop._thread
    until = monotonic() + 5
    while not work.is_completed() and monotonic() < until:
        sleep(0.005)
    assert work.is_success() and thread.daemon
    log = []
    sleep(0.05)
    loop.submit(Operation("later", waiting(Counted(0, log, "x")), 5), background=False)
    assert log == ["x"]
    loop.stop(DistError("end"))
    assert not thread.is_alive()


@pytest.mark.parametrize("background", [False, True])
def test_a_thread_sleeps_on_what_another_rank_does_without_the_lock(loop, background):
    pending = Slept(loop)
    work = Operation("op", waiting(pending), timeout=5)
    loop.submit(work, background=background)
    threading.Timer(0.1, pending.event.set).start()
    assert work.wait()
    assert pending.locked
    # The caller and the background thread take turns: either may hold the lock for a moment while the other sleeps.
    assert pending.locked.count(False) > len(pending.locked) // 2


def test_an_operation_that_expires_may_report_and_its_pending_is_cancelled(loop):
    pending = Never()

    def steps():
        try:
            yield pending
        except Expired:
            yield Counted(3)
            raise KeyError("report") from None

    work = Operation("op", steps(), timeout=0.05)
    loop.submit(work, background=False)
    with pytest.raises(KeyError, match="report"):
        work.wait()
    assert pending.cancelled


def test_an_operation_without_a_report_expires_by_itself(loop):
    work = Operation("op", waiting(Never()), timeout=0.05)
    loop.submit(work, background=True)
    with pytest.raises(DistTimeoutError, match=r"op did not end within 0\.05 s"):
        work.wait()


def test_what_watch_returns_is_raised_in_the_operation(loop):
    work = Operation("op", waiting(Never()), timeout=30, watch=lambda: KeyError("seen"))
    loop.submit(work, background=False)
    start = monotonic()
    with pytest.raises(KeyError, match="seen"):
        work.wait()
    assert monotonic() - start < 3


def test_errors_of_an_engine_are_those_of_the_operation_alone(loop):
    class Broken(Counted):
        def test(self):
            raise OSError("broken")

    bad = Operation("bad", waiting(Broken(0)), 5, "owner", ordered=True)
    good = Operation("good", waiting(Counted(2)), 5, "owner", ordered=True)
    loop.submit(bad, background=False)
    loop.submit(good, background=False)
    assert good.wait()
    with pytest.raises(OSError, match="broken"):
        bad.wait()


def test_dropping_an_owner_ends_its_operations_only(loop):
    pending = Never()
    works = [Operation("op", waiting(pending), 30, "one", ordered) for ordered in (True, True, False)]
    other = Operation("op", waiting(Counted(2)), 30, "two")
    for each in (*works, other):
        loop.submit(each, background=False)
    loop.drop("one", DistError("dropped"))
    for each in works:
        with pytest.raises(DistError, match="dropped"):
            each.wait()
    assert pending.cancelled and other.wait()


def test_ctrl_c_while_waiting_ends_the_operation(loop):
    class Interrupted(Counted):
        def test(self):
            raise KeyboardInterrupt

    work = Operation("op", waiting(Interrupted(0)), 5)
    with pytest.raises(KeyboardInterrupt):
        loop.submit(work, background=False)
    assert work.is_completed()


def test_a_wait_with_a_timeout_is_no_longer_than_that_and_the_operation_goes_on(loop):
    pending = Counted(10**9)
    work = Operation("op", waiting(pending), timeout=30)
    loop.submit(work, background=True)
    start = monotonic()
    with pytest.raises(DistTimeoutError, match=r"within 0\.5 s"):
        work.wait(0.5)
    assert 0.5 <= monotonic() - start < 10  # long before the operation's own 30 s
    pending.left = 0
    assert work.wait(5)


def test_a_callback_may_wait_for_a_later_operation(loop):
    works = [Operation(str(i), waiting(Counted(5)), 10, "owner", ordered=True) for i in range(4)]
    works[0].when_done(lambda _: works[2].wait())
    for work in works:
        loop.submit(work, background=False)
    assert works[3].wait() and all(work.is_success() for work in works) and not loop._lanes


def test_a_callback_that_raises_is_logged_and_ends_nothing(loop, caplog):
    works = [Operation(str(i), waiting(Counted(5)), 10, "owner", ordered=True) for i in range(2)]
    works[0].when_done(lambda _: 1 / 0)
    for work in works:
        loop.submit(work, background=True)
    assert works[1].wait() and "a callback of 0 failed" in caplog.text


def test_several_threads_may_wait(loop):
    works = [Operation("op", waiting(Counted(20)), 10, "owner", ordered=True) for _ in range(8)]
    for work in works:
        loop.submit(work, background=False)
    threads = [threading.Thread(target=work.wait) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert all(work.is_success() for work in works)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_starts_with_an_empty_loop(loop):
    loop.submit(Operation("op", waiting(Never()), 30), background=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns of threads, which are the point here
        pid = os.fork()
    if pid == 0:
        work = Operation("op", waiting(Counted(2)), 5)
        loop.submit(work, background=True)
        os._exit(0 if len(loop._lanes) <= 1 and work.wait() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_an_operation_that_began_in_inference_mode_ends_outside_of_it():
    def gather():
        with tt.inference_mode():
            rows = tt.zeros(2, 3)
            work = dist.all_gather_single(rows, tt.full((3,), dist.get_rank() + 1.0), async_op=True)
        work.wait()
        return rows.is_inference(), rows.tolist()

    assert run(gather, 2) == [(True, [[1.0] * 3, [2.0] * 3])] * 2
