"""Tensors sent to processes: values, sharing and refusals, for every start method and sharing strategy."""

from __future__ import annotations

import errno
import gc
import multiprocessing
import os
import pickle
import resource
import weakref
from queue import Full
from typing import ClassVar

import numpy as np
import pytest

import tt
import tt.multiprocessing as mp
from tests.api.multiprocessing import processes
from tests.api.multiprocessing.processes import nothing_left
from tt.backends.array_api import ArrayApiBackend
from tt.core.library import REGISTRY
from tt.core.tensor import sharing

STRATEGIES = sorted(mp.get_all_sharing_strategies())


@pytest.fixture(params=STRATEGIES)
def strategy(request):
    before = mp.get_sharing_strategy()
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy(before)


def passed(value):
    """Send through a pipe of this process."""
    reader, writer = mp.Pipe(duplex=False)
    writer.send(value)
    found = reader.recv()
    reader.close()
    writer.close()
    return found


@pytest.mark.parametrize(
    "method",
    [
        "fork",
        pytest.param("spawn", marks=pytest.mark.exhaustive),
        pytest.param("forkserver", marks=pytest.mark.exhaustive),
    ],
)
def test_changes_are_seen_on_both_sides_and_views_stay_views(strategy, method):
    if method == "fork":
        with nothing_left():
            exchange(method)
    else:
        exchange(method)


def exchange(method):
    context = mp.get_context(method)
    inbox, outbox = context.SimpleQueue(), context.SimpleQueue()
    process = context.Process(target=processes.change, args=(inbox, outbox), daemon=True)
    process.start()
    x = tt.zeros(3, 2000)
    inbox.put((x, x[1]))
    back, row = outbox.get()
    process.join()
    assert process.exitcode == 0
    assert x[0, 0] == 1 and (x[1] == 7).all()
    assert back.untyped_storage() is x.untyped_storage() is row.untyped_storage()
    x[1, 0] = 5
    assert row[0] == 5
    inbox.close()
    outbox.close()


def test_memory_is_moved_once_and_all_its_tensors_with_it(strategy):
    x = tt.arange(6.0).reshape(2, 3)
    row, same, data, turned, array = x[1], x.detach(), x.data, x.t(), x.numpy()
    first = passed(x)
    address = x.data_ptr()
    second = passed(row)
    assert x.data_ptr() == address
    assert second.untyped_storage() is x.untyped_storage() is first.untyped_storage()
    x[1, 0] = 50
    assert row[0] == same[1, 0] == data[1, 0] == turned[0, 1] == first[1, 0] == second[0] == 50
    assert turned.stride() == (1, 3) and second.storage_offset() == 3
    assert array[1, 0] == 3, "arrays of NumPy stay where they were"


@pytest.mark.parametrize(
    "make",
    [
        lambda: tt.zeros(0),
        lambda: tt.zeros(3, 0, 2),
        lambda: tt.tensor(3.5),
        lambda: tt.arange(10)[3:8:2],
        lambda: tt.ones(2, 3, dtype=tt.bfloat16).t(),
        lambda: tt.ones(1, 3).expand(4, 3),
        lambda: tt.tensor([True, False]),
        lambda: tt.tensor([1 + 2j]),
        lambda: tt.zeros(3, device="meta"),
    ],
)
def test_tensors_arrive_as_they_were(strategy, make):
    x = make()
    found = passed(x)
    assert (found.dtype, found.shape, found.stride(), found.device) == (
        x.dtype,
        x.shape,
        x.stride(),
        x.device,
    )
    if x.device.type != "meta":
        assert tt.equal(found, x) and found.is_shared() and x.is_shared()


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_sparse_tensors_share_their_parts(strategy, layout):
    x = tt.eye(4)
    x = x.to_sparse() if layout == "coo" else x.to_sparse_csr()
    found = passed(x)
    assert found.layout is x.layout and tt.equal(found.to_dense(), tt.eye(4))
    assert x.is_shared() and found.is_shared()
    found.values()[0] = 9
    assert x.to_dense()[0, 0] == 9


def test_leaves_and_parameters_keep_requires_grad_and_travel_without_gradient():
    leaf, parameter = tt.ones(3, requires_grad=True), tt.nn.Parameter(tt.ones(2), requires_grad=False)
    leaf.sum().backward()
    found, other = passed((leaf, parameter))
    assert found.requires_grad and found.is_leaf and found.grad is None
    assert type(other) is tt.nn.Parameter and not other.requires_grad
    assert passed(tt.nn.Parameter(tt.ones(1))).requires_grad


def test_a_tensor_with_a_history_is_refused():
    result = tt.ones(3, requires_grad=True) * 2
    for send in (passed, mp.get_context("fork").Queue().put):
        with pytest.raises(RuntimeError, match=r"non-leaf tensor which requires_grad(.|\n)*detach\(\)"):
            send(result)
    assert tt.equal(passed(result.detach()), result)


class Image(tt.Tensor):
    pass


def test_subclasses_share_and_keep_their_attributes():
    x = tt.ones(3).as_subclass(Image)
    x.title = "a"
    found = passed(x)
    assert type(found) is Image and found.title == "a"
    found[0] = 4
    assert x[0] == 4


def test_a_module_is_shared_with_its_gradients_and_buffers(strategy):
    model = tt.nn.Sequential(tt.nn.Linear(3, 4), tt.nn.BatchNorm1d(4))
    model(tt.ones(2, 3)).sum().backward()
    weight = model[0].weight
    assert model.share_memory() is model
    assert model[0].weight is weight
    for each in (*model.parameters(), *model.buffers(), *(p.grad for p in model.parameters())):
        assert each.is_shared()
    other = passed(model)
    with tt.no_grad():
        other[0].weight.fill_(3)
    assert (weight == 3).all()
    model.zero_grad()
    assert (model(tt.ones(2, 3)).shape) == (2, 4)


