from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest

import tt.distributed as dist
from tt.distributed.stores.wire import GREETING, Status, pack

SECONDS = timedelta(seconds=20)


@pytest.fixture
def server():
    return dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=SECONDS)


def test_clients_see_the_masters_keys(server):
    client = dist.TCPStore("127.0.0.1", server.port, timeout=SECONDS)
    server.set("k", b"\x00" * 1_000_000)
    assert client.get("k") == b"\x00" * 1_000_000
    assert (client.host, client.port) == ("127.0.0.1", server.port)
    assert client.timeout == SECONDS


def test_the_master_waits_for_its_world():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    stores = []

    def client():
        stores.append(dist.TCPStore("127.0.0.1", port, 2, timeout=SECONDS))

    thread = threading.Thread(target=client)  # it tries until the server is there
    thread.start()
    master = dist.TCPStore("127.0.0.1", port, 2, True, timeout=SECONDS)
    thread.join(20)
    stores[0].set("k", "v")
    assert master.get("k") == b"v"
    with pytest.raises(dist.DistStoreError, match=r"1 of 2 clients joined within 0\.05 s"):
        dist.TCPStore("127.0.0.1", 0, 2, True, timeout=timedelta(milliseconds=50))


def test_masters_of_one_process_share_a_port_if_they_are_told_to():
    first = dist.TCPStore("127.0.0.1", 0, is_master=True, multi_tenant=True)
    second = dist.TCPStore("127.0.0.1", first.port, is_master=True, multi_tenant=True)
    first.set("k", "v")
    port = first.port
    del first
    assert second.get("k") == b"v"
    with pytest.raises(dist.DistNetworkError, match=f"cannot listen on port {port}: Address already in use"):
        dist.TCPStore("127.0.0.1", port, is_master=True)
    del second
    assert dist.TCPStore("127.0.0.1", port, is_master=True, multi_tenant=True).list_keys() == []


def garbage():
    """Leave a master that only the collector of garbage will find."""
    cycle = [dist.TCPStore("127.0.0.1", 0, is_master=True)]
    cycle.append(cycle)
    return cycle[0].port


def test_a_master_may_be_collected_while_another_is_made_or_serves(monkeypatch):
    from tt.distributed.stores import server, tcp_store

    listen, connection = server.listen, server.Connection
    monkeypatch.setattr(tcp_store, "listen", lambda *args: (gc.collect(), listen(*args))[1])
    monkeypatch.setattr(server, "Connection", lambda sock: (gc.collect(), connection(sock))[1])
    gc.disable()
    try:
        for _ in range(3):
            port = garbage()
            store = dist.TCPStore("127.0.0.1", 0, is_master=True, multi_tenant=True)
            store.set("k", "v")
            assert port not in {one.port for one in server.SERVERS if not one.closing}
    finally:
        gc.enable()


def test_a_socket_that_listens_can_be_handed_over():
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    store = dist.TCPStore("127.0.0.1", port, is_master=True, master_listen_fd=listener.detach())
    assert store.port == port
    store.set("k", "v")
    assert dist.TCPStore("127.0.0.1", port).get("k") == b"v"


def test_no_server_is_an_error_that_names_host_and_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.raises(
        dist.DistNetworkError, match=rf"127\.0\.0\.1:{port} within 0\.1 s: Connection refused"
    ):
        dist.TCPStore("127.0.0.1", port, timeout=timedelta(milliseconds=100))


def test_wrong_ports_are_refused():
    with pytest.raises(ValueError, match="from 0 to 65535, got 70000"):
        dist.TCPStore("127.0.0.1", 70000)
    with pytest.raises(ValueError, match="only the master"):
        dist.TCPStore("127.0.0.1", 0)


SERVER = """
import sys, time, tt.distributed as dist
store = dist.TCPStore("127.0.0.1", 0, is_master=True)
print(store.port, flush=True)
time.sleep(60)
"""


@pytest.fixture
def other_process():
    """A process with a server; it ends with the test."""
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as process:
        process.port = int(process.stdout.readline())
        yield process
        process.kill()


def test_a_killed_server_ends_all_waits_at_once_and_later_requests_too(other_process):
    store = dist.TCPStore("127.0.0.1", other_process.port)
    port = store.port
    errors = []

    def wait():
        try:
            store.get("never")
        except dist.DistNetworkError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    other_process.kill()
    start = time.monotonic()
    for thread in threads:
        thread.join(10)
    with pytest.raises(dist.DistNetworkError, match=f"127.0.0.1:{port}"):
        store.get("k")
    assert time.monotonic() - start < 2
    assert len(errors) == 3
    assert all(f"lost the connection to the server at 127.0.0.1:{port}" in text for text in errors)


def test_a_stopped_server_is_an_error_after_the_timeout(other_process, monkeypatch):
    monkeypatch.setattr("tt.distributed.stores.tcp_store.GRACE", 0.2)
    store = dist.TCPStore("127.0.0.1", other_process.port)
    store.set_timeout(timedelta(milliseconds=100))
    other_process.send_signal(signal.SIGSTOP)
    os.waitpid(other_process.pid, os.WUNTRACED)
    with pytest.raises(dist.DistNetworkError, match=r"does not answer for 0\.3 s"):
        store.set("k", "v")


