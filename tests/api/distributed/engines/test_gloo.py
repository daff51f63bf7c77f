"""The engine gloo: what it computes in shared memory and over sockets, how ranks join, and what happens to failures."""

from __future__ import annotations

import errno
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import DTYPES, array, run, same, values
from tests.api.distributed.test_random_programs import program as random_program
from tt.distributed import ReduceOp
from tt.distributed.engines.gloo import Gloo, addresses, joining, memory
from tt.distributed.errors import DistBackendError, DistNetworkError, DistTimeoutError
from tt.distributed.stores import HashStore, PrefixStore, TCPStore

PROGRAM = Path(__file__).with_name("gloo_rank.py")
WAYS = ("memory", "sockets") if memory.SHARES_MEMORY else ("sockets",)
TIMEOUT = timedelta(seconds=20)


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Let ranks share memory, or talk over TCP."""
    monkeypatch.setenv(joining.SHARED_MEMORY, "1" if request.param == "memory" else "0")
    return request.param


def joined(size, stores=None, timeout=TIMEOUT, sizes=None):
    """Connect ranks in threads; return their engines, or the errors that they got."""
    store = HashStore()
    results = [None] * size

    def connect(rank):
        own = store if stores is None else stores[rank]
        try:
            results[rank] = Gloo.create(own, rank, size if sizes is None else sizes[rank], timeout)
        except Exception as error:
            results[rank] = error

    threads = [threading.Thread(target=connect, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.fixture
def pair(way):
    """Return two connected engines."""
    engines = joined(2)
    yield engines
    for engine in engines:
        engine.abort()


def until_done(*pending, seconds=10.0):
    """Test all until they are done."""
    end = time.monotonic() + seconds
    left = list(pending)
    while left:
        assert time.monotonic() < end
        left = [each for each in left if not each.test()]


# --- collectives ------------------------------------------------------------------------------------------------------


def every_collective(expects):
    """Call every collective with every dtype and layout, and compare with NumPy."""
    rank, size = dist.get_rank(), dist.get_world_size()
    engine = dist.group.WORLD.engine("cpu")
    assert (engine.memory is not None) == (expects == "memory" and size > 1)
    for dtype in DTYPES:
        for layout in ("contiguous", "strided", "empty", "scalar"):
            parts = [values(dtype, layout, seed) for seed in range(size)]
            arrays = [array(part) for part in parts]
            total = np.any(arrays, axis=0) if dtype is tt.bool else sum(arrays[1:], arrays[0])
            x = parts[rank].clone()
            dist.all_reduce(x)
            same(x, total)
            x = parts[rank].clone()
            dist.reduce(x, dst=size - 1)
            same(x, total if rank == size - 1 else arrays[rank])
            x = parts[rank].clone()
            dist.broadcast(x, src=size - 1)
            same(x, arrays[-1])
            rows = [tt.empty_like(x) for _ in range(size)]
            dist.all_gather(rows, parts[rank])
            for row, expected in zip(rows, arrays, strict=True):
                same(row, expected)
            rows = [tt.empty_like(x) for _ in range(size)]
            dist.gather(parts[rank], rows if rank == 0 else None, dst=0)
            if rank == 0:
                for row, expected in zip(rows, arrays, strict=True):
                    same(row, expected)
            x = tt.empty_like(x)
            dist.scatter(x, [part.clone() for part in parts] if rank == 0 else None, src=0)
            same(x, arrays[rank])
            x = tt.empty_like(x)
            dist.reduce_scatter(x, [parts[rank].clone() for _ in range(size)])
            same(x, total)
            rows = [tt.empty_like(x) for _ in range(size)]
            dist.all_to_all(rows, [parts[rank].clone() for _ in range(size)])
            for row, expected in zip(rows, arrays, strict=True):
                same(row, expected)
    dist.barrier()
    return True


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_collective_is_right_with_every_dtype_and_layout(size, way):
    assert all(run(every_collective, size, way, backend="gloo"))


def large_collectives():
    """Call collectives with tensors that take several chunks, whose sizes nothing divides."""
    rank, size = dist.get_rank(), dist.get_world_size()
    operations = {
        ReduceOp.SUM: np.add, ReduceOp.PRODUCT: np.multiply, ReduceOp.MIN: np.minimum, ReduceOp.MAX: np.maximum,
        ReduceOp.BAND: np.bitwise_and, ReduceOp.BOR: np.bitwise_or, ReduceOp.BXOR: np.bitwise_xor,
    }  # fmt: skip
    for dtype, count in (
        (np.int64, 200_001),
        (np.int8, 1_300_007),
        (np.float32, 5_003),
        (np.float64, 90_001),
    ):
        parts = [np.random.default_rng(r).integers(-3, 4, size=count).astype(dtype) for r in range(size)]
        for op, function in operations.items():
            if np.dtype(dtype).kind == "f" and op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR):
                continue
            expected = function.reduce(parts, dtype=dtype)
            x = tt.from_numpy(parts[rank].copy())
            dist.all_reduce(x, op=op)
            np.testing.assert_array_equal(x.numpy(), expected)
        total = np.add.reduce(parts, dtype=dtype)
        for root in {0, size - 1}:
            x = tt.from_numpy(parts[rank].copy())
            dist.reduce(x, dst=root)
            np.testing.assert_array_equal(x.numpy(), total if rank == root else parts[rank])
            x = tt.from_numpy(parts[rank].copy())
            dist.broadcast(x, src=root)
            np.testing.assert_array_equal(x.numpy(), parts[root])
        own = tt.from_numpy(parts[rank])
        everything = tt.empty(size * count, dtype=own.dtype)
        dist.all_gather_single(everything, own)
        np.testing.assert_array_equal(everything.numpy(), np.concatenate(parts))
        part = tt.empty(count, dtype=own.dtype)
        dist.reduce_scatter_single(part, everything)
        np.testing.assert_array_equal(part.numpy(), (parts[rank] * size).astype(dtype))
        sizes = [[(13 * i + 7 * j) % 5 * count // (4 * size) for j in range(size)] for i in range(size)]
        sent = [parts[rank][: sizes[rank][j]] + j for j in range(size)]
        received = tt.empty(sum(row[rank] for row in sizes), dtype=own.dtype)
        dist.all_to_all_single(
            received, tt.from_numpy(np.concatenate(sent)), [row[rank] for row in sizes], sizes[rank]
        )
        expected = np.concatenate([parts[j][: sizes[j][rank]] + rank for j in range(size)])
        np.testing.assert_array_equal(received.numpy(), expected)
    return True


@pytest.mark.parametrize("size", [2, 3, pytest.param(8, marks=pytest.mark.sampled(1)), 1])
def test_large_collectives_of_every_kind_are_right(size, way):
    assert all(run(large_collectives, size, backend="gloo"))


def test_where_the_system_cannot_wake_ranks_and_orders_memory_loosely_it_is_the_same(monkeypatch):
    # As on another processor or system: ranks nap, and each access of a counter is fenced.
    if not memory.SHARES_MEMORY:
        pytest.skip("there is no memory to share")
    monkeypatch.setattr(memory, "_FUTEX", None)
    monkeypatch.setattr(memory, "_ORDERED", False)
    assert all(run(every_collective, 3, "memory", backend="gloo"))


def test_a_rank_that_sleeps_is_woken_by_the_one_it_waits_for(monkeypatch):
    if memory._FUTEX is None:
        pytest.skip("the system cannot wake ranks")
    monkeypatch.setenv(joining.SHARED_MEMORY, "1")
    engines = joined(2)
    first = engines[0].barrier()
    assert not first.test()
    later = threading.Timer(0.2, lambda: until_done(engines[1].barrier()))
    later.start()
    begin = time.monotonic()
    first.linger(0.999)
    assert first.test() and time.monotonic() - begin < 0.9
    later.join()
    for engine in engines:
        engine.abort()


def floating_sums():
    """Add up numbers whose sum depends on the order; return the bits, and those of the order of the ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()
    parts = [np.random.default_rng(r).normal(size=300_001).astype(np.float32) for r in range(size)]
    x = tt.from_numpy(parts[rank].copy())
    dist.all_reduce(x)
    return x.numpy().tobytes(), sum(parts[1:], parts[0]).tobytes()


