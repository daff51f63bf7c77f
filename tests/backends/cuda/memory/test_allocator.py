"""Memory of CUDA devices on the fake CuPy: allocations, counts, releases and refusals."""

from __future__ import annotations

import gc
from functools import partial

import numpy as np
import pytest

import tt
from tests.backends.cuda.devices import fake_cuda
from tests.threads import in_threads
from tt.errors import ArgumentError, DeviceError, OutOfMemoryError, ValueRangeError


def test_tensors_and_results_are_counted_to_the_byte(cuda):
    assert (tt.cuda.memory_allocated(), tt.cuda.memory_reserved(), tt.cuda.is_initialized()) == (0, 0, False)
    x = tt.ones(300, device="cuda")
    assert tt.cuda.memory_allocated() == 1536 and tt.cuda.is_initialized()
    y = x * 2 + 1
    assert tt.cuda.memory_allocated() == 3072
    tt.cuda.reset_peak_memory_stats()
    del_soon = [tt.empty(1000, device="cuda") for _ in range(3)]
    del del_soon[:]
    assert tt.cuda.memory_allocated() == 3072 and tt.cuda.max_memory_allocated() == 3072 + 3 * 4096
    view = y[10:20]
    del y
    assert tt.cuda.memory_allocated() == 3072, "a view keeps the memory of its base"
    del view, x
    gc.collect()
    stats = tt.cuda.memory_stats()
    assert stats["allocated_bytes.all.current"] == stats["requested_bytes.all.current"] == 0
    assert stats["requested_bytes.all.allocated"] == stats["requested_bytes.all.freed"]
    assert tt.cuda.memory_reserved() == cuda.driver.used[0] == tt.cuda.max_memory_reserved() > 0
    tt.cuda.empty_cache()
    assert tt.cuda.memory_reserved() == cuda.driver.used[0] == 0
    tt.cuda.reset_peak_memory_stats()
    assert tt.cuda.max_memory_allocated() == tt.cuda.max_memory_reserved() == 0


def test_arrays_that_others_make_with_cupy_are_counted_too(cuda):
    tt.ones(1, device="cuda")
    before = tt.cuda.memory_allocated()
    theirs = cuda.cupy.zeros((1000,), np.float64)
    assert tt.cuda.memory_allocated() - before == 8192
    shared = tt.from_dlpack(theirs)
    del theirs
    assert shared.sum().item() == 0 and tt.cuda.memory_allocated() - before >= 8192


def test_each_device_has_an_account_of_its_own(cuda):
    x = tt.ones(100, device="cuda:1")
    assert (tt.cuda.memory_allocated(0), tt.cuda.memory_allocated("cuda:1")) == (0, 512)
    assert tt.cuda.mem_get_info(1) == (cuda.driver.memory - 512, cuda.driver.memory)
    assert [segment["device"] for segment in tt.cuda.memory_snapshot()] == [1]
    assert x.device.index == 1 and tt.cuda.memory_stats_as_nested_dict(1)["allocation"]["all"]["current"] == 1


def test_a_summary_is_a_table(cuda):
    x = tt.ones(1024, device="cuda")
    lines = tt.cuda.memory_summary().splitlines()
    assert lines[0] == "memory of cuda:0" and lines[1].split() == ["now", "largest", "in", "all", "freed"]
    assert lines[2].startswith("Allocated memory    4.00 KiB") and lines[-2] == "Out of memory: 0"
    assert "Allocations" not in tt.cuda.memory_summary(abbreviated=True) and x.numel() == 1024


# --- too little memory -----------------------------------------------------------------------------------------


def test_memory_that_is_cached_is_given_up_before_an_error():
    with fake_cuda(memory=8192):
        big = tt.empty(1024, device="cuda")  # 4 KiB
        del big
        pieces = [tt.empty(256, device="cuda") for _ in range(8)]
        assert tt.cuda.memory_allocated() == 8192
        with pytest.raises(OutOfMemoryError) as caught:
            tt.empty(512, device="cuda")
        error = caught.value
        assert (error.device, error.asked, error.allocated, error.reserved) == ("cuda:0", 2048, 8192, 8192)
        assert (error.free, error.total, error.limit) == (0, 8192, None)
        assert "has no 2.00 KiB more" in str(error) and isinstance(error, MemoryError | RuntimeError)
        stats = tt.cuda.memory_stats()
        assert (stats["num_alloc_retries"], stats["num_ooms"]) == (1, 1)
        pieces.clear()
        assert tt.empty(2048, device="cuda").numel() == 2048


