"""Queues, pipes and pools of each context, and Python's names."""

from __future__ import annotations

import multiprocessing
import queue as standard_queue
import threading
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import tt
import tt.multiprocessing as mp
from tests.api.multiprocessing import processes
from tests.api.multiprocessing.processes import nothing_left

FORK = mp.get_context("fork")


def test_all_names_of_python_are_here():
    for name in multiprocessing.__all__:
        assert hasattr(mp, name), name
    assert set(multiprocessing.__all__) <= set(mp.__all__)
    assert mp.Lock is multiprocessing.Lock and mp.Process is multiprocessing.Process


@pytest.mark.torch
def test_all_names_of_pytorch_are_here():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.multiprocessing")

    assert set(torch.multiprocessing.__all__) <= set(mp.__all__)
    for name in ("spawn", "start_processes", "ProcessContext", "SpawnContext", "init_reductions"):
        assert hasattr(torch.multiprocessing, name) and hasattr(mp, name)


def test_contexts_are_pythons_too():
    for method in multiprocessing.get_all_start_methods():
        context = mp.get_context(method)
        assert isinstance(context, multiprocessing.context.BaseContext)
        assert context.get_start_method() == method and context.get_context() is context
        assert context.get_context("spawn") is mp.get_context("spawn")
    with pytest.raises(ValueError, match="cannot find context"):
        mp.get_context("thread")


@pytest.mark.parametrize("kind", ["Queue", "SimpleQueue", "JoinableQueue"])
def test_messages_arrive_in_order_also_after_the_sender_has_ended(kind):
    with nothing_left():
        queue = getattr(FORK, kind)()
        items = [tt.full((10,), n) if n % 2 else n for n in range(20)]
        process = FORK.Process(target=processes.send_all, args=(queue, items), daemon=True)
        process.start()
        process.join()
        assert process.exitcode == 0
        found = [queue.get() for _ in items]
        assert [int(x[0]) if n % 2 else x for n, x in enumerate(found)] == list(range(20))
        queue.close()
        del found, items, process, queue


def test_a_queue_has_what_pythons_has():
    queue = FORK.Queue(maxsize=2)
    queue.put(1)
    queue.put(tt.ones(2), timeout=1)
    assert queue.full()
    with pytest.raises(standard_queue.Full):
        queue.put_nowait(3)
    assert queue.get(timeout=5) == 1 and tt.equal(queue.get(), tt.ones(2))
    with pytest.raises(standard_queue.Empty):
        queue.get(timeout=0.01)
    with pytest.raises(Exception, match="pickle"):
        queue.put(lambda: None)
    queue.close()
    queue.join_thread()


def test_what_changes_after_put_does_not_change_the_message():
    queue = FORK.Queue()
    items = [1]
    queue.put(items)
    items.append(2)
    assert queue.get() == [1]
    queue.close()


@pytest.mark.parametrize("size", [0, 1, 16_383, 16_384, 16_385, 1_000_000])
def test_bytes_of_all_lengths_arrive(size):
    reader, writer = mp.Pipe(duplex=False)
    sent = bytes(size)
    thread = threading.Thread(target=lambda: (writer.send_bytes(sent), writer.send(sent)))
    thread.start()
    assert reader.recv_bytes() == sent and reader.recv() == sent
    thread.join()


def test_a_pipe_sends_objects_bytes_and_many_tensors():
    with nothing_left():
        here, there = mp.Pipe()
        here.send_bytes(b"abc")
        assert there.recv_bytes() == b"abc"
        array = np.arange(100_000)
        thread = threading.Thread(target=there.send, args=([array, *[tt.ones(1) * n for n in range(300)]],))
        thread.start()
        found, *tensors = here.recv()
        thread.join()
        assert (found == array).all() and [int(x) for x in tensors] == list(range(300))
        there.close()
        with pytest.raises(EOFError):
            here.recv()
        here.close()
        with pytest.raises(OSError, match="closed"):
            here.send(1)
        del tensors
    reader, writer = mp.Pipe(duplex=False)
    with pytest.raises(OSError, match="read-only"):
        reader.send(1)
    with pytest.raises(OSError, match="write-only"):
        writer.recv()


def test_a_pool_sends_tensors_shared_and_survives_workers_that_end():
    with FORK.Pool(2, maxtasksperchild=1) as pool:
        found = pool.map(processes.square, [tt.full((3,), n) for n in range(4)], chunksize=1)
        assert [int(x[0]) for x in found] == [0, 1, 4, 9]
        assert all(x.is_shared() for x in found)
        with pytest.raises(RuntimeError, match="do not broadcast"):
            pool.apply(tt.add, (tt.ones(2), tt.ones(3)))
        pool.close()
        pool.join()
    assert isinstance(pool, multiprocessing.pool.Pool)


def test_executors_of_python_take_a_context():
    with ProcessPoolExecutor(1, mp_context=FORK) as executor:
        found = executor.submit(processes.square, tt.full((3,), 3)).result(timeout=60)
    assert found.tolist() == [9, 9, 9] and found.is_shared()


# --- a child that was forked -----------------------------------------------------------------------------------------


def child_of_fork(function, *args):
    reader, writer = mp.Pipe(duplex=False)
    process = FORK.Process(target=processes.in_child, args=(writer, function, *args), daemon=True)
    process.start()
    assert reader.poll(60), "the child does not answer"
    found = reader.recv()
    process.join()
    assert process.exitcode == 0
    return found


def test_native_threads_and_autograd_work_in_a_child():
    x = tt.randn(400, 500)
    threads = tt.get_num_threads()
    tt.set_num_threads(2)
    try:
        assert (x @ x.t()).sum().isfinite()  # starts the threads here
        assert tt.allclose(child_of_fork(processes.gradient_of, x), 2 * x)
    finally:
        tt.set_num_threads(threads)


def test_a_child_works_although_another_thread_computes_during_the_fork():
    stop = threading.Event()
    x = tt.randn(300, 300)

    def compute():
        while not stop.is_set():
            processes.gradient_of(x)

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        for _ in range(5):
            assert tt.allclose(child_of_fork(processes.gradient_of, x), 2 * x)
    finally:
        stop.set()
        thread.join()


def test_a_child_continues_the_generator_of_its_parent():
    tt.manual_seed(3)
    found = child_of_fork(tt.rand, 4)
    assert tt.equal(found, tt.rand(4)), "as in PyTorch: children that shall differ need seeds of their own"


def send_when_told(gate, writer, x):
    gate.recv()
    writer.send(x)


def test_memory_that_a_parent_gave_up_is_sent_on_by_its_child():
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy("file_system")
    try:
        reader, writer = mp.Pipe(duplex=False)
        gate, key = mp.Pipe(duplex=False)
        x = tt.ones(3).share_memory_()
        process = FORK.Process(target=send_when_told, args=(gate, writer, x), daemon=True)
        process.start()
        with nothing_left():
            del x
        key.send(1)
        assert reader.recv().tolist() == [1, 1, 1]
        process.join()
    finally:
        mp.set_sharing_strategy(before)
