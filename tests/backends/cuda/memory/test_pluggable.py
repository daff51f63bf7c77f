"""Allocators of other libraries, of Python functions and of shared libraries."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import pytest

import tt
from tt.errors import ArgumentError, DeviceError, ValueRangeError


def test_memory_is_lent_to_other_libraries(cuda):
    pointer = tt.cuda.caching_allocator_alloc(1000, 1)
    assert tt.cuda.memory_allocated(1) == 1024 and cuda.driver.segment(pointer)[2] == 1
    other = tt.cuda.caching_allocator_alloc(8, stream=tt.cuda.Stream())
    tt.cuda.caching_allocator_delete(pointer)
    tt.cuda.caching_allocator_delete(other)
    assert tt.cuda.memory_allocated(1) == tt.cuda.memory_allocated(0) == 0
    with pytest.raises(ValueRangeError, match="is not an address that caching_allocator_alloc returned"):
        tt.cuda.caching_allocator_delete(pointer)


def test_an_allocator_of_python_functions_serves_every_allocation(cuda):
    calls = []

    def alloc(size, device, stream):
        calls.append(("alloc", size, device, stream))
        return cuda.driver.malloc(size, device)

    def free(ptr, size, device, stream):
        calls.append(("free", size, device, stream))
        cuda.driver.free(ptr)

    tt.cuda.memory.change_current_allocator(tt.cuda.CUDAPluggableAllocator.from_functions(alloc, free))
    x = tt.ones(100, device="cuda:1")
    assert tt.cuda.get_allocator_backend() == "pluggable" and tt.cuda.memory_allocated(1) == 400
    assert ("alloc", 400, 1, 0) in calls
    del x
    assert calls[-1] == ("free", 400, 1, 0) and cuda.driver.used == [0, 0]
    with pytest.raises(DeviceError, match="was used already"):
        tt.cuda.change_current_allocator(tt.cuda.CUDAPluggableAllocator.from_functions(alloc, free))
    with pytest.raises(DeviceError, match="no pool to be limited"):
        tt.cuda.set_per_process_memory_fraction(0.5)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_an_allocator_of_a_shared_library_is_called_with_sizes_devices_and_streams(tmp_path):
    source, library = tmp_path / "a.c", tmp_path / "a.so"
    source.write_text(
        "#include <stdlib.h>\n#include <sys/types.h>\nlong sum;\n"
        "void* take(ssize_t size, int device, void* stream) {\n"
        "    sum += size + device + (long)stream;\n    return malloc(size);\n}\n"
        "void give(void* p, ssize_t size, int device, void* stream) { sum -= size; free(p); }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    allocator = tt.cuda.CUDAPluggableAllocator(str(library), "take", "give")
    total = ctypes.c_long.in_dll(ctypes.CDLL(str(library)), "sum")
    pointer = allocator.alloc(100, 1, 5)
    assert pointer and total.value == 106
    allocator.free(pointer, 100, 1, 5)
    assert total.value == 6
    with pytest.raises(DeviceError, match="no_such_function"):
        tt.cuda.CUDAPluggableAllocator(str(library), "no_such_function", "give")
    with pytest.raises(DeviceError, match="CUDAPluggableAllocator"):
        tt.cuda.CUDAPluggableAllocator(str(tmp_path / "none.so"), "take", "give")
    with pytest.raises(ArgumentError, match="must be CUDAPluggableAllocator, not int"):
        tt.cuda.change_current_allocator(3)


def test_an_allocator_that_cupy_was_given_before_is_kept(cuda):
    asked = []
    pool = cuda.cupy.cuda.MemoryPool()

    def theirs(size):
        asked.append(size)
        return pool.malloc(size)

    cuda.cupy.cuda.set_allocator(theirs)
    x = tt.ones(10, device="cuda")
    assert asked and tt.cuda.memory_allocated() == 512 and tt.cuda.memory_reserved() == 0 and x.numel() == 10


def test_without_a_device_memory_is_empty_and_work_is_refused(monkeypatch):
    backend = tt.core.library.REGISTRY.backend("cuda")
    monkeypatch.setattr(backend, "available", lambda: "there is none")
    assert not tt.cuda.is_available() and tt.cuda.device_count() == 0 and not tt.cuda.is_initialized()
    assert tt.cuda.memory_allocated() == tt.cuda.max_memory_reserved() == 0
    assert tt.cuda.memory_stats() == {} and tt.cuda.memory_snapshot() == []
    tt.cuda.empty_cache()
    assert not tt.cuda.is_current_stream_capturing() and not tt.ones(2).is_pinned()
    for function in (tt.cuda.synchronize, tt.cuda.current_stream, tt.cuda.mem_get_info, tt.cuda.init,
                     tt.cuda.memory._snapshot, tt.cuda.Stream, lambda: tt.cuda.nvtx.range_push("x"),
                     lambda: tt.cuda.CUDAGraph().capture_begin()):  # fmt: skip
        with pytest.raises(DeviceError, match="device 'cuda' is not available: there is none"):
            function()
