"""Segments: arrival, sharing and its end, reuse of memory, and failures."""

from __future__ import annotations

import gc
import io
import os
from multiprocessing import Pipe

import numpy as np
import pytest

import tt
from tt.multiprocessing import segments
from tt.multiprocessing.segments import MOST_MAPPED, SMALL, Receiver, Sender

pytestmark = pytest.mark.skipif(not segments.SHARES, reason="this system passes no open files")


@pytest.fixture
def ends():
    here, there = Pipe()
    sender, receiver = Sender(here), Receiver(there)
    yield sender, receiver
    sender.close()
    receiver.close()


def passed(ends, value):
    sender, receiver = ends
    sender.recycle(*receiver.returned())
    sender.send(value)
    return receiver.receive()


def test_arrays_of_the_sender_are_shared_and_tensors_elsewhere_copied(ends):
    sender, receiver = ends
    room = sender.empty((SMALL,), np.dtype(np.uint8))
    room[:] = 1
    elsewhere = tt.zeros(3)
    sender.send((tt.from_numpy(room), elsewhere))
    shared, copy = receiver.receive()
    room[0] = 7
    elsewhere[0] = 7
    assert shared[0].item() == 7
    assert copy[0].item() == 0
    assert sender.empty((SMALL - 1,), np.dtype(np.uint8)) is None


@pytest.mark.parametrize("shape", [(), (3,), (5000,), (2, 3)])
def test_received_tensors_are_shared_and_have_storages_of_their_size(ends, shape):
    x, _ = passed(ends, (tt.ones(shape), tt.ones(7)))
    assert x.is_shared()
    assert x.untyped_storage().is_shared()
    assert x.untyped_storage().nbytes() == 4 * x.numel()
    file = io.BytesIO()
    tt.save(x, file)
    assert len(file.getvalue()) < 4 * x.numel() + 2000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_process_forked_from_the_receiver_shares_received_tensors(ends):
    x = passed(ends, tt.zeros(3))
    child = os.fork()
    if not child:
        x[1] = 5
        os._exit(0)
    os.waitpid(child, 0)
    assert x.tolist() == [0, 5, 0]
    assert x.share_memory_().is_shared()
    assert x.tolist() == [0, 5, 0]


def test_what_is_not_in_a_segment_is_written_there_once(ends):
    x = tt.arange(5000)
    first, second, view = passed(ends, [x, x, x[10:]])
    assert first is second
    assert (first == x).all()
    assert (view == x[10:]).all()


@pytest.mark.parametrize(
    "dtype", [tt.float32, tt.float64, tt.float16, tt.bfloat16, tt.bool, tt.int8, tt.complex64]
)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (70, 80), (2, 3, 40, 40)])
def test_tensors_of_every_shape(ends, shape, dtype):
    x = tt.ones(shape, dtype=dtype)
    y = passed(ends, x)
    assert (y.shape, y.dtype, y.stride()) == (x.shape, x.dtype, x.stride())
    assert (y == x).all()


def test_tensors_without_memory_of_the_cpu_are_pickled_as_ever(ends):
    sparse, meta = passed(ends, [tt.eye(3).to_sparse(), tt.ones(2, 3, device="meta")])
    assert sparse.to_dense().tolist() == tt.eye(3).tolist()
    assert (meta.device.type, meta.shape) == ("meta", (2, 3))


def test_memory_comes_back_with_the_last_view(ends):
    _, receiver = ends
    x = passed(ends, tt.ones(5000))
    view, array = x[10:], x.numpy()
    del x
    assert receiver.returned() == ([], [])
    del view
    gc.collect()
    assert receiver.returned() == ([], [])
    del array
    assert receiver.returned() == ([0], [])


def test_memory_is_used_again(ends):
    addresses = {passed(ends, tt.full((5000,), i)).data_ptr() for i in range(20)}
    assert len(addresses) <= 2


