"""A double of NCCL's two bindings: it records calls, checks their arguments, and computes with NumPy.

Ranks are threads, and tensors lie in the memory of the fake CuPy, which the host can read.  A call waits for those of
the other ranks, as a kernel of NCCL does on a GPU; a rank that does not come makes it fail after a while.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["FakeNccl", "NcclError", "cupy_module", "nccl4py_core"]

DTYPES = {
    "INT8": (0, np.int8), "UINT8": (1, np.uint8), "INT32": (2, np.int32), "UINT32": (3, np.uint32),
    "INT64": (4, np.int64), "UINT64": (5, np.uint64), "FLOAT16": (6, np.float16), "FLOAT32": (7, np.float32),
    "FLOAT64": (8, np.float64), "BFLOAT16": (9, ml_dtypes.bfloat16),
}  # fmt: skip
OPERATIONS = {"SUM": 0, "PROD": 1, "MAX": 2, "MIN": 3, "AVG": 4}
NUMPY = {number: np.dtype(kind) for number, kind in DTYPES.values()}
PATIENCE = 10.0


class NcclError(Exception):
    """What the bindings raise."""


class Meeting:
    """The calls of one collective."""

    def __init__(self, size):
        self.parts = [None] * size
        self.barrier = threading.Barrier(size)


class Members:
    """What the ranks of one communicator share."""

    def __init__(self, size):
        self.size = size
        self.condition = threading.Condition()
        self.meetings = {}
        self.mail = {}
        self.splits = {}


class FakeNccl:
    """NCCL: its communicators by their names, and a record of all calls."""

    def __init__(self, driver=None):
        self.driver = driver  # of the fake CuPy, whose streams have what runs
        self.last = {}  # the thread that does a stream's last operation
        self.calls = []
        self.lock = threading.Lock()
        self.worlds = {}
        self.numbers = itertools.count()
        self.failing = None  # what an asynchronous error says
        self.refusing = None  # what a call raises

    def unique_id(self):
        return next(self.numbers).to_bytes(128, "big")

    def members(self, name, size):
        assert len(name) == 128
        with self.lock:
            found = self.worlds.setdefault(name, Members(size))
        assert found.size == size
        return found

    def record(self, *call):
        if self.refusing is not None:
            raise NcclError(self.refusing)
        with self.lock:
            self.calls.append(call)

    def launch(self, stream):
        """Count an operation among the work of a stream of the current device."""
        self.driver.submit(stream)

    def later(self, stream, piece):
        """Do something that may wait, and let the stream count as busy until then."""
        work = self.driver.work(stream)
        work.submitted += 1
        end = work.submitted
        before = self.last.get(stream)

        def run():
            if before is not None:
                before.join()
            piece()
            work.done = end

        self.last[stream] = threading.Thread(target=run, daemon=True)
        self.last[stream].start()

    def named(self, name):
        return [call for call in self.calls if call[0] == name]


class Communicator:
    """One rank's part of a communicator; addresses are those of host memory."""

    grouped = threading.local()

    def __init__(self, nccl, members, rank):
        self.nccl, self.members, self.rank = nccl, members, rank
        self.number = 0
        self.state = "there"
        self.meet("connect", None)

    def meet(self, what, part):
        """Return what all ranks have brought to this call, when all have come."""
        assert self.state == "there", f"{what} on a communicator that was ended"
        self.number += 1
        with self.members.condition:
            meeting = self.members.meetings.setdefault(self.number, Meeting(self.members.size))
        meeting.parts[self.rank] = (what, part)
        try:
            meeting.barrier.wait(PATIENCE)
        except threading.BrokenBarrierError:
            raise NcclError(f"{what}: not all ranks came") from None
        assert {each[0] for each in meeting.parts} == {what}
        parts = [each[1] for each in meeting.parts]
        return parts, meeting

    def collective(self, what, send, count, dtype, compute):
        """Bring an array, and write what `compute` makes of all ranks' where it returns something."""
        parts, meeting = self.meet(what, array(send, count, dtype).copy() if send else None)
        result = compute(parts)
        meeting.barrier.wait(PATIENCE)
        return result

    def combined(self, parts, op, factor=None):
        wide = np.stack(parts).astype(np.float64 if parts[0].dtype.kind in "fV" else parts[0].dtype)
        if factor is not None:
            wide = wide * factor
        if op == OPERATIONS["SUM"]:
            return wide.sum(0)
        if op == OPERATIONS["AVG"]:
            return wide.sum(0) / len(parts)
        return {1: np.prod, 2: np.max, 3: np.min}[op](wide, axis=0)

    def message(self, kind, address, count, dtype, peer, stream):
        queue = self.grouped.__dict__.setdefault("queue", None)
        if queue is None:
            self.nccl.later(stream, lambda: self.run([(kind, address, count, dtype, peer)]))
        else:
            queue.append((self, kind, address, count, dtype, peer))

    def run(self, messages):
        mail = self.members.mail
        with self.members.condition:
            for kind, address, count, dtype, peer in messages:
                if kind == "send":
                    box = mail.setdefault((self.rank, peer), [])
                    box.append(array(address, count, dtype).copy())
            self.members.condition.notify_all()
            for kind, address, count, dtype, peer in messages:
                if kind == "recv":
                    box = mail.setdefault((peer, self.rank), [])
                    if not self.members.condition.wait_for(lambda box=box: box, PATIENCE):
                        raise NcclError("recv: nothing came")
                    array(address, count, dtype)[...] = box.pop(0)


