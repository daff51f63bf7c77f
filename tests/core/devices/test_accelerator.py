"""The accelerator that a plugin declares."""

from __future__ import annotations

import pytest

import tt
from tt.core.host.manifest import Manifest
from tt.errors import DeviceError, PluginError


def test_the_accelerator_is_what_a_plugin_declares(gadget, monkeypatch) -> None:
    with tt.device("gadget"):
        assert tt.accelerator.current_accelerator() == tt.device("gadget")
        assert tt.accelerator.is_available() and tt.accelerator.device_count() == 3
        with tt.accelerator.device_index(2), tt.accelerator.device_index(None):
            assert tt.accelerator.current_device_index() == 2
        tt.accelerator.set_device_index("gadget:1")
        assert tt.accelerator.current_device_index() == 1
        tt.accelerator.synchronize()
        tt.accelerator.synchronize(2)
        tt.accelerator.reset_peak_memory_stats()
        tt.accelerator.reset_accumulated_memory_stats("gadget:0")
        tt.accelerator.empty_cache()
        assert gadget.log == ["synchronize gadget:1", "synchronize gadget:2", "reset peak gadget:1",
                              "reset sums gadget:0", "empty cache"]  # fmt: skip
        assert (tt.accelerator.memory_allocated(), tt.accelerator.max_memory_allocated(2)) == (11, 20)
        assert (tt.accelerator.memory_reserved(), tt.accelerator.max_memory_reserved()) == (30, 40)
        assert tt.accelerator.get_memory_info() == (1, 100)
        capability = tt.accelerator.get_device_capability(2)
        assert {tt.float32, tt.int64} <= capability["supported_dtypes"] and tt.quint8 not in capability[
            "supported_dtypes"
        ]
        stream = tt.Stream()
        tt.accelerator.set_stream(stream)
        assert tt.accelerator.current_stream() == stream and stream.device == tt.device("gadget:1")
        assert tt.Stream(device=2).device == tt.device("gadget:2")
        with pytest.raises(DeviceError, match="cpu is not a device of the current accelerator, gadget"):
            tt.accelerator.synchronize("cpu")
        with pytest.raises(DeviceError, match="there is no device 'gadget:3'"):
            tt.accelerator.set_device_index(3)
    monkeypatch.setattr(gadget.backend, "available", lambda: "it is switched off")
    with tt.device("gadget"):
        assert not tt.accelerator.is_available() or tt.accelerator.current_accelerator(True).type != "gadget"
        with pytest.raises(DeviceError, match="device 'gadget' is not available: it is switched off"):
            tt.get_device_module("gadget").synchronize()


def test_an_accelerator_is_one_of_the_devices_of_its_plugin() -> None:
    with pytest.raises(PluginError, match="accelerators: 'x' is none of its devices"):
        Manifest("acme", devices=("y",), accelerators=("x",))
