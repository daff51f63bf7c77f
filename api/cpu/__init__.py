"""tt.cpu: the functions of the device type "cpu" (`tt.core.devices.device_module` describes them)."""

from functools import partial

from tt.core.devices.device_module import FUNCTIONS, DeviceModule
from tt.core.lazy import attach

device_type = "cpu"

__all__ = attach(
    __name__,
    {partial(getattr, DeviceModule("cpu")): " ".join(FUNCTIONS), "tt.cpu._capabilities": "get_capabilities"},
    modules="amp",
)
