"""tt.cuda: NVIDIA GPUs.  Importing it loads neither the driver nor CuPy."""

from __future__ import annotations

from tt.backends.cuda.interface import (
    current_device,
    device_count,
    get_device_name,
    is_available,
    set_device,
    synchronize,
)

__all__ = ["current_device", "device_count", "get_device_name", "is_available", "set_device", "synchronize"]
