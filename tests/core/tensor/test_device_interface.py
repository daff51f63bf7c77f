"""A backend is the device interface of its device."""

from __future__ import annotations

from tt.core.library import REGISTRY
from tt.core.tensor.device_interface import DeviceInterface


def test_a_backend_is_a_device_interface() -> None:
    assert isinstance(REGISTRY.backend("cpu"), DeviceInterface)
    assert isinstance(REGISTRY.backend("meta"), DeviceInterface)
