from __future__ import annotations

import json
import multiprocessing
import re
import threading
from datetime import timedelta
from pathlib import Path
from time import monotonic, sleep

import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import PROCESSES, outcomes_of, run

SHORT = timedelta(seconds=1)
SIZE = 3


def outcomes(program, engine, size=SIZE, timeout=SHORT):
    """Run a program on ranks; return the error of each, or its result."""

    def observed():
        return program(dist.get_rank())

    start = monotonic()
    found = (outcomes_of if engine in PROCESSES else of_threads)(observed, size, engine, timeout)
    for _, result in found:
        if isinstance(result, AssertionError | pytest.fail.Exception):
            raise result
    assert all(ended - start < timeout.total_seconds() + 3 for ended, _ in found), found
    return [result for _, result in found]


def of_threads(program, size, engine, timeout):
    """Run a program in threads; return when each ended, and its error or its result."""
    found = [None] * size

    def observed():
        rank = dist.get_rank()
        try:
            found[rank] = (monotonic(), program())
        except BaseException as error:
            found[rank] = (monotonic(), error)
            raise

    failed = False
    try:
        run(observed, size, backend=engine, timeout=timeout)
    except Exception:
        failed = True
    assert failed == any(isinstance(result, BaseException) for _, result in found)
    return found


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


# --- mismatches ------------------------------------------------------------------------------------------------


def another_collective(x):
    return dist.all_gather([tt.ones(4) for _ in range(SIZE)], x)


@pytest.mark.filterwarnings("ignore:all_reduce_coalesced")
@pytest.mark.parametrize(
    ("usual", "other", "texts"),
    [
        (dist.all_reduce, another_collective, ["all_gather of float32[4] #2", "all_reduce of float32[4] #2"]),
        (dist.all_reduce, lambda x: dist.all_reduce(tt.ones(2, 4)), ["float32[2, 4]", "float32[4]"]),
        (dist.all_reduce, lambda x: dist.all_reduce(x.double()), ["float64[4]", "float32[4]"]),
        (
            dist.all_reduce,
            lambda x: dist.all_reduce(x, op=dist.ReduceOp.MAX),
            ["all_reduce (MAX)", "all_reduce of"],
        ),
        (lambda x: dist.broadcast(x, 0), lambda x: dist.broadcast(x, 2), ["roots differ (0, 0, 2)"]),
        (dist.all_reduce, lambda x: dist.barrier(), ["barrier #2", "all_reduce of float32[4] #2"]),
        (
            lambda x: dist.all_reduce_coalesced([x, tt.ones(1)]),
            lambda x: dist.all_reduce_coalesced([x, tt.ones(2)]),
            ["lists of ranks, sizes or dtypes differ"],
        ),
        (
            lambda x: dist.new_group([0, 1]),
            lambda x: dist.new_group([0, 2]),
            ["new_group [0, 1]", "new_group [0, 2]"],
        ),
    ],
)
def test_different_collectives_are_an_error_on_every_rank_and_the_group_stays_usable(
    engine, usual, other, texts
):
    def program(rank):
        dist.barrier()
        with pytest.raises(dist.CollectiveMismatchError) as caught:
            (other if rank == 2 else usual)(tt.ones(4))
        x = tt.ones(1)
        dist.all_reduce(x)
        return str(caught.value), x.item()

    found = outcomes(program, engine, timeout=timedelta(seconds=10))
    assert len({message for message, _ in found}) == 1 and all(total == SIZE for _, total in found)
    message = found[0][0]
    assert all(text in message for text in texts)
    assert "rank 2 is at" in message and "the others are at" in message
    assert re.search(r"test_guard\.py:\d+", message)


def test_the_message_names_the_line_of_each_rank(engine):
    def program(rank):
        if rank == 1:
            dist.all_reduce(tt.ones(2))  # here
        else:
            dist.all_reduce(tt.ones(3))

    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    here = next(i for i, line in enumerate(lines, 1) if line.endswith("# here"))
    for error in outcomes(program, engine):
        assert isinstance(error, dist.CollectiveMismatchError)
        assert f"rank 1 is at all_reduce of float32[2] #1 in {__file__}:{here}" in str(error)
        assert [report.rank for report in error.reports] == [0, 1, 2]
        assert error.reports[1].place == f"{__file__}:{here}"


def test_sizes_of_all_to_all_must_fit_in_pairs(engine):
    def program(rank):
        sent = [2, 1] if rank == 0 else [1, 1]
        dist.all_to_all_single(tt.zeros(2), tt.ones(sum(sent)), [1, 1], sent)

    for error in outcomes(program, engine, size=2):
        assert isinstance(error, dist.CollectiveMismatchError)
        assert "rank 0 sends 2 elements to rank 0, which receives 1" in str(error)


