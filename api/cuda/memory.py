"""tt.cuda.memory: the memory of CUDA devices: its account, recordings, pictures, and other allocators."""

from tt.core.lazy import attach

__all__ = attach(
    __name__,
    {
        "tt.cuda": (
            "empty_cache get_per_process_memory_fraction max_memory_allocated max_memory_reserved mem_get_info "
            "memory_allocated memory_reserved memory_snapshot memory_stats memory_stats_as_nested_dict memory_summary "
            "reset_accumulated_memory_stats reset_peak_memory_stats set_per_process_memory_fraction"
        ),
        "tt.backends.cuda.memory.memory_snapshot": (
            "_dump_snapshot _record_memory_history _snapshot memory_picture"
        ),
        "tt.backends.cuda.memory.pluggable": (
            "CUDAPluggableAllocator change_current_allocator get_allocator_backend"
        ),
        "tt.backends.cuda.runtime.interface": "caching_allocator_alloc caching_allocator_delete",
        "tt.backends.cuda.runtime.monitor": "list_gpu_processes",
    },
)