def test_all_ranks_get_the_same_bits(way):
    results = run(floating_sums, 3, backend="gloo")
    assert len({bits for bits, _ in results}) == 1
    if way == "memory":
        assert all(bits == in_order for bits, in_order in results)


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_give_what_they_should(size, seed, way):
    assert all(run(random_program, size, seed, backend="gloo"))


def twins():
    """Run collectives in two groups of the same ranks, in another order on each rank."""
    rank = dist.get_rank()
    groups = [dist.new_group(), dist.new_group()]
    tensors = [tt.full((70_000,), 10.0**at + rank) for at in range(2)]
    works = {}
    for at in (0, 1) if rank % 2 else (1, 0):
        works[at] = dist.all_reduce(tensors[at], group=groups[at], async_op=True)
    for work in works.values():
        work.wait()
    return [tensor[-1].item() for tensor in tensors]


def test_groups_of_the_same_ranks_do_not_disturb_each_other(way):
    assert run(twins, 3, backend="gloo") == [[6.0, 33.0]] * 3


def test_a_large_collective_leaves_time_for_others_and_for_timeouts(pair):
    # One rank alone: each test returns soon, and nothing is done.
    x = tt.ones(1 << 22)
    pending = pair[0].all_reduce(x, ReduceOp(ReduceOp.SUM))
    begin = time.monotonic()
    assert not any(pending.test() for _ in range(20))
    assert time.monotonic() - begin < 5