def test_a_sender_does_not_write_over_what_it_keeps(ends):
    sender, _ = ends
    kept = sender.empty((5000,), np.dtype(np.float64))
    kept[:] = 1
    assert passed(ends, kept).sum() == 5000
    for i in range(5):
        passed(ends, np.full(5000, 2.0 + i))
    assert (kept == 1).all()


def test_what_was_lent_during_a_fork_is_not_used_again(ends):
    _, receiver = ends
    x = passed(ends, tt.ones(5000))
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    del x
    assert receiver.returned() == ([], [0])
    x = passed(ends, tt.ones(5000))
    del x
    assert receiver.returned() == ([1], [])


def test_an_object_that_cannot_be_pickled_costs_no_memory(ends):
    sender, receiver = ends
    for _ in range(5):
        with pytest.raises(Exception, match="pickle"):
            sender.send([tt.ones(5000), lambda: None])
    assert (passed(ends, tt.ones(5000)) == 1).all()
    assert len(receiver._segments) == 1


def test_a_tensor_with_a_history_stays(ends):
    with pytest.raises(tt.errors.GradientError, match="not a leaf"):
        ends[0].send(tt.ones(3, requires_grad=True) * 2)


def test_the_end_of_a_connection(ends):
    sender, receiver = ends
    sender.close()
    with pytest.raises(EOFError):
        receiver.receive()


def test_received_tensors_outlive_their_connection():
    here, there = Pipe()
    sender, receiver = Sender(here), Receiver(there)
    sender.send(tt.ones(5000))
    x = receiver.receive()
    sender.close()
    receiver.close()
    del sender, receiver, here, there
    gc.collect()
    assert x.sum().item() == 5000


def test_no_file_stays_open(ends):
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    found = [passed(ends, tt.full((5000,), i)) for i in range(300)]
    assert [x[0].item() for x in found] == list(range(300))
    if before:
        assert len(os.listdir("/proc/self/fd")) == before
    assert len(found) < MOST_MAPPED


def test_memory_of_many_messages_is_given_back(ends, monkeypatch):
    monkeypatch.setattr(segments, "MOST_IDLE", 3)
    sender, receiver = ends
    kept = [passed(ends, np.full(5000, i)) for i in range(10)]
    assert [array[0] for array in kept] == list(range(10))
    kept.clear()
    free, dropped = receiver.returned()
    assert (len(free), len(dropped), len(receiver._segments)) == (3, 7, 3)
    sender.recycle(free, dropped)
    assert passed(ends, np.full(5000, 7))[0] == 7
    assert len(receiver._segments) == 3


def test_copies_stop_when_what_was_kept_is_gone(ends, monkeypatch):
    monkeypatch.setattr(segments, "MOST_MAPPED", 2)
    kept = [passed(ends, np.full(5000, i)) for i in range(6)]
    copies = [array.base is None or array.base.base is None for array in kept]
    assert copies.count(True) >= 3
    assert [array[0] for array in kept] == list(range(6))
    kept.clear()
    array = passed(ends, np.full(5000, 8))
    assert ends[1].returned() == ([], [])
    del array
    assert len(ends[1].returned()[0]) == 1


def test_many_segments_in_one_message(ends):
    arrays = [np.full(20_000, i) for i in range(300)]
    sender, receiver = ends
    assert all((array == i).all() for i, array in enumerate(passed(ends, arrays)))
    sender.recycle(*receiver.returned())


def test_a_pipe_that_was_collected_before_its_owner_closes_no_other_file():
    here, there = tt.multiprocessing.Pipe()
    descriptor = here.fileno()
    with open(os.devnull, encoding="utf-8") as file:
        here.__del__()  # as the garbage collector may do before it comes to the owner
        os.dup2(file.fileno(), descriptor)  # another file gets the number
    try:
        here.close()
        os.fstat(descriptor)
    finally:
        os.close(descriptor)
        there.close()
