"""tt.accelerator: the accelerator of this machine, whichever plugin brings it."""

from tt.core.devices.accelerator import __all__ as __all__
from tt.core.devices.accelerator import (
    current_accelerator,
    current_device_idx,
    current_device_index,
    current_stream,
    device_count,
    device_index,
    empty_cache,
    get_device_capability,
    get_memory_info,
    is_available,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
    set_device_idx,
    set_device_index,
    set_stream,
    synchronize,
)
