"""Device modules, the accelerator, streams and events: on backends without any, and on one that overrides all."""

from __future__ import annotations

import pytest

import tt
from tt.core.devices.device_module import FUNCTIONS, DeviceModule
from tt.errors import DeviceError, UnknownNameError

# --- devices that override nothing -----------------------------------------------------------------------------


def test_the_cpu_answers_with_the_defaults() -> None:
    module = tt.get_device_module("cpu")
    assert module is tt.cpu
    assert (module.is_available(), module.device_count(), module.current_device()) == (True, 1, 0)
    module.synchronize()
    module.synchronize(0)
    module.set_device("cpu")
    with module.device(0):
        assert module.current_device() == 0
    assert module.get_device_name("cpu") == module.get_device_properties().name
    assert module.memory_allocated() <= module.memory_reserved() <= module.max_memory_reserved()
    module.empty_cache()
    module.reset_peak_memory_stats()
    module.reset_accumulated_memory_stats()
    with pytest.raises(DeviceError, match="the backend of device 'cpu' does not report its memory"):
        module.mem_get_info()


def test_a_module_has_every_name_and_no_other() -> None:
    assert sorted(tt.cpu.__all__) == sorted((*FUNCTIONS, "amp", "get_capabilities")) and set(FUNCTIONS) < set(
        tt.cuda.__all__
    )
    for name in FUNCTIONS:
        assert getattr(tt.cpu, name) is not None
    with pytest.raises(AttributeError):
        tt.cpu.is_bf16_supported  # noqa: B018 - what PyTorch's module has and this one lacks


def test_a_module_refuses_the_devices_of_others() -> None:
    with pytest.raises(DeviceError, match="Expected a cpu device, but got: meta"):
        tt.cpu.synchronize("meta")
    with pytest.raises(DeviceError, match="there is no device 'cpu:1'"):
        tt.cpu.set_device(1)
    with pytest.raises(UnknownNameError, match="gizmo"):
        tt.get_device_module("gizmo")


# --- a device that overrides everything ------------------------------------------------------------------------


def test_the_module_of_a_third_party_is_made_from_its_interface(gadget) -> None:
    module = tt.get_device_module("gadget")
    assert isinstance(module, DeviceModule) and module is tt.get_device_module(tt.device("gadget:1"))
    assert (module.device_count(), module.current_device()) == (3, 0)
    module.set_device(2)
    assert module.current_device() == 2
    module.synchronize()
    module.synchronize("gadget:1")
    assert gadget.log == ["synchronize gadget:2", "synchronize gadget:1"]
    assert module.get_device_name(1) == "A Gadget 3000"
    assert module.get_device_properties().details["cores"] == 4
    assert (module.memory_allocated(1), module.max_memory_allocated()) == (11, 20)
    assert (module.memory_reserved(), module.max_memory_reserved()) == (30, 40)
    assert module.mem_get_info() == (1, 100) and list(module.memory_stats()) == sorted(module.memory_stats())