def array(address, count, dtype):
    """Return the memory at an address."""
    assert address and count
    kind = NUMPY[dtype]
    memory = (ctypes.c_uint8 * (count * kind.itemsize)).from_address(address)
    return np.frombuffer(memory, np.uint8).view(kind)


def start_group():
    assert Communicator.grouped.__dict__.get("queue") is None
    Communicator.grouped.queue = []


def end_group():
    queue, Communicator.grouped.queue = Communicator.grouped.queue, None
    if queue:
        queue[0][0].run([message[1:] for message in queue])


def cupy_module(nccl: FakeNccl) -> Any:
    """Return what `cupy_backends.cuda.libs.nccl` is in CuPy 14."""

    class NcclCommunicator:
        def __init__(self, size, name, rank, config=None, own=None):
            assert isinstance(name, bytes) or own
            nccl.record("connect", size, rank)
            self._own = own or Communicator(nccl, nccl.members(name, size), rank)

        def allReduce(self, send, recv, count, dtype, op, stream):  # noqa: N802
            nccl.record("all_reduce", count, dtype, op, stream)
            nccl.launch(stream)
            assert send == recv
            own = self._own
            found = own.collective("all_reduce", send, count, dtype, lambda parts: own.combined(parts, op))
            array(recv, count, dtype)[...] = found

        def reduce(self, send, recv, count, dtype, op, root, stream):
            nccl.record("reduce", count, dtype, op, root, stream)
            nccl.launch(stream)
            own = self._own
            found = own.collective("reduce", send, count, dtype, lambda parts: own.combined(parts, op))
            if own.rank == root:
                array(recv, count, dtype)[...] = found

        def reduceScatter(self, send, recv, count, dtype, op, stream):  # noqa: N802
            nccl.record("reduce_scatter", count, dtype, op, stream)
            nccl.launch(stream)
            own = self._own
            total = count * own.members.size
            found = own.collective(
                "reduce_scatter", send, total, dtype, lambda parts: own.combined(parts, op)
            )
            array(recv, count, dtype)[...] = found.reshape(-1, count)[own.rank]

        def broadcast(self, send, recv, count, dtype, root, stream):
            nccl.record("broadcast", count, dtype, root, stream)
            nccl.launch(stream)
            found = self._own.collective("broadcast", send, count, dtype, lambda parts: parts[root])
            array(recv, count, dtype)[...] = found

        def allGather(self, send, recv, count, dtype, stream):  # noqa: N802
            nccl.record("all_gather", count, dtype, stream)
            nccl.launch(stream)
            own = self._own
            found = own.collective("all_gather", send, count, dtype, np.concatenate)
            array(recv, count * own.members.size, dtype)[...] = found

        def send(self, address, count, dtype, peer, stream):
            nccl.record("send", count, dtype, peer, stream)
            self._own.message("send", address, count, dtype, peer, stream)

        def recv(self, address, count, dtype, peer, stream):
            nccl.record("recv", count, dtype, peer, stream)
            self._own.message("recv", address, count, dtype, peer, stream)

        def commSplit(self, colour, key, config=None):  # noqa: N802
            nccl.record("split", colour, key)
            own = self._own
            parts, meeting = own.meet("split", (colour, key))
            with own.members.condition:
                if own.rank == min(r for r, (c, _) in enumerate(parts) if c == 0):
                    meeting.made = Members(sum(c == 0 for c, _ in parts))
            meeting.barrier.wait(PATIENCE)
            if colour != 0:
                return object()
            return NcclCommunicator(meeting.made.size, None, key, own=Communicator(nccl, meeting.made, key))

        def check_async_error(self):
            if nccl.failing is not None:
                raise NcclError(nccl.failing)

        def abort(self):
            nccl.record("abort")
            self._own.state = "aborted"

        def destroy(self):
            nccl.record("destroy")
            self._own.state = "destroyed"

    return SimpleNamespace(
        NcclError=NcclError, NcclCommunicator=NcclCommunicator, get_unique_id=nccl.unique_id,
        groupStart=start_group, groupEnd=end_group,
        **{f"NCCL_{name}": number for name, (number, _) in DTYPES.items()},
        **{f"NCCL_{name}": number for name, number in OPERATIONS.items()},
    )  # fmt: skip


