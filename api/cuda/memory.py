"""tt.cuda.memory: the memory of CUDA devices: its account, recordings, pictures, and other allocators."""

from typing import Any

from tt.backends.cuda.memory.memory_snapshot import (
    _dump_snapshot,
    _record_memory_history,
    _snapshot,
    memory_picture,
)
from tt.backends.cuda.memory.pluggable import (
    CUDAPluggableAllocator,
    change_current_allocator,
    get_allocator_backend,
)
from tt.backends.cuda.runtime.interface import caching_allocator_alloc, caching_allocator_delete
from tt.backends.cuda.runtime.monitor import list_gpu_processes

_SHARED = (
    "empty_cache",
    "get_per_process_memory_fraction",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
)

__all__ = [
    "CUDAPluggableAllocator",
    "_dump_snapshot",
    "_record_memory_history",
    "_snapshot",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "change_current_allocator",
    "get_allocator_backend",
    "list_gpu_processes",
    "memory_picture",
    *_SHARED,
]


def __getattr__(name: str) -> Any:
    import tt.cuda

    if name not in _SHARED:
        raise AttributeError(f"module 'tt.cuda.memory' has no attribute {name!r}")
    return getattr(tt.cuda, name)