# --- ranks that do not come ------------------------------------------------------------------------------------


def test_a_rank_that_raises_ends_the_others_at_once_with_its_error(engine):
    def program(rank):
        dist.barrier()
        if rank == 1:
            raise KeyError("the cause")
        dist.all_reduce(tt.ones(2))

    start = monotonic()
    errors = outcomes(program, engine, timeout=timedelta(seconds=30))
    assert monotonic() - start < 5
    assert isinstance(errors[1], KeyError)
    for rank in (0, 2):
        assert isinstance(errors[rank], dist.DistTimeoutError)
        assert "all_reduce of float32[2] #2 cannot end: rank 1 raised KeyError: 'the cause'" in str(
            errors[rank]
        )


def test_a_rank_that_ends_early_ends_the_others_at_once(engine):
    def program(rank):
        if rank != 2:
            dist.all_reduce(tt.ones(2))

    start = monotonic()
    errors = outcomes(program, engine, timeout=timedelta(seconds=30))
    assert monotonic() - start < 5
    assert errors[2] is None
    for rank in (0, 1):
        assert isinstance(errors[rank], dist.DistTimeoutError)
        assert "rank 2 ended: its function returned" in str(errors[rank])


def test_a_rank_that_destroys_its_groups_ends_the_others(engine):
    def program(rank):
        if rank == 0:
            return dist.destroy_process_group()
        dist.barrier()

    errors = outcomes(program, engine, timeout=timedelta(seconds=30))
    assert "rank 0 called destroy_process_group" in str(errors[1])


# The first travels with the record by which ranks agree.
@pytest.mark.parametrize("count", [5, pytest.param(5000, marks=pytest.mark.exhaustive)])
def test_a_rank_that_is_late_is_named_as_silent_and_fails_when_it_comes(engine, count):
    start = monotonic()

    def program():
        if dist.get_rank() == 1:
            sleep(2.8)
        try:
            dist.all_reduce(tt.ones(count))
        except dist.DistTimeoutError as error:
            took = monotonic() - start
            sleep(1.5)  # so that this rank does not leave before the late one comes
            return str(error), took

    found = run(program, SIZE, backend=engine, timeout=SHORT)
    messages = [text for text, _ in found]
    assert all(took < 1 + 3 for _, took in (found[0], found[2]))
    assert f"all_reduce of float32[{count}] #1" in messages[0] and "did not end within 1 s" in messages[0]
    assert "rank 1 is silent" in messages[0] and "the others are at all_reduce" in messages[0]
    assert "given up because another rank did not come" in messages[1]


def test_ranks_in_different_groups_say_where_they_wait(engine):
    def program(rank):
        pair = dist.new_group([0, 1])
        if rank == 0:
            dist.all_reduce(tt.ones(2), group=pair)
        else:
            dist.barrier()

    errors = outcomes(program, engine, timeout=SHORT)
    assert "rank 1 is elsewhere: last seen at barrier #2 of group 0 in " in str(errors[0])
    assert "rank 0 is elsewhere: last seen at all_reduce of float32[2] #1 of group 1 in " in str(errors[1])
    assert "the others are at barrier #2" in str(errors[1])


def test_a_receive_without_a_send_times_out_and_says_so(engine):
    def program(rank):
        if rank == 0:
            dist.recv(tt.zeros(3), src=1)
        else:
            dist.all_reduce(tt.ones(1))

    errors = outcomes(program, engine)
    assert all(isinstance(error, dist.DistTimeoutError) for error in errors)
    text = str(errors[0])
    assert (
        "rank 0 is at recv of float32[3] from rank 1" in text and "are at all_reduce of float32[1] #1" in text
    )


def test_after_a_timeout_the_group_is_refused_and_can_be_made_again(engine):
    def program(rank):
        if rank == 0:
            with pytest.raises(dist.DistTimeoutError):
                dist.barrier()
            with pytest.raises(
                dist.DistBackendError, match=r"cannot be used after an error(.|\n)*destroy_process_group"
            ):
                dist.barrier()
        return True

    assert outcomes(program, engine, size=2)[0]


def test_an_asynchronous_operation_reports_at_wait(engine):
    def program(rank):
        if rank == 0:
            work = dist.all_reduce(tt.ones(2), async_op=True)
            with pytest.raises(dist.DistTimeoutError, match="rank 1 is silent"):
                work.wait()
            assert not work.is_success() and isinstance(work.exception(), dist.DistTimeoutError)
        else:
            sleep(3)

    outcomes(program, engine, size=2)