# --- messages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 1000, 300_001])
def test_messages_of_all_sizes_arrive_in_both_directions_at_once(pair, count):
    sent = [tt.arange(count) + at for at in range(2)]
    received = [tt.zeros(count, dtype=tt.int64) for _ in range(2)]
    until_done(
        *(pair[at].send(sent[at], 1 - at, 3) for at in range(2)),
        *(pair[at].recv(received[at], 1 - at, 3) for at in range(2)),
    )
    assert tt.equal(received[0], sent[1]) and tt.equal(received[1], sent[0])


def test_tags_choose_and_messages_of_one_tag_keep_their_order(pair):
    large, small = tt.arange(100_000.0), tt.ones(3)
    sends = [pair[0].send(large, 1, 5), pair[0].send(small, 1, 5), pair[0].send(small * 7, 1, 6)]
    found = [tt.zeros(3), tt.zeros(100_000), tt.zeros(3)]
    until_done(pair[1].recv(found[0], 0, 6))
    until_done(pair[1].recv(found[1], 0, 5), pair[1].recv(found[2], 0, 5), *sends)
    assert found[0].tolist() == [7.0] * 3 and tt.equal(found[1], large) and tt.equal(found[2], small)


def test_a_receive_from_any_rank_says_who_sent(way):
    engines = joined(3)
    x = tt.zeros(2)
    receive = engines[0].recv(x, -1, 1)
    until_done(engines[2].send(tt.ones(2), 0, 1), receive)
    assert receive.source == 2 and x.tolist() == [1.0, 1.0]
    for engine in engines:
        engine.abort()


def test_a_rank_sends_to_itself(pair):
    x = tt.zeros(50_000)
    until_done(pair[0].send(tt.ones(50_000), 0, 2), pair[0].recv(x, 0, 2))
    assert x.sum().item() == 50_000


@pytest.mark.parametrize("count", [3, 100_000])
def test_a_message_of_another_size_is_an_error_of_the_receive_alone(pair, count):
    send = pair[0].send(tt.ones(count), 1, 0)
    x = tt.zeros(5)
    receive = pair[1].recv(x, 0, 0)
    with pytest.raises(DistBackendError, match=f"rank 0 sent {4 * count} bytes, and the tensor has 20"):
        until_done(receive)
    until_done(send)
    y = tt.zeros(2)
    until_done(pair[0].send(tt.ones(2), 1, 0), pair[1].recv(y, 0, 0))
    assert x.sum().item() == 0 and y.sum().item() == 2