def test_a_forked_child_has_connections_of_its_own_and_does_not_serve(server):
    server.set("k", "v")
    child = os.fork()
    if not child:
        ok = server.get("k") == b"v"
        server.set("from the child", "1")
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert server.get("from the child") == b"1"


def test_a_server_of_another_protocol_is_recognised():
    listener = socket.create_server(("127.0.0.1", 0))

    def answer():
        connection, _ = listener.accept()
        with connection:
            connection.recv(100)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    threading.Thread(target=answer, daemon=True).start()
    with pytest.raises(
        dist.DistNetworkError, match=r"not a TCPStore of tt.distributed .PyTorch's has another"
    ):
        dist.TCPStore("127.0.0.1", listener.getsockname()[1], timeout=SECONDS)
    listener.close()


@pytest.fixture
def answering():
    """Serve one client that joins, with a given answer to what it asks then; return a store of it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threads = []

        def made(answer):
            def serve():
                sock, _ = listener.accept()
                with sock:
                    for message in (GREETING, pack(Status.OK, b"1"), answer):
                        sock.recv(1 << 16)
                        sock.sendall(message)
                    sock.recv(1)

            threads.append(threading.Thread(target=serve, daemon=True))
            threads[-1].start()
            return dist.TCPStore("127.0.0.1", listener.getsockname()[1], timeout=SECONDS)

        yield made


@pytest.mark.parametrize(
    ("answer", "request_", "why"),
    [
        (pack(77), lambda store: store.set("k", "v"), "an answer of the unknown kind 77"),
        (pack(Status.OK, b"x"), lambda store: store.set("k", "v"), "answered SET with 1 fields, not 0"),
        (pack(Status.OK), lambda store: store.get("k"), "answered GET with 0 fields, not 1"),
        (pack(Status.OK, b"1"), lambda store: store.multi_get(["k", "l"]), "answered GET with 1 fields, not 2"),
        (pack(Status.OK, b"many"), lambda store: store.add("k", 1), "answered ADD with b'many', which is no number"),
        (pack(Status.OK, b"9" * 5000), lambda store: store.num_keys(), "answered NUM_KEYS with b'9999999999"),
        (pack(Status.OK), lambda store: store.check(["k"]), "answered CHECK with 0 fields, not 1"),
        (pack(Status.REFUSED), lambda store: store.list_keys(), "answered LIST with 0 fields, not 1"),
        (pack(Status.WRONG_VALUE), lambda store: store.add("k", 1), "answered ADD with 0 fields, not 1"),
        (b"\0\0\0\0", lambda store: store.get("k"), "announces 0 bytes"),
        (b"\xff\xff\xff\xff", lambda store: store.get("k"), "announces 4,294,967,295 bytes"),
        (b"\0\0\0\5\0\0\0\0\7", lambda store: store.get("k"), "larger than its message"),
    ],
)  # fmt: skip
def test_a_server_that_answers_something_else_is_an_error(answering, answer, request_, why):
    store = answering(answer)
    with pytest.raises(dist.DistNetworkError, match=why):
        request_(store)


def test_an_error_that_is_no_text_is_shown_as_far_as_it_is_one(answering):
    store = answering(pack(Status.WRONG_VALUE, b"no number: \xff"))
    with pytest.raises(ValueError, match="no number: \ufffd"):
        store.add("k", 1)


@pytest.mark.torch
def test_pytorchs_server_and_tts_client_do_not_understand_each_other_and_say_so():
    reference = pytest.importorskip("torch.distributed")
    server = reference.TCPStore("127.0.0.1", 0, 1, True)
    with pytest.raises(dist.DistNetworkError, match=r"no store of tt.distributed|not a TCPStore of tt"):
        dist.TCPStore("127.0.0.1", server.port, timeout=timedelta(seconds=1))


OWNER = """
import os, sys, time, tt.distributed as dist
store = dist.TCPStore("127.0.0.1", int(sys.argv[1]))
store.leave_behind({"first": "1", "second": "earlier"})
store.leave_behind({"second": "2"})
store.set("ready", "1")
if sys.argv[2] == "forks" and os.fork() == 0:
    os.close(1)
    time.sleep(60)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("forks", ["alone", "forks"])
def test_what_a_process_leaves_behind_in_several_calls_appears_when_it_has_ended(server, forks):
    command = [sys.executable, "-c", OWNER, str(server.port), forks]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        assert not server.check(["first"]) and not server.check(["second"]), "its owner lives"
        child.kill()
        server.wait(["first", "second"], timedelta(seconds=5))
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
    assert server.multi_get(["first", "second"]) == [b"1", b"2"]


def test_keys_may_be_left_behind_by_several_threads_at_once(server):
    client = dist.TCPStore("127.0.0.1", server.port, timeout=SECONDS)
    threads = [threading.Thread(target=client.leave_behind, args=({f"left {i}": str(i)},)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    time.sleep(0.3)
    assert server.list_keys() == [], "the client is there"
    del client, threads, thread
    gc.collect()
    server.wait([f"left {i}" for i in range(4)], timedelta(seconds=5))