def test_operations_that_wait_for_a_failed_one_fail_with_it(engine):
    def program(rank):
        if rank == 1:
            return sleep(3)
        works = [dist.all_reduce(tt.ones(2), async_op=True) for _ in range(5)]
        with pytest.raises(dist.DistTimeoutError, match="rank 1 is silent"):
            works[0].wait()
        for work in works[1:]:
            with pytest.raises(dist.DistBackendError, match="cannot be used after an error: all_reduce"):
                work.wait()

    assert outcomes(program, engine, size=2) == [None, None]


def test_waiting_shorter_than_the_group_does_not_end_the_operation(engine):
    def program(rank):
        x = tt.ones(2)
        if rank == 1:
            sleep(0.5)
        work = dist.all_reduce(x, async_op=True)
        if rank == 0:
            with pytest.raises(dist.DistTimeoutError, match=r"within 0\.1 s"):
                work.wait(timedelta(seconds=0.1))
        work.wait()
        return x.tolist()

    assert outcomes(program, engine, size=2, timeout=timedelta(seconds=20)) == [[2.0, 2.0]] * 2


def test_a_message_of_another_size_is_an_error_of_its_receive_alone(engine):
    def program(rank):
        if rank == 0:
            dist.send(tt.ones(3), dst=1)
        else:
            with pytest.raises(dist.DistBackendError, match=r"12 bytes|larger than the tensor of 8 bytes"):
                dist.recv(tt.zeros(2), src=0)
        dist.barrier()
        return True

    assert outcomes(program, engine, size=2) == [True, True]


def test_a_timeout_of_one_call_is_its_own(engine):
    ended = multiprocessing.get_context("fork").Event()  # of threads and of processes

    def program(rank):
        if rank == 0:
            with pytest.raises(dist.DistTimeoutError, match=r"within 0\.3 s"):
                dist.monitored_barrier(timeout=timedelta(seconds=0.3))
            ended.set()
        return ended.wait(15)  # the other rank does not come before

    assert outcomes(program, engine, size=2, timeout=timedelta(seconds=20)) == [True, True]


def test_messages_between_others_go_on_when_a_rank_leaves(engine):
    def program(rank):
        x = tt.zeros(1)
        if rank == 1:
            assert dist.recv(x, src=2) == 2 and dist.recv(x) == 2
        elif rank == 2:
            sleep(1.2)
            dist.send(tt.ones(1), dst=1)
            dist.send(tt.ones(1), dst=1)
        return x.item()

    assert outcomes(program, engine, timeout=timedelta(seconds=20)) == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("source", [0, None])
def test_a_receive_from_ranks_that_have_left_ends_at_once(engine, source):
    def program(rank):
        if rank == 1:
            dist.recv(tt.zeros(1), src=source)

    start = monotonic()
    error = outcomes(program, engine, timeout=timedelta(seconds=30))[1]
    assert monotonic() - start < 5
    assert isinstance(error, dist.DistTimeoutError) and "cannot end: rank 0 ended" in str(error)


# --- switches --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["environment", "argument"])
def test_the_guard_can_be_turned_off(by, monkeypatch):
    if by == "environment":
        monkeypatch.setenv("TT_DISTRIBUTED_GUARD", "0")
    store = dist.HashStore()
    found = []

    def body(rank):
        from tt.distributed.world import World

        world = World.of_thread()
        guard = False if by == "argument" else None
        dist.init_process_group("threads", store=store, rank=rank, world_size=2, guard=guard)
        x = tt.ones(2)
        dist.all_reduce(x)
        dist.barrier()
        found.append((dist.group.WORLD.guard.enabled, x.tolist()))
        dist.destroy_process_group()
        world.forget_thread()

    threads = [threading.Thread(target=body, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert found == [(False, [2.0, 2.0])] * 2


# --- the flight recorder ---------------------------------------------------------------------------------------


def test_the_recorder_keeps_what_a_rank_did_and_a_failure_writes_it(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("TT_DISTRIBUTED_RECORD_FILE", str(tmp_path / "records"))
    monkeypatch.setenv("TT_DISTRIBUTED_RECORDS", "3")

    def program(rank):
        for _ in range(4):
            dist.barrier()
        assert [record.sequence for record in dist.flight_recorder()] == [2, 3, 4]
        if rank == 1:
            dist.broadcast(tt.ones(2), 0)
        else:
            dist.all_reduce(tt.ones(2))

    outcomes(program, engine, size=2)
    written = json.loads((tmp_path / "records.1").read_text())
    assert [record["state"] for record in written] == ["completed", "completed", "failed"]
    assert (
        written[2]["operation"] == "broadcast of float32[2] with root 0"
        and "test_guard.py" in written[2]["place"]
    )
    assert "different collectives" in written[2]["error"]
    assert (tmp_path / "records.0").exists()