def test_what_was_cancelled_touches_no_tensor_afterwards(pair):
    first, second = tt.zeros(400_000), tt.zeros(400_000)
    pair[1].recv(first, 0, 4).cancel()
    source = tt.ones(400_000)
    send = pair[0].send(source, 1, 4)
    under_way = pair[1].recv(second, 0, 4)
    send.test(), under_way.test(), send.test(), under_way.test()
    under_way.cancel()
    second.zero_()
    send.cancel()
    source.fill_(5.0)
    for _ in range(200):
        pair[0].links.poll(), pair[1].links.poll()
    assert first.sum().item() == 0 and second.sum().item() == 0
    # The stream is still in step, and a message that was cancelled arrives as it was.
    send, third = pair[0].send(source, 1, 4), tt.zeros(400_000)
    send.cancel()
    source.zero_()
    until_done(pair[1].recv(third, 0, 4), _Polls(pair[0]))
    assert third.sum().item() == 2_000_000


class _Polls:
    """Moves an engine's messages while others are waited for."""

    def __init__(self, engine):
        self._engine, self._count = engine, 0

    def test(self):
        self._engine.links.poll()
        self._count += 1
        return self._count > 500


def test_after_a_collective_was_cancelled_the_tensors_are_left_alone_and_the_group_is_refused(pair):
    x, y = tt.ones(1 << 20), tt.ones(1 << 20)
    mine, other = pair[0].all_reduce(x, ReduceOp(ReduceOp.SUM)), pair[1].all_reduce(y, ReduceOp(ReduceOp.SUM))
    mine.test(), other.test()
    mine.cancel()
    x.fill_(3.0)
    for _ in range(20):
        other.test()
        pair[0].links.poll()
    assert bool((x == 3.0).all())
    with pytest.raises(DistBackendError, match="given up\n  try: destroy_process_group"):
        pair[0].barrier()


# --- joining ----------------------------------------------------------------------------------------------------------


class Edited(HashStore):
    """A store in which the record of a rank is changed before others read it."""

    def __init__(self, **changes):
        super().__init__()
        self._changes = changes

    def set(self, key, value):
        if key == "member/0" and self._changes:
            value = json.dumps({**json.loads(value), **self._changes})
        super().set(key, value)


def on(store, size):
    return [store] * size


def errors(results):
    return [result for result in results if isinstance(result, Exception)]


def test_a_rank_of_another_version_is_refused_and_named():
    found = joined(2, on(Edited(version=99), 2), timedelta(seconds=5))
    assert all(isinstance(each, DistBackendError) for each in found)
    assert "rank 0 speaks version 99 of the protocol, and rank 1 version 1\n  try: the same version" in str(
        found[1]
    )


def test_a_rank_of_another_engine_is_refused():
    store = HashStore()
    store.set("member/0", b"\x80\x04pickle?")
    with pytest.raises(DistBackendError, match="rank 0 left no record of this engine in the store"):
        Gloo.create(store, 1, 2, timedelta(seconds=5))


def test_ranks_with_different_world_sizes_name_each_other():
    found = joined(2, sizes=[2, 3], timeout=timedelta(seconds=5))
    assert "rank 1 was started with world_size 3, and rank 0 with 2" in str(found[0])
    assert "rank 0 was started with world_size 2, and rank 1 with 3" in str(found[1])


def test_ranks_that_do_not_come_are_named():
    with pytest.raises(DistTimeoutError, match="rank 1 waited 1 s for ranks 0, 2 of 3 to start"):
        Gloo.create(HashStore(), 1, 3, timedelta(seconds=1))


def test_an_address_that_cannot_be_reached_is_named_on_all_ranks():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        begin = time.monotonic()
        found = joined(3, on(Edited(local="", hosts=["127.0.0.1"], ports=[port]), 3), timedelta(seconds=15))
    assert time.monotonic() - begin < 10
    wanted = f"cannot reach rank 0 at 127.0.0.1:{port}: Connection refused\n  try: TT_DISTRIBUTED_INTERFACE"
    assert all(wanted in str(each) for each in found)
    assert any(isinstance(each, DistNetworkError) for each in found)


