"""Ranks whose connections to the store end or go silent: who is missing is named in time, and nothing stays."""

from __future__ import annotations

import contextlib
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest

import tt
import tt.distributed as dist
from tt.distributed.world import World

ROOT = Path(__file__).parents[3]


class Proxy:
    """Passes on what comes, until its connections are cut or go silent."""

    def __init__(self, port):
        self.target, self.silent, self.pairs = port, False, []
        self.listener = socket.create_server(("localhost", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while self.listener.fileno() >= 0:
            sources = [self.listener, *(sock for pair in self.pairs for sock in pair)]
            try:
                ready = select.select([s for s in sources if s.fileno() >= 0], [], [], 0.02)[0]
            except (OSError, ValueError):
                continue
            for sock in () if self.silent else ready:
                with contextlib.suppress(OSError):
                    if sock is self.listener:
                        taken = sock.accept()[0]
                        self.pairs.append((taken, socket.create_connection(("localhost", self.target))))
                        continue
                    pair = next(pair for pair in self.pairs if sock in pair)
                    data = sock.recv(1 << 16)
                    if data:
                        pair[1 - pair.index(sock)].sendall(data)
                    else:
                        self.drop(pair)

    def drop(self, pair):
        if pair in self.pairs:
            self.pairs.remove(pair)
        for sock in pair:
            sock.close()

    def cut(self):
        """End all connections, and take no more."""
        self.listener.close()
        self.thread.join()
        for pair in list(self.pairs):
            self.drop(pair)


@pytest.fixture
def proxy():
    server = dist.TCPStore("localhost", 0, is_master=True)
    found = Proxy(server.port)
    yield found
    found.cut()
    del server


def run(proxy, program, size, timeout, behind):
    """Run a program in threads, of which some reach the store by the proxy; return errors and how long each took."""
    found, server = {}, proxy.target

    def rank_of(rank):
        world = World.of_thread()
        store = dist.TCPStore("localhost", proxy.port if rank in behind else server)
        dist.init_process_group("threads", store=store, rank=rank, world_size=size, timeout=timeout)
        dist.barrier()
        start = time.monotonic()
        try:
            program(rank)
        except dist.DistError as error:
            found[rank] = (type(error), str(error), time.monotonic() - start)
        dist.destroy_process_group()
        world.forget_thread()

    before = set(threading.enumerate())
    threads = [threading.Thread(target=rank_of, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not [t for t in threading.enumerate() if t not in before and "store" not in t.name]
    return found


def test_a_rank_whose_connection_ends_is_named_at_once(proxy):
    def program(rank):
        if rank == 1:
            time.sleep(0.2)
            proxy.cut()
            time.sleep(2.5)
            return
        dist.all_reduce(tt.ones(4))

    found = run(proxy, program, 3, timedelta(seconds=20), behind=[1])
    assert sorted(found) == [0, 2]
    for kind, message, seconds in found.values():
        assert kind is dist.DistTimeoutError and seconds < 5
        assert "all_reduce of float32[4] #2 cannot end: rank 1 ended without a word" in message
        assert "it was killed, or has lost its connection to the store" in message


@pytest.mark.parametrize("how", ["cut", "silent"])
def test_without_a_store_every_rank_ends_soon_after_the_timeout(proxy, how):
    def program(rank):
        if rank == 1:
            time.sleep(0.2)
            if how == "cut":
                proxy.cut()
            else:
                proxy.silent = True
            return
        dist.all_reduce(tt.ones(4))

    found = run(proxy, program, 3, timedelta(seconds=1.0), behind=[0, 1, 2])
    assert sorted(found) == [0, 2]
    for kind, message, seconds in found.values():
        assert kind is dist.DistTimeoutError and seconds < 1.0 + 3
        assert "all_reduce of float32[4] did not end within 1 s, and the store is gone: TCPStore" in message


def test_what_a_killed_process_leaves_behind_appears_at_once():
    server = dist.TCPStore("localhost", 0, is_master=True)
    program = (
        "import sys, time, tt.distributed as dist\n"
        "store = dist.PrefixStore('job', dist.TCPStore('localhost', int(sys.argv[1])))\n"
        "store.set('known', 'mine')\n"
        "assert store.leave_behind({'known': 'other', 'gone': 'yes'})\n"
        "store.set('ready', '1')\n"
        "time.sleep(60)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(server.port)], cwd=ROOT)
    try:
        server.wait(["job/ready"], timedelta(seconds=30))
        assert not server.check(["job/gone"])
        child.send_signal(signal.SIGKILL)
        server.wait(["job/gone"], timedelta(seconds=5))
    finally:
        child.kill()
        child.wait()
    assert (server.get("job/gone"), server.get("job/known")) == (b"yes", b"mine")


def test_stores_that_do_not_find_out_say_so():
    assert not dist.HashStore().leave_behind({"gone": "yes"})
