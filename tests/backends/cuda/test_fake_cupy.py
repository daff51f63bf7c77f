"""The fake CuPy: all its names are in the real one; and its pool, streams and graphs behave as CuPy's do."""

from __future__ import annotations

import gc
import inspect

import numpy as np
import pytest

from tests.backends.cuda.fake_cupy import CUDARuntimeError, Driver, FakeCupy, OutOfMemoryError


@pytest.fixture
def cupy():
    return FakeCupy()


class Foreign:
    """A stream of another library."""

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.pointer


def words(thing) -> str:
    """Return the signature of a compiled function, which Cython writes in the first line of its documentation."""
    return (thing.__doc__ or "").strip().partition("\n")[0]


@pytest.mark.cupy
def test_every_name_of_the_fake_is_one_of_cupy(cupy):
    real = pytest.importorskip("cupy", reason="CuPy is not installed")
    for name in vars(cupy.cuda):
        if name != "BaseMemory":
            assert hasattr(real.cuda, name), name
    assert hasattr(real.cuda.memory, "BaseMemory")
    stream = real.cuda.Stream.from_external(Foreign(16))
    assert stream.ptr == 16 and isinstance(stream.device_id, int)
    for name in vars(cupy.cuda.runtime):
        assert hasattr(real.cuda.runtime, name), name
    for name in vars(cupy.cuda.nvtx):
        assert hasattr(real.cuda.nvtx, name), name
    for name in ("Device", "Stream", "Event", "Graph"):
        fake = getattr(cupy.cuda, name)
        for member in {m for base in fake.__mro__[:-1] for m in vars(base)}:
            if not member.startswith("_") and member not in ("ptr", "device_id"):
                assert hasattr(getattr(real.cuda, name), member), f"{name}.{member}"
    for member in vars(type(cupy.get_default_memory_pool())):
        assert member.startswith("_") or hasattr(real.cuda.MemoryPool, member), member


@pytest.mark.cupy
def test_every_parameter_of_the_fake_is_one_of_cupy(cupy):
    real = pytest.importorskip("cupy", reason="CuPy is not installed")
    pairs = [
        (cupy.cuda.Stream.__init__, real.cuda.Stream.__init__),
        (cupy.cuda.Event.__init__, real.cuda.Event.__init__),
        (cupy.cuda.Stream.begin_capture, real.cuda.Stream.begin_capture),
        (cupy.cuda.Stream.record, real.cuda.Stream.record),
        (cupy.cuda.Stream.launch_host_func, real.cuda.Stream.launch_host_func),
        (cupy.cuda.Graph.launch, real.cuda.Graph.launch),
        (cupy.get_default_memory_pool().set_limit, real.cuda.MemoryPool.set_limit),
        (cupy.get_default_memory_pool().free_all_blocks, real.cuda.MemoryPool.free_all_blocks),
        (cupy.cuda.nvtx.RangePush, real.cuda.nvtx.RangePush),
        (cupy.asnumpy, real.asnumpy),
        (cupy.asarray, real.asarray),
        (cupy.array, real.array),
    ]
    for fake, genuine in pairs:
        try:
            known = set(inspect.signature(genuine).parameters)
        except ValueError:
            known = set()
        line = words(genuine)
        for name in inspect.signature(fake).parameters:
            assert name == "self" or name in known or name in line, (name, line)


def test_results_lie_in_the_pool_and_views_share_memory(cupy):
    a = cupy.asarray(np.arange(6.0).reshape(2, 3))
    pool = cupy.get_default_memory_pool()
    assert (pool.used_bytes(), pool.total_bytes()) == (512, 512)
    b = a + 1
    row = a[1]
    assert pool.used_bytes() == 1024 and row.data.mem is a.data.mem and row.data.ptr - a.data.ptr == 24
    np.testing.assert_array_equal(b.get(), np.arange(6.0).reshape(2, 3) + 1)
    del a, b
    gc.collect()
    assert pool.used_bytes() == 512, "the view keeps its memory"
    row[...] = 7
    np.testing.assert_array_equal(row.get(), [7.0] * 3)
    with pytest.raises(TypeError, match="Unsupported type"):
        cupy.add(row, np.ones(3))


def test_a_pool_splits_joins_and_keeps_an_arena_a_stream(cupy):
    pool = cupy.get_default_memory_pool()
    first = pool.malloc(2000)
    address = first.ptr
    assert first.mem.size == 2048
    del first
    parts = [pool.malloc(512) for _ in range(4)]
    assert [part.ptr - address for part in parts] == [0, 512, 1024, 1536]
    parts.clear()
    assert pool.malloc(2048).ptr == address
    with cupy.cuda.Stream(non_blocking=True):
        assert pool.malloc(2048).ptr != address
    pool.free_all_blocks()
    assert pool.total_bytes() == 0 and cupy._driver.used == [0, 0]


def test_a_pool_that_cannot_grow_says_so():
    cupy = FakeCupy(Driver(memory=4096))
    pool = cupy.get_default_memory_pool()
    kept = pool.malloc(2048)
    pool.malloc(1024)  # given back at once, and given up when more is needed
    assert pool.malloc(2048).mem.size == 2048
    with pytest.raises(OutOfMemoryError, match="allocating 2,560 bytes"):
        pool.malloc(2560)
    pool.set_limit(size=2048)
    pool.free_all_blocks()
    with pytest.raises(OutOfMemoryError, match="limit set to: 2,048"):
        pool.malloc(1024)
    assert kept.ptr


def test_work_that_is_held_is_done_when_it_is_waited_for(cupy):
    driver = cupy._driver
    side = cupy.cuda.Stream(non_blocking=True)
    a = cupy.asarray(np.arange(4))
    out = np.zeros(4, int)
    with driver.hold(), side:
        a.get(stream=side, out=out, blocking=False)
        event = side.record()
    assert not event.done and not side.done and not out.any()
    cupy.cuda.Stream.null.wait_event(event)
    cupy.cuda.Stream.null.synchronize()
    assert event.done and out.tolist() == [0, 1, 2, 3]


def test_a_captured_graph_does_its_work_again(cupy):
    a = cupy.asarray(np.ones(3))
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        b = cupy.multiply(a, 2)
        b += 1
        with pytest.raises(RuntimeError, match="during stream capture"):
            cupy.matmul(a, a)
        graph = stream.end_capture()
        a[...] = 5
    graph.launch(stream)
    np.testing.assert_array_equal(b.get(), [11.0] * 3)
    with stream:
        stream.begin_capture()
        with pytest.raises(CUDARuntimeError, match="CaptureUnsupported"):
            stream.synchronize()
        with pytest.raises(CUDARuntimeError, match="Invalidated"):
            stream.end_capture()
