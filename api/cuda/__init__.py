"""tt.cuda: the functions of the device type "cuda" (`tt.core.device_module` describes them).

Importing it loads neither the driver nor CuPy.
"""

from typing import Any

from tt.core.device_module import FUNCTIONS, DeviceModule

__all__ = list(FUNCTIONS)

_module = DeviceModule("cuda")


def __getattr__(name: str) -> Any:
    return getattr(_module, name)
