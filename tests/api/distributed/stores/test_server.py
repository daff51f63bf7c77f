"""The server of TCPStore and what it does with clients that mean harm, or are broken."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import subprocess
import sys
import time
from datetime import timedelta

import pytest

import tt.distributed as dist
from tt.distributed.stores.server import JOINED
from tt.distributed.stores.wire import FIELDS, GREETING, LIMIT, Op, pack


@pytest.fixture
def store():
    return dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=timedelta(seconds=20))


def connect(store, *data):
    """Return a connection that has sent these bytes."""
    sock = socket.create_connection(("127.0.0.1", store.port), timeout=10)
    for part in data:
        sock.sendall(part)
    return sock


def everything(sock):
    """Return what the server sends before it closes."""
    data = b""
    try:
        while part := sock.recv(65536):
            data += part
    except ConnectionResetError:
        pass
    return data


def test_a_foreign_client_is_told_whom_it_has_reached(store):
    with connect(store, b"GET / HTTP/1.1\r\n\r\n") as sock:
        assert b"TCPStore of tt.distributed: it is not a TCPStore" in everything(sock)
    with connect(store, GREETING[:-1] + b"\x07") as sock:
        assert b"it has version 7 of the protocol, this tt has version 1" in everything(sock)


@pytest.mark.parametrize(
    "message, why",
    [
        (struct.pack(">I", 0), b"announces 0 bytes"),
        (struct.pack(">I", LIMIT + 1), b"the limit is 67,108,864"),
        (struct.pack(">I", 0xFFFFFFFF), b"announces 4,294,967,295 bytes"),
        (struct.pack(">IBI", 5, Op.SET, 1 << 30), b"a field is larger than its message"),
        (struct.pack(">IBH", 3, Op.SET, 7), b"ends within the size of a field"),
        (pack(200, b"x"), b"no request 200 with 1 fields"),
        (pack(Op.SET, b"/only a key"), b"no request 1 with 1 fields"),
        (pack(Op.ADD, b"/k", b"many"), b"not the number"),
        (pack(Op.ADD, b"/k", b"9" * 5000), b"more than 20 digits"),
        (pack(Op.WAIT, b"soon", b"/k"), b"not the number"),
        (pack(Op.MULTI_SET, b"/a", b"1", b"/b"), b"no request 10 with 3 fields"),
        (pack(Op.CHECK, *[b"k"] * (FIELDS + 1)), b"a message has more than 262,144 fields"),
        (pack(Op.SET, JOINED, b"many"), b"the count of clients is the server's"),
        (pack(Op.APPEND, JOINED, b"many"), b"the count of clients is the server's"),
        (pack(Op.DELETE, JOINED), b"the count of clients is the server's"),
        (pack(Op.COMPARE_SET, JOINED, b"1", b"many"), b"the count of clients is the server's"),
        (pack(Op.MULTI_SET, b"/k", b"v", JOINED, b"many"), b"the count of clients is the server's"),
    ],
)
def test_a_wrong_message_ends_its_own_connection_with_a_reason(store, message, why):
    with connect(store, GREETING, message) as sock:
        assert why in everything(sock)
    dist.TCPStore("127.0.0.1", store.port, 2).set("k", "v")
    assert store.list_keys() == ["k"]


def test_a_key_that_is_no_text_is_listed_as_far_as_it_is_one(store):
    with connect(store, GREETING, pack(Op.SET, b"/\xff\xfek", b"v")) as sock:
        assert sock.recv(100, socket.MSG_PEEK) and store.num_keys() == 2
        assert store.list_keys() == ["\ufffd\ufffdk"]


def test_garbage_from_many_clients_does_not_disturb_the_others(store):
    draw = random.Random(0)
    for number in range(60):
        with connect(store) as sock:
            sock.sendall((GREETING if number % 2 else b"") + draw.randbytes(draw.randrange(300)))
    store.set("k", "v")
    assert store.get("k") == b"v"
    assert all(key == "k" or not key.isprintable() for key in store.list_keys())


def test_random_requests_leave_the_server_as_it_is(store):
    draw = random.Random(1)
    words = [b"/a", b"/b", b"", b"5", b"-3", b"50", b"\xff\xfe", b"x" * 2000]
    for _ in range(150):
        with connect(store, GREETING) as sock:
            for _ in range(draw.randrange(1, 6)):
                message = bytearray(pack(draw.randrange(19), *draw.choices(words, k=draw.randrange(5))))
                if draw.random() < 0.2:
                    message[draw.randrange(len(message))] = draw.randrange(256)
                with contextlib.suppress(OSError):  # it has closed the connection
                    sock.sendall(message)
    store.set("k", "v")
    assert store.get("k") == b"v"
    until = time.monotonic() + 5
    while len(store._server._connections) > 1 and time.monotonic() < until:
        time.sleep(0.01)
    assert len(store._server._connections) == 1
    assert not store._server._table._waiting


def test_half_a_message_and_a_slow_client_hold_nothing_up(store):
    halves = [connect(store, GREETING, pack(Op.SET, b"/k", b"x" * 1000)[:500]) for _ in range(20)]
    slow = connect(store, GREETING)
    store.set("large", b"x" * 8_000_000)
    for _ in range(3):
        slow.sendall(pack(Op.GET, b"1000", b"/large"))  # answers that it does not take
    start = time.monotonic()
    assert store.get("large") == b"x" * 8_000_000
    assert time.monotonic() - start < 5
    server = store._server
    held = sum(len(one.incoming) + len(one.outgoing) for one in server._connections)
    assert held < 9_000_000, "one answer, and halves of messages"
    for sock in (*halves, slow):
        sock.close()


def test_half_a_message_is_dropped_after_a_while(monkeypatch):
    monkeypatch.setattr("tt.distributed.stores.server.PATIENCE", 0.1)
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    for data in (b"", GREETING[:3], GREETING + b"\x00"):
        with connect(store, data) as sock:
            start = time.monotonic()
            everything(sock)
            assert time.monotonic() - start < 5
    time.sleep(0.2)
    store.set("an idle client", "stays")
    assert store.get("an idle client") == b"stays"


def test_who_leaves_while_it_waits_is_forgotten(store):
    with connect(store, GREETING, pack(Op.WAIT, b"60000", b"/k")) as sock:
        sock.recv(len(GREETING))
        until = time.monotonic() + 5
        while not store._server._table._waiting and time.monotonic() < until:
            time.sleep(0.01)
        assert [*store._server._table._waiting] == [b"/k"]
    while store._server._table._waiting and time.monotonic() < until:
        time.sleep(0.01)
    assert not store._server._table._waiting


def test_who_sends_while_it_waits_is_dropped(store):
    with connect(store, GREETING, pack(Op.WAIT, b"60000", b"/k")) as sock:
        time.sleep(0.1)
        sock.sendall(b"x" * 1000)
        assert everything(sock) == GREETING


def test_a_wait_of_ages_and_many_that_have_ended_are_not_kept(store):
    with connect(store, GREETING, pack(Op.WAIT, b"9" * 20, b"/never")) as forever:
        assert forever.recv(len(GREETING)) == GREETING
        client = dist.TCPStore("127.0.0.1", store.port, timeout=timedelta.max)
        for number in range(300):
            with connect(store, GREETING, pack(Op.WAIT, b"60000", b"/%d" % number)) as sock:
                store.set(str(number), "")
                assert len(sock.recv(100, socket.MSG_PEEK)) > 0
        assert client.get("0") == b""
        assert len(store._server._timers) < 200


FULL = """
import resource, socket, tt.distributed as dist
from tt.distributed.stores.wire import GREETING
store = dist.TCPStore("127.0.0.1", 0, is_master=True)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
many = []
try:
    while True:
        many.append(socket.create_connection(("127.0.0.1", store.port)))