def test_who_answers_at_a_wrong_address_is_not_trusted(monkeypatch):
    monkeypatch.setenv(joining.SHARED_MEMORY, "0")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer():
            guest, _ = server.accept()
            with guest:
                guest.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" + bytes(40))
                guest.recv(100)

        thread = threading.Thread(target=answer)
        thread.start()
        found = joined(2, on(Edited(hosts=["127.0.0.1"], ports=[port]), 2), timedelta(seconds=10))
        thread.join()
    assert "what answers rank 1 at the address of rank 0 is not a rank of this group" in str(found[1])
    assert isinstance(found[0], DistBackendError)


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\n\r\n" * 4, b"", b"tt-gloo\n" + bytes(40), b"tt-glo"])
def test_strangers_at_the_port_are_dropped_and_logged_once(garbage, way, caplog):
    caplog.set_level(logging.WARNING)
    guests = []

    class Noisy(HashStore):
        def set(self, key, value):
            if key == "member/0":
                record = json.loads(value)
                for _ in range(3):
                    guests.append(socket.create_connection((record["hosts"][0], record["ports"][0])))
                    guests[-1].sendall(garbage)
                    if not garbage:
                        guests[-1].shutdown(socket.SHUT_WR)
                time.sleep(0.1)
            super().set(key, value)

    engines = joined(2, on(Noisy(), 2))
    assert errors(engines) == []
    until_done(*(engine.barrier() for engine in engines))
    logged = [record for record in caplog.records if "stranger" in record.message]
    assert len(logged) <= 1 and (garbage == b"tt-glo" or len(logged) == 1)
    for each in (*guests, *(engine.links for engine in engines)):
        each.close()


@pytest.mark.parametrize(
    "frame",
    [
        b"GET / HTTP/1.1 with more than a header",
        b"tg\7" + bytes(29),
        b"tg\0\0" + bytes(16) + b"\xff" * 12,
        b"tg\4" + bytes(29),
    ],
)
def test_garbage_on_a_connection_ends_it_and_names_the_rank(pair, frame):
    pair[0].links._links[1].sock.send(frame)
    receive = pair[1].recv(tt.zeros(3), 0, 1)
    with pytest.raises(
        DistNetworkError, match="connection to rank 0 is lost: it sent something that is no message"
    ):
        until_done(receive)


def test_without_memory_for_segments_messages_go_through_sockets(monkeypatch, caplog):
    monkeypatch.setenv(joining.SHARED_MEMORY, "1")

    def full(size):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(memory, "new_file", full)
    engines = joined(2)
    assert [engine.memory for engine in engines] == [None, None]
    assert "no memory to share" in caplog.text and "No space left" in caplog.text
    xs = [tt.ones(200_000), tt.ones(200_000)]
    until_done(*(engine.all_reduce(x, ReduceOp(ReduceOp.SUM)) for engine, x in zip(engines, xs, strict=True)))
    assert xs[0][-1].item() == xs[1][0].item() == 2.0
    for engine in engines:
        engine.abort()


def test_some_ranks_may_share_a_machine_and_others_not(monkeypatch):
    # Rank 1 publishes no socket of its machine: the others share one, and all agree on messages.
    store = HashStore()
    put = store.set

    def edited(key, value):
        put(key, json.dumps({**json.loads(value), "local": ""}) if key == "member/1" else value)

    monkeypatch.setattr(store, "set", edited)
    engines = joined(3, on(store, 3))
    assert errors(engines) == []
    assert [engine.memory for engine in engines] == [None] * 3
    families = {link.sock.family for engine in engines for link in engine.links._links.values()}
    assert families == {socket.AF_INET, socket.AF_UNIX} or not memory.SHARES_MEMORY
    xs = [tt.full((300_001,), float(rank)) for rank in range(3)]
    until_done(*(engine.all_reduce(x, ReduceOp(ReduceOp.SUM)) for engine, x in zip(engines, xs, strict=True)))
    assert all(x[-1].item() == 3.0 for x in xs)
    for engine in engines:
        engine.abort()


