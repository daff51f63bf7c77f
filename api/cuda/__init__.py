"""tt.cuda: the functions of the device type "cuda" (see `tt.core.devices.device_module`), and what only CUDA has.

Importing it loads neither the driver nor CuPy.
"""

from typing import Any

from tt.core.devices.device_module import FUNCTIONS, DeviceModule
from tt.core.host.lazy_names import lazy_names

_SOURCES = {
    "OutOfMemoryError": "tt.core.errors",
    **dict.fromkeys(
        (
            "caching_allocator_alloc",
            "caching_allocator_delete",
            "get_stream_from_external",
            "get_sync_debug_mode",
            "ipc_collect",
            "is_bf16_supported",
            "is_tf32_supported",
            "set_sync_debug_mode",
        ),
        "tt.backends.cuda.runtime.interface",
    ),
    **dict.fromkeys(
        (
            "clock_rate",
            "device_memory_used",
            "list_gpu_processes",
            "memory_usage",
            "power_draw",
            "temperature",
            "utilization",
        ),
        "tt.backends.cuda.runtime.monitor",
    ),
    **dict.fromkeys(
        ("CUDAPluggableAllocator", "change_current_allocator", "get_allocator_backend"),
        "tt.backends.cuda.memory.pluggable",
    ),
    **dict.fromkeys(
        (
            "CUDAGraph",
            "graph",
            "graph_pool_handle",
            "is_current_stream_capturing",
        ),
        "tt.backends.cuda.runtime.graphs",
    ),
    **dict.fromkeys(
        ("BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor",
         "IntTensor", "LongTensor", "ShortTensor"),
        "tt.cuda._tensor_types",
    ),
    "make_graphed_callables": "tt.backends.cuda.runtime.graphed_callables",
}  # fmt: skip
_MODULES = ("amp", "comm", "graphs", "memory", "nvtx", "profiler", "random", "streams")

__all__ = sorted([*FUNCTIONS, *_SOURCES, *_MODULES, "default_generators"])

_module = DeviceModule("cuda")
_find, _ = lazy_names("tt.cuda", _SOURCES, modules=_MODULES)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name == "default_generators":  # one per device, whose number only CUDA reports
        from tt.backends.cuda.runtime.interface import default_generators

        return default_generators()
    return getattr(_module, name) if name in FUNCTIONS else _find(name)
