from __future__ import annotations

import threading
from datetime import timedelta

import pytest

import tt.distributed as dist
from tests.processes import printed_by


@pytest.fixture
def alone():
    dist.init_process_group("threads", store=dist.HashStore(), rank=0, world_size=1, device_id=0)
    yield dist.group.WORLD
    if dist.is_initialized():
        dist.destroy_process_group()


def test_the_group_of_all_ranks_is_there_between_init_and_destroy(alone):
    assert dist.is_initialized() and dist.group.WORLD is dist.GroupMember.WORLD is alone
    assert (alone.rank(), alone.size(), alone.group_name) == (0, 1, "0")
    assert alone.timeout == dist.default_pg_timeout == timedelta(minutes=30)
    assert str(alone.bound_device_id) == "cuda:0"
    dist.destroy_process_group()
    assert not dist.is_initialized() and dist.group.WORLD is None


def test_a_second_init_is_refused(alone):
    with pytest.raises(ValueError, match="trying to initialize the default process group twice"):
        dist.init_process_group("threads", store=dist.HashStore(), rank=0, world_size=1)


def test_other_threads_of_a_process_see_its_group(alone):
    found = []
    thread = threading.Thread(target=lambda: found.append(dist.get_world_size()))
    thread.start()
    thread.join()
    assert found == [1]


def test_threads_that_are_ranks_have_groups_of_their_own(alone):
    assert dist.run_threads(dist.get_world_size, 2) == [2, 2]
    assert dist.get_world_size() == 1


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"store": dist.HashStore(), "rank": 0}, AssertionError, "world_size must be positive"),
        ({"store": dist.HashStore(), "world_size": 1}, AssertionError, "rank must be non-negative"),
        ({"store": dist.HashStore(), "rank": 1, "world_size": 1}, ValueError, "not below world_size"),
        (
            {"store": dist.HashStore(), "rank": 0, "world_size": 1, "init_method": "env://"},
            AssertionError,
            "both",
        ),
        ({"timeout": 3}, TypeError, "timedelta"),
        ({"backend": 3}, TypeError, "must be a name"),
        ({"backend": "other"}, ValueError, "Unknown backend"),
        ({"backend": "threads:cpu:x"}, ValueError, "Invalid device:backend pairing"),
    ],
)
def test_wrong_arguments_are_refused_and_leave_no_group(arguments, error, text):
    with pytest.raises(error, match=text):
        dist.init_process_group(**{"backend": "threads", **arguments})
    assert not dist.is_initialized()


def test_ranks_that_do_not_meet_leave_no_group():
    with pytest.raises(dist.DistTimeoutError, match="rank 0 did not come"):
        dist.init_process_group(
            "threads", store=dist.HashStore(), rank=1, world_size=2, timeout=timedelta(seconds=0.1)
        )
    assert not dist.is_initialized()


def test_import_of_tt_does_not_import_the_package_and_its_use_does():
    program = (
        "import sys, tt; tt.ones(1); print('tt.distributed' in sys.modules, tt.distributed.is_initialized())"
    )
    assert printed_by(program).split() == ["False", "False"]


def test_a_process_that_ends_without_destroying_says_why_in_the_store():
    program = """
import atexit, tt, tt.distributed as dist
from tt.distributed.world import current_world
store = dist.HashStore()
atexit.register(lambda: print(store.get("default_pg/left/0").decode()))
import threading
from tt.distributed.world import World
def other():
    World.of_thread()
    dist.init_process_group("threads", store=store, rank=1, world_size=2)
thread = threading.Thread(target=other)
thread.start()
dist.init_process_group("threads", store=store, rank=0, world_size=2)
thread.join()
"""
    assert '"reason": "ended"' in printed_by(program)