def nccl4py_core(nccl: FakeNccl) -> Any:
    """Return what `nccl.core` is in nccl4py, over the other double; buffers are objects."""
    cupy = cupy_module(nccl)

    def what(tensor):
        assert tensor.is_contiguous() and hasattr(tensor, "__dlpack__")
        name = str(tensor.dtype).rpartition(".")[2].upper()
        return tensor.data_ptr(), tensor.numel(), DTYPES[name][0]

    class UniqueId:
        def __init__(self, text):
            self.text = text

        def __bytes__(self):
            return self.text

        @staticmethod
        def from_bytes(text):
            return UniqueId(text)

    class Native:
        def __init__(self, own):
            self._own = own

        @classmethod
        def init(cls, size, rank, name, config=None):
            return cls(cupy.NcclCommunicator(size, bytes(name), rank))

        def allreduce(self, send, recv, op, *, stream=None):
            address, count, dtype = what(send)
            if isinstance(op, int):
                return self._own.allReduce(address, what(recv)[0], count, dtype, op, stream)
            nccl.record("all_reduce", count, dtype, "factor", stream)
            nccl.launch(stream)
            own = self._own._own
            found = own.collective(
                "all_reduce", address, count, dtype, lambda parts: own.combined(parts, 0, op.factor)
            )
            array(address, count, dtype)[...] = found

        def reduce(self, send, recv, op, *, root=None, stream=None):
            address, count, dtype = what(send)
            self._own.reduce(address, what(recv)[0], count, dtype, op, root, stream)

        def reduce_scatter(self, send, recv, op, *, stream=None):
            address, count, dtype = what(recv)
            self._own.reduceScatter(what(send)[0], address, count, dtype, op, stream)

        def broadcast(self, send, recv, root, *, stream=None):
            address, count, dtype = what(recv)
            self._own.broadcast(what(send)[0], address, count, dtype, root, stream)

        def allgather(self, send, recv, *, stream=None):
            address, count, dtype = what(send)
            self._own.allGather(address, what(recv)[0], count, dtype, stream)

        def send(self, tensor, peer, *, stream=None):
            self._own.send(*what(tensor), peer, stream)

        def recv(self, tensor, peer, *, stream=None):
            self._own.recv(*what(tensor), peer, stream)

        def split(self, colour, key):
            return Native(self._own.commSplit(colour, key))

        def create_pre_mul_sum(self, factor, dtype):
            nccl.record("factor", factor, dtype)
            return SimpleNamespace(factor=factor, close=lambda: nccl.record("close"))

        def get_async_error(self):
            return 0 if nccl.failing is None else 2

        def abort(self):
            self._own.abort()

        def destroy(self):
            self._own.destroy()

    @contextmanager
    def group():
        start_group()
        yield
        end_group()

    return SimpleNamespace(
        Communicator=Native, UniqueId=UniqueId, group=group,
        get_unique_id=lambda: UniqueId(nccl.unique_id()), get_error_string=lambda number: nccl.failing,
        **{name: number for name, (number, _) in DTYPES.items()}, **OPERATIONS,
    )  # fmt: skip
