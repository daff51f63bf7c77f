"""Bytes for the server of a `TCPStore` and for its clients: honest clients are served, and nothing piles up."""

from __future__ import annotations

import random
from typing import Final

from tests.fuzz.drafts import Program

__all__ = ["program"]

FIELDS: Final = (
    "b''", "b'/a'", "b'/b'", "b'/honest'", "b'init/'", "b'5'", "b'-3'", "b'50'", "b'9' * 20", "b'9' * 21",
    "b'-' + b'9' * 19", "b'\\xff\\xfe'", "b'\\xd9\\xa3'", "b'1_0'", "b' 7 '", "b'1e3'", "b'many'", "b'x' * 3000",
    "b'9' * 5000", "b'\\0' * 40",
)  # fmt: skip
ACTIONS: Final = (
    "request", "request", "request", "request", "changed", "changed", "noise", "cut", "large", "close", "honest",
    "read",
)  # fmt: skip
SERVER: Final = """\
import contextlib, random, socket, time
from datetime import timedelta
import tt.distributed as dist
from tt.distributed.stores.wire import GREETING, SIZE, pack

def some(data, draw):
    data = bytearray(data)
    data[draw.randrange(len(data))] = draw.randrange(256)
    return bytes(data)

seconds = timedelta(seconds=8)
store = dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=seconds)
client = dist.TCPStore("127.0.0.1", store.port, timeout=seconds)
client.set("honest", "kept")
socks = []
try:
    for _ in range({count}):
        socks.append(socket.create_connection(("127.0.0.1", store.port), timeout=2))
        if {greets}:
            socks[-1].sendall(GREETING)
{steps}
    served = client.add("counter", 2)
    assert served == store.add("counter", 3) - 3, "a counter is wrong"
    client.set("last", b"\\0\\xff")
    assert store.get("last") == b"\\0\\xff", "another value"
    store.list_keys(), store.num_keys()
    server = store._server
    assert server._thread.is_alive(), "the server has ended"
    for sock in socks:
        sock.close()
    until = time.monotonic() + 8
    while len(server._connections) > 2 and time.monotonic() < until:
        time.sleep(0.002)
    assert len(server._connections) == 2, "connections are left"
    assert not server._table._waiting, "waits of clients that have gone are left"
    assert len(server._timers) < 200, "timers are left"
    kept = sum(len(value) for value in server._table.values.values()) + sum(map(len, server._table.queues.values()))
    assert kept < 3_000_000, "more is kept than was sent"
finally:
    for sock in socks:
        sock.close()
    client._close(), store._close()
"""
CLIENT: Final = """\
import contextlib, socket, threading
from datetime import timedelta
import tt.distributed as dist
from tests.fuzz.following import Steps
from tt.distributed.stores.wire import GREETING, pack

step = Steps()
listener = socket.create_server(("127.0.0.1", 0))
def serve(answers):
    sock, _ = listener.accept()
    with sock, contextlib.suppress(OSError):
        sock.settimeout(0.3)
        for answer in answers:
            sock.recv(1 << 16)
            sock.sendall(answer)
    listener.close()
thread = threading.Thread(target=serve, args=([{answers}],), daemon=True)
thread.start()
try:
    with step: store = dist.TCPStore("127.0.0.1", listener.getsockname()[1], timeout=timedelta(seconds=0.2))
{steps}
finally:
    thread.join(8)
"""
REQUESTS: Final = (
    "store.set('k', 'v')", "store.get('k')", "store.multi_get(['k', 'l'])", "store.multi_set(['k'], ['v'])",
    "store.add('k', 1)", "store.append('k', 'v')", "store.check(['k'])", "store.compare_set('k', 'a', 'b')",
    "store.delete_key('k')", "store.num_keys()", "store.list_keys()", "store.wait(['k'], timedelta(seconds=0.1))",
    "store.queue_push('k', 'v')", "store.queue_pop('k', False)", "store.queue_len('k')",
)  # fmt: skip


def program(
    seed: int,
    number: int,
    pattern: str = "*",
    dropped: frozenset[int] = frozenset(),
    excluded: frozenset[str] = frozenset(),
) -> Program:
    """Return a program with a server and its clients; `tests.fuzz.operators.program` explains the arguments."""
    chance = random.Random(f"{seed}/{number}")
    if chance.random() < 0.3:
        return _client(chance, dropped)
    count = chance.choice((1, 2, 4))
    parts, steps = [], []
    for index in range(chance.randrange(1, 9)):
        action, sock = chance.choice(ACTIONS), f"socks[{chance.randrange(count)}]"
        own, size = chance.getrandbits(32), chance.choice((1 << 25, 1 << 26, (1 << 26) + 1, 1 << 31))
        message = _message(chance)
        text = {
            "request": f"{sock}.sendall({message})",
            "changed": f"{sock}.sendall(some({message}, random.Random({own})))",
            "noise": f"{sock}.sendall(random.Random({own}).randbytes({chance.randrange(300)}))",
            "cut": f"{sock}.sendall({message}[: {chance.randrange(1, 12)}])",
            "large": f"{sock}.sendall(SIZE.pack({size}) + bytes(70000))",
            "close": f"{sock}.close()",
            "honest": "client.set('honest', 'kept')",
            "read": f"{sock}.settimeout(0.02), {sock}.recv(1 << 16)",
        }[action]
        parts.append(action)
        if index not in dropped and action not in excluded:
            steps.append(f"    with contextlib.suppress(OSError): {text}")
    greets = chance.random() < 0.9
    return Program(SERVER.format(count=count, greets=greets, steps="\n".join(steps)), tuple(parts), "store")


def _message(chance: random.Random) -> str:
    fields = chance.choices(FIELDS, k=chance.choice((0, 1, 2, 2, 2, 3, 4)))
    kind = chance.randrange(1, 17) if chance.random() < 0.95 else chance.choice((0, 17, 255))
    waiting = kind in (2, 8, 12, 16) and fields
    if waiting:  # how long to wait comes first
        fields[0] = chance.choice(("b'0'", "b'30'", "b'60000'", "b'9' * 20", "b'-1'", fields[0]))
    return f"pack({', '.join([str(kind), *fields])})"


def _client(chance: random.Random, dropped: frozenset[int]) -> Program:
    answers, steps, parts = ["GREETING"], [], []
    if chance.random() < 0.1:
        answers = [
            chance.choice(("b''", "GREETING[:3]", "b'HTTP/1.1 400 Bad Request'", "GREETING[:-1] + b'\\x09'"))
        ]
    answers.append("pack(0, b'1')")
    for index in range(chance.randrange(1, 4)):
        request = chance.choice(REQUESTS)
        fields = chance.choices(FIELDS, k=chance.choice((0, 1, 1, 1, 2, 3)))
        status = chance.choice((0, 0, 0, 0, 1, 2, 3, 4, 5, 200))
        answer = f"pack({', '.join([str(status), *fields])})"
        if chance.random() < 0.2:
            answer = chance.choice((
                f"{answer}[: {chance.randrange(1, 6)}]", f"{answer} + {answer}", "b'\\xff' * 9", "b'\\0' * 9",
                f"b'\\0\\0\\0\\x09' + bytes([0, 0, 0, 0, {chance.randrange(256)}, 1, 2, 3, 4])",
            ))  # fmt: skip
        parts.append(request)
        answers.append(answer)
        if index not in dropped:
            steps.append(f"    with step: {request}")
    return Program(
        CLIENT.format(answers=", ".join(answers), steps="\n".join(steps)), tuple(parts), "store client"
    )