def test_gradients_flow_after_memory_was_moved():
    x = tt.ones(3, requires_grad=True)
    y = x * x
    x.share_memory_()
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2] and x._version == 0


def test_storages_are_shared_and_dead_ones_forgotten(strategy):
    with nothing_left():
        x = tt.zeros(4)
        storage = x.untyped_storage()
        assert not storage.is_shared()
        assert storage.share_memory_() is storage and storage.is_shared() and x.is_shared()
        found = passed(storage)
        assert found is storage
        with pytest.warns(UserWarning, match="deprecated"):
            assert x.storage().share_memory_().is_shared()
        alive = weakref.ref(storage)
        del x, storage, found
        gc.collect()
        assert alive() is None


def test_the_queues_of_python_share_too(strategy):
    queue = multiprocessing.get_context("fork").SimpleQueue()
    queue.put(tt.zeros(3))  # starts the thread that hands out descriptors
    assert queue.get().is_shared()
    with nothing_left():
        x = tt.zeros(3)
        queue.put(x)
        found = queue.get()
        found[0] = 1
        assert x[0] == 1
        del x, found
    queue.close()


def test_what_was_never_received_leaves_nothing(strategy):
    with nothing_left():
        queue = mp.get_context("fork").Queue(maxsize=1)
        queue.put(tt.ones(3))
        with pytest.raises(Full):
            queue.put(tt.ones(3), block=False)
        queue.get()
        queue.close()
        queue.join_thread()
        with pytest.raises(RuntimeError):
            passed([tt.ones(3), tt.ones(3, requires_grad=True) * 2])


def test_plain_pickles_and_copies_of_shared_tensors_are_their_own():
    x = tt.arange(3).share_memory_()
    for copy in (pickle.loads(pickle.dumps(x)), x.clone(), x + 0):
        assert tt.equal(copy, x) and not copy.is_shared()


def test_sizes_that_the_system_refuses_are_a_clear_error(strategy):
    pid = os.fork()
    if not pid:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
            x = tt.arange(100_000)
            try:
                x.share_memory_()
            except tt.errors.SharedMemoryError as error:
                same = error.errno == errno.EFBIG and error.nbytes == 800_000 and "ulimit -f" in str(error)
                code = 0 if same and not x.is_shared() and x[7] == 7 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_full_file_system_is_a_clear_error(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    mp.set_sharing_strategy("file_system")
    try:
        with nothing_left(), pytest.raises(RuntimeError, match=r"800 bytes(.|\n)*/dev/shm is full"):
            tt.ones(100, dtype=tt.float64).share_memory_()
    finally:
        mp.set_sharing_strategy(STRATEGIES[0])


def test_too_many_open_files_are_a_clear_error():
    tensors = [tt.ones(3) for _ in range(200)]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 100, hard))
    try:
        with pytest.raises(RuntimeError, match=r"set_sharing_strategy\('file_system'\)"):
            for x in tensors:
                x.share_memory_()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_tensors_without_views_are_moved_without_a_search(monkeypatch):
    monkeypatch.setattr(sharing, "_found", None)
    assert tt.ones(3).share_memory_().is_shared()
    model = tt.nn.Linear(2, 2)
    model(tt.ones(2)).sum().backward()
    model.share_memory()
    base = tt.ones(3)
    with pytest.raises(TypeError, match="not callable"):
        base[1:].share_memory_()


def test_shared_memory_does_not_grow():
    x = tt.arange(6).share_memory_()
    with pytest.raises(RuntimeError, match="cannot grow, from 48 to 56 bytes"):
        x.resize_(7)
    assert x.resize_(2, 2).tolist() == [[0, 1], [2, 3]] and x.is_shared()
    assert tt.arange(2).resize_(4).shape == (4,)


def test_strategies_have_names():
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    with pytest.raises(AssertionError, match="invalid sharing strategy 'file'"):
        mp.set_sharing_strategy("file")


def test_memory_that_was_moved_away_from_views_that_the_collector_was_told_to_ignore():
    x = tt.arange(4)
    view = x[1:]
    gc.freeze()
    try:
        x.share_memory_()
    finally:
        gc.unfreeze()
    x[1] = 9
    assert view[0] == 9


# --- other devices ----------------------------------------------------------------------------------------------------


class Handing(ArrayApiBackend):
    """A device whose driver finds memory by a name."""

    driver: ClassVar = {}

    def share(self, handle):
        if not handle.size:
            return None
        self.driver["memory"] = handle
        return "memory", len(handle)

    def rebuild_shared(self, handed_over, device):
        name, length = handed_over
        found = self.driver[name]
        assert len(found) == length
        return found


@pytest.fixture
def own_device():
    tt.ones(1)
    backend = Handing(np, "handing", mutable=True, has_views=True)
    with REGISTRY.add_backend(backend), REGISTRY.add(backend.kernels()):
        yield backend


def test_a_device_hands_over_its_memory(own_device):
    x = tt.ones(3, device="handing")
    found = passed(x)
    assert found.device == x.device and found.is_shared()
    assert tt.library.handle_of(found) is tt.library.handle_of(x)
    leaf = passed(tt.nn.Parameter(x))
    assert type(leaf) is tt.nn.Parameter and leaf.requires_grad


def test_what_a_device_does_not_hand_over_is_copied(own_device):
    x = tt.zeros(0, 2, device="handing")
    found = passed(x)
    assert found.device == x.device and found.shape == x.shape