except OSError as error:
    print(error.strerror)
store.set("k", "v")
for sock in many:
    sock.close()
with socket.create_connection(("127.0.0.1", store.port), timeout=10) as sock:
    sock.sendall(GREETING)
    print(sock.recv(len(GREETING)) == GREETING, store.get("k"))
"""


def test_more_connections_than_files_are_allowed_wait_for_others_to_end():
    ran = subprocess.run([sys.executable, "-c", FULL], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "Too many open files\nTrue b'v'\n"


OTHERS = """
import os, resource, socket, time, tt.distributed as dist
from tt.distributed.stores.wire import GREETING
store = dist.TCPStore("127.0.0.1", 0, is_master=True)
sock = socket.socket()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
others = []
try:
    while True:
        others.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
sock.connect(("127.0.0.1", store.port))  # into the backlog of a server that cannot accept
sock.sendall(GREETING)
while store._server._accepts:
    time.sleep(0.001)
store.set("k", "v")
for descriptor in others:
    os.close(descriptor)
sock.settimeout(10)
print(sock.recv(len(GREETING)) == GREETING, store.get("k"))
"""


def test_a_connection_waits_for_files_that_others_hold():
    ran = subprocess.run(
        [sys.executable, "-c", OTHERS], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout == "True b'v'\n"


def test_many_clients_wait_and_are_woken_together(store):
    waiting = [connect(store, GREETING, pack(Op.GET, b"60000", b"/go")) for _ in range(100)]
    time.sleep(0.2)
    store.set("go", "now")
    for sock in waiting:
        assert sock.recv(len(GREETING), socket.MSG_WAITALL) == GREETING
        assert sock.recv(12, socket.MSG_WAITALL)[-3:] == b"now"
        sock.close()
