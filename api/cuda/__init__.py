"""tt.cuda: the functions of the device type "cuda" (see `tt.core.devices.device_module`), and what only CUDA has.

Importing it loads neither the driver nor CuPy.
"""

from functools import partial

from tt.core.by_name import object_named
from tt.core.devices.device_module import FUNCTIONS, DeviceModule
from tt.core.lazy import attach

device_type = "cuda"

__all__ = attach(
    __name__,
    {
        partial(getattr, DeviceModule("cuda")): " ".join(FUNCTIONS),
        # One per device, whose number only CUDA reports.
        lambda name: object_named(f"tt.backends.cuda.runtime.interface:{name}")(): "default_generators",
        "tt.core.errors": "OutOfMemoryError",
        "tt.backends.cuda.runtime.interface": (
            "caching_allocator_alloc caching_allocator_delete get_stream_from_external get_sync_debug_mode ipc_collect "
            "is_bf16_supported is_tf32_supported set_sync_debug_mode"
        ),
        "tt.backends.cuda.runtime.monitor": (
            "clock_rate device_memory_used list_gpu_processes memory_usage power_draw temperature utilization"
        ),
        "tt.backends.cuda.memory.pluggable": (
            "CUDAPluggableAllocator change_current_allocator get_allocator_backend"
        ),
        "tt.backends.cuda.runtime.graphs": "CUDAGraph graph graph_pool_handle is_current_stream_capturing",
        "tt.backends.cuda.runtime.graphed_callables": "make_graphed_callables",
        lambda name: object_named("tt._compat.typed_tensors:of_device")("cuda")[name]: (
            "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor "
            "ShortTensor"
        ),
    },
    modules="amp comm graphs memory nvtx profiler random streams",
)