def test_garbage_is_collected_before_an_error():
    with fake_cuda(memory=8192):
        holder = [tt.empty(1024, device="cuda"), None]
        holder[1] = holder  # only the collector frees it
        del holder
        gc.disable()
        try:
            assert tt.empty(1500, device="cuda").numel() == 1500
        finally:
            gc.enable()
        assert tt.cuda.memory_stats()["num_ooms"] == 0
    assert tt.OutOfMemoryError is tt.cuda.OutOfMemoryError is OutOfMemoryError


def test_a_limit_is_a_fraction_of_the_device(cuda):
    tt.cuda.set_per_process_memory_fraction(0.25)
    assert tt.cuda.get_per_process_memory_fraction() == 0.25
    with pytest.raises(OutOfMemoryError, match=r"limit: 16\.00 MiB, by set_per_process_memory_fraction"):
        tt.empty(5 << 20, device="cuda")
    assert tt.empty(5 << 20, device="cuda:1").numel() == 5 << 20
    tt.cuda.set_per_process_memory_fraction(1)
    assert tt.empty(5 << 20, device="cuda").numel() == 5 << 20
    tt.cuda.set_per_process_memory_fraction(0)
    tt.cuda.empty_cache()
    with pytest.raises(OutOfMemoryError):
        tt.empty(5 << 20, device="cuda")
    for wrong in (-0.1, 1.5):
        with pytest.raises(ValueRangeError, match="Allowed range: 0~1"):
            tt.cuda.set_per_process_memory_fraction(wrong)
    with pytest.raises(ArgumentError, match="must be float"):
        tt.cuda.set_per_process_memory_fraction("half")


# --- streams ---------------------------------------------------------------------------------------------------


def test_memory_waits_for_the_streams_that_were_named(cuda):
    side = tt.cuda.Stream()
    x = tt.ones(256, device="cuda")
    address = x.data_ptr()
    with cuda.driver.hold():
        with tt.cuda.stream(side):
            y = x + 1
        x.record_stream(side)
        del x
        stats = tt.cuda.memory_stats()
        assert stats["active_bytes.all.current"] - stats["allocated_bytes.all.current"] == 1024
        assert [b["state"] for s in tt.cuda.memory_snapshot() for b in s["blocks"]].count(
            "active_awaiting_free"
        ) == 1
        others = [tt.empty(256, device="cuda") for _ in range(3)]
        assert address not in [other.data_ptr() for other in others], "the side stream still reads it"
        side.synchronize()
        others.append(tt.empty(256, device="cuda"))
    assert others[-1].data_ptr() == address
    assert tt.cuda.memory_stats()["active.all.current"] == tt.cuda.memory_stats()["allocation.all.current"]
    assert y.tolist() == [2.0] * 256


def test_the_stream_of_an_allocation_needs_no_name(cuda):
    x = tt.ones(256, device="cuda")
    address = x.data_ptr()
    with cuda.driver.hold():
        x.record_stream(tt.cuda.current_stream())
        del x
        assert tt.empty(256, device="cuda").data_ptr() == address
    with pytest.raises(DeviceError, match="a stream of cpu does not work on a tensor on cuda:0"):
        tt.ones(1, device="cuda").record_stream(tt.Stream("cpu"))
    tt.ones(1).record_stream(tt.Stream("cpu"))
    with pytest.raises(TypeError, match="argument 'stream' must be a Stream, not NoneType"):
        tt.ones(1).record_stream(None)


def test_an_allocation_that_finds_nothing_waits_for_streams():
    with fake_cuda(memory=8192) as cuda:
        side = tt.cuda.Stream()
        x = tt.empty(2048, device="cuda")
        with cuda.driver.hold():
            with tt.cuda.stream(side):
                cuda.driver.submit(side.native.ptr)
            x.record_stream(side)
            del x
            assert tt.empty(2048, device="cuda").numel() == 2048
        assert tt.cuda.memory_stats()["num_sync_all_streams"] == 1


def test_an_arena_belongs_to_a_stream(cuda):
    x = tt.empty(256, device="cuda")
    address = x.data_ptr()
    del x
    with tt.cuda.stream(tt.cuda.Stream()):
        assert tt.empty(256, device="cuda").data_ptr() != address
    assert tt.empty(256, device="cuda").data_ptr() == address


@pytest.mark.exhaustive
def test_threads_allocate_at_once(cuda):
    wrong = []

    def work(index):
        tt.cuda.set_device(index % 2)
        for n in range(60):
            x = tt.full((n + 1,), n, device="cuda", dtype=tt.int64)
            if x.device.index != index % 2 or x.tolist() != [n] * (n + 1):
                wrong.append((index, n))

    in_threads(*[partial(work, index) for index in range(4)])
    gc.collect()
    assert not wrong
    assert tt.cuda.memory_allocated(0) == tt.cuda.memory_allocated(1) == 0
    assert tt.cuda.current_device() == 0, "the current device is a thread's own"
