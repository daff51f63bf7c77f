from __future__ import annotations

import threading
from datetime import timedelta

import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tt.distributed.engines import threads
from tt.distributed.engines.threads import Threads


def test_each_thread_is_a_rank_and_results_are_in_their_order():
    before = threading.active_count()
    assert dist.run_threads(lambda factor: dist.get_rank() * factor, 4, 10) == [0, 10, 20, 30]
    assert threading.active_count() == before and not threads._HUBS
    assert not dist.is_initialized()


def test_what_was_raised_first_is_raised():
    def program():
        if dist.get_rank() == 2:
            raise LookupError("the cause")
        dist.barrier()

    with pytest.raises(LookupError, match="the cause"):
        run(program, 3)


def test_a_program_may_destroy_and_make_its_groups():
    def program():
        dist.destroy_process_group()
        assert not dist.is_initialized()

    run(program, 2)


def test_at_least_one_rank_is_needed():
    with pytest.raises(ValueError, match="size must be positive"):
        dist.run_threads(lambda: None, 0)


def test_ranks_of_other_processes_are_refused():
    store = dist.HashStore()
    store.set("threads", "a hub of another process")
    with pytest.raises(dist.DistBackendError, match="threads of one process"):
        Threads.create(store, 1, 2, timedelta(seconds=1))


def test_a_first_rank_that_does_not_come_is_a_timeout():
    with pytest.raises(dist.DistTimeoutError, match=r"rank 0 did not come within 0\.1 s"):
        Threads.create(dist.HashStore(), 1, 2, timedelta(seconds=0.1))


def test_a_sent_tensor_may_be_changed_at_once():
    def program():
        x = tt.ones(2)
        if dist.get_rank() == 0:
            dist.send(x, dst=1)
            x.zero_()
            dist.barrier()
        else:
            dist.barrier()
            dist.recv(x, src=0)
        return x.tolist()

    assert run(program, 2)[1] == [1.0, 1.0]