# --- addresses --------------------------------------------------------------------------------------------------------


def clear(monkeypatch):
    for variable in addresses.INTERFACE:
        monkeypatch.delenv(variable, raising=False)


def test_the_address_is_the_one_that_reaches_the_store(monkeypatch):
    clear(monkeypatch)
    store = TCPStore("127.0.0.1", 0, is_master=True)
    assert addresses.addresses(PrefixStore("a", PrefixStore("b", store))) == ["127.0.0.1"]


@pytest.mark.parametrize("variable", addresses.INTERFACE)
@pytest.mark.parametrize("value", ["lo", "nowhere0, lo", "127.0.0.1"])
def test_a_variable_chooses_the_interface(variable, value, monkeypatch):
    clear(monkeypatch)
    monkeypatch.setenv(variable, value)
    assert addresses.addresses(HashStore()) == ["127.0.0.1"]


def test_an_interface_that_does_not_exist_is_named_with_those_that_do(monkeypatch):
    clear(monkeypatch)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "nowhere0")
    with pytest.raises(DistBackendError, match=r"GLOO_SOCKET_IFNAME=nowhere0 names no network interface.*lo"):
        addresses.addresses(HashStore())


def test_an_address_of_another_machine_cannot_be_listened_at(monkeypatch):
    clear(monkeypatch)
    monkeypatch.setenv("TT_DISTRIBUTED_INTERFACE", "192.0.2.1")
    found = joined(2, timeout=timedelta(seconds=5))
    assert all("cannot listen at its address (192.0.2.1" in str(each) for each in found)


def test_a_file_store_offers_the_machines_name_before_the_loopback_address(monkeypatch):
    clear(monkeypatch)
    assert addresses.addresses(HashStore())[-1] == "127.0.0.1"


# --- processes --------------------------------------------------------------------------------------------------------


def outcomes(program, folder, size, way, timeout=30.0, within=60.0):
    """Run ranks; return the exit status and the output of each."""
    environment = {
        **os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[4]),
        joining.SHARED_MEMORY: "1" if way == "memory" else "0",
    }  # fmt: skip
    command = [sys.executable, str(PROGRAM), program, str(folder / "store")]
    ranks = [
        subprocess.Popen(
            [*command, str(rank), str(size), str(timeout), "" if way == "memory" else "no memory"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        )
        for rank in range(size)
    ]  # fmt: skip
    results = []
    limit = time.monotonic() + within
    try:
        for rank in ranks:
            if "stopped" in program and rank is ranks[-1]:
                rank.send_signal(signal.SIGKILL)
            text, _ = rank.communicate(timeout=max(0.1, limit - time.monotonic()))
            results.append((rank.returncode, text))
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    return results


@pytest.mark.parametrize("program", ["large", "tidy"])
def test_processes_compute_and_leave_nothing_behind(program, way, tmp_path):
    assert outcomes(program, tmp_path, 2, way) == [(0, "")] * 2


@pytest.mark.parametrize("kind", ["killed", "killed within", "exits", "raises", "killed message"])
def test_a_rank_that_is_gone_is_named_long_before_the_timeout(kind, way, tmp_path):
    begin = time.monotonic()
    found = outcomes(kind, tmp_path, 3, way)
    assert time.monotonic() - begin < 25
    for status, text in found[:2]:
        assert status == 3, text
        assert "cannot end: rank 2" in text, text


@pytest.mark.parametrize("kind", ["stopped", "stopped within"])
def test_a_rank_that_is_stopped_is_named_after_the_timeout(kind, way, tmp_path):
    for status, text in outcomes(kind, tmp_path, 3, way, timeout=3.0)[:2]:
        assert status == 3, text
        assert "rank 2" in text, text


def test_a_killed_rank_is_noticed_though_its_child_lives(way, tmp_path):
    found = outcomes("forked", tmp_path, 2, way)
    assert found[0] == (3, ""), found
