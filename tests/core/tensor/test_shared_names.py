"""Names of shared memory: the files in /dev/shm while processes of a family are killed."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
from pathlib import Path

import pytest

import tt
import tt.multiprocessing as mp
from tests.api.multiprocessing.processes import nothing_left
from tt.core.tensor import shared_names

FORK = mp.get_context("fork")
FOLDER = Path("/dev/shm")
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="shared memory has no files here")


@pytest.fixture(autouse=True)
def with_names():
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy("file_system")
    yield
    mp.set_sharing_strategy(before)


def names_of(pid):
    return sorted(path.name for path in FOLDER.glob(f"tt_{pid}_*"))


@contextlib.contextmanager
def running(function, *args):
    """Run a function in a child until it is killed; give the child and what it sends first."""
    reader, writer = mp.Pipe(duplex=False)
    process = FORK.Process(target=function, args=(writer, *args))
    process.start()
    writer.close()
    try:
        yield process, reader.recv()
    finally:
        process.kill()
        process.join()
        process.close()
        reader.close()


def hold(connection):
    kept = [tt.full((2000,), number).share_memory_() for number in range(5)]
    connection.send(len(kept))
    signal.pause()


def send(connection):
    connection.send(tt.full((2000,), 7))
    signal.pause()


def receive(connection, inbox, outbox):
    connection.send("ready")
    kept = inbox.recv()
    outbox.send(float(kept[0]))
    signal.pause()


def look():
    """Do what makes names of dead processes go: share something, after the pause."""
    shared_names._Next.look = 0.0
    tt.zeros(2000).share_memory_()


def test_names_of_a_killed_process_go_when_its_parent_shares_next():
    with nothing_left(), running(hold) as (process, count):
        look()
        assert len(names_of(process.pid)) == count == 5, "it is alive and needs them"
        process.kill()
        process.join()
        assert len(names_of(process.pid)) == 5
        look()
        assert names_of(process.pid) == []


def test_a_process_that_is_dead_but_not_joined_needs_nothing():
    with running(hold) as (process, _):
        process.terminate()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        look()
        assert names_of(process.pid) == []


def test_memory_of_a_killed_process_stays_while_another_has_it():
    with nothing_left(), running(send) as (process, x):
        process.kill()
        process.join()
        look()
        assert len(names_of(process.pid)) == 1
        here, there = mp.Pipe()
        here.send(x)
        assert (there.recv() == 7).all()
        here.close()
        there.close()
        del x
        assert names_of(process.pid) == []


def test_a_killed_receiver_keeps_no_memory_of_its_sender():
    here, there = mp.Pipe()
    before = set(names_of(os.getpid()))
    with running(receive, there, there) as (process, _):
        x = tt.full((2000,), 3.0)
        here.send(x)
        assert here.recv() == 3
        del x
        new = set(names_of(os.getpid())) - before
        assert len(new) == 1, "the receiver needs it"
        process.kill()
        process.join()
        look()
        assert not new & set(names_of(os.getpid()))
    here.close()
    there.close()


def test_a_message_on_its_way_keeps_memory_of_a_killed_sender():
    reader, writer = mp.Pipe(duplex=False)
    process = FORK.Process(target=send, args=(writer,))
    process.start()
    assert reader.poll(60)
    process.kill()
    process.join()
    look()
    assert len(names_of(process.pid)) == 1
    x = reader.recv()
    assert (x == 7).all()
    del x
    assert names_of(process.pid) == []
    reader.close()
    writer.close()


def test_a_file_in_the_making_stays_while_its_maker_lives():
    family = shared_names.new_name().split("_")[2]
    alive, dead = FOLDER / f"tt_{os.getpid()}_{family}_test", FOLDER / f"tt_{2**22 + 1}_{family}_test"
    from multiprocessing import resource_tracker

    for path in (alive, dead):
        resource_tracker.register(f"/{path.name}", "shared_memory")
        path.write_bytes(b"")
    look()
    assert alive.exists() and not dead.exists()
    shared_names.remove(f"/{alive.name}")


def test_names_of_other_families_are_left_alone():
    other = FOLDER / f"tt_{2**22 + 1}_0_test"
    other.write_bytes(struct.pack("=QQQQ", 0, 1, 2**22 + 1, 5).ljust(shared_names.HEADER, b"\0"))
    try:
        look()
        assert other.exists()
    finally:
        other.unlink()


def test_another_process_of_the_same_number_is_another():
    me = shared_names._self()
    assert shared_names._living([me, (me[0], me[1] + 1)], {}) == [me]


def test_a_look_at_all_names_is_followed_by_a_pause(monkeypatch):
    looks = []
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda *args: looks.append(args) or listed(*args))
    shared_names._Next.look = 0.0
    for _ in range(5):
        tt.zeros(2000).share_memory_()
    assert looks == [("/dev/shm",)]


def test_more_mappings_than_the_page_lists_count_too():
    x = tt.zeros(10).share_memory_()
    name = x.untyped_storage()._share_filename_cpu_()[1].decode()
    most = shared_names._MOST_HOLDERS
    for _ in range(most + 5):
        assert shared_names.add_message(name)
        shared_names.take_message(name, hold=True)
    for _ in range(most + 5):
        shared_names.drop_holder(name)
        assert (FOLDER / name[1:]).exists()
    shared_names.take_message(name, hold=False)
    del x
    assert not (FOLDER / name[1:]).exists()
