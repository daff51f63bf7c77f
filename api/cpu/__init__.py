"""tt.cpu: the functions of the device type "cpu" (`tt.core.devices.device_module` describes them)."""

from typing import Any

from tt.core.devices.device_module import FUNCTIONS, DeviceModule
from tt.cpu._capabilities import get_capabilities as get_capabilities

__all__ = [*FUNCTIONS, "get_capabilities"]

_module = DeviceModule("cpu")


def __getattr__(name: str) -> Any:
    return getattr(_module, name)
