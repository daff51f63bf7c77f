"""Device modules, the accelerator, streams and events: on backends without any, and on one that overrides all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tt
from tt.core.devices import accelerator
from tt.core.devices.device_module import FUNCTIONS, DeviceModule
from tt.core.host import host
from tt.core.host.manifest import Manifest
from tt.core.library import REGISTRY, Device
from tt.core.tensor.device_interface import DeviceInterface, DeviceProperties
from tt.errors import DeviceError, PluginError, UnknownNameError


class Native:
    """A stream or an event that notes what is done with it."""

    def __init__(self, name: str, log: list[str], time: float = 0.0) -> None:
        self.name, self.log, self.time = name, log, time

    def query(self) -> bool:
        return False

    def synchronize(self) -> None:
        self.log.append(f"{self.name} synchronize")

    def record(self, event: Any) -> None:
        self.log.append(f"{self.name} record {event.name}")
        event.time = len(self.log)

    def wait(self, event: Any) -> None:
        self.log.append(f"{self.name} wait {event.name}")

    def elapsed_time(self, end: Any) -> float:
        return float(end.time - self.time)


@pytest.fixture
def gadget(monkeypatch) -> Iterator[Any]:
    """A device type with three devices that overrides every method of the interface."""
    from tt.library import ArrayApiBackend

    log: list[str] = []

    class Gadget(ArrayApiBackend):
        def synchronize(self, device: Device | None = None) -> None:
            log.append(f"synchronize {device}")

        def new_stream(self, device: Device, priority: int = 0) -> Any:
            return Native(f"stream{len(log)}", log)

        def new_event(self, device: Device, timing: bool = False) -> Any:
            return Native("event", log)

        def memory_stats(self, device: Device) -> dict[str, int]:
            return {
                "reserved_bytes.all.peak": 40, "allocated_bytes.all.current": 10 + (device.index or 0),
                "reserved_bytes.all.current": 30, "allocated_bytes.all.peak": 20,
            }  # fmt: skip

        def reset_peak_memory_stats(self, device: Device) -> None:
            log.append(f"reset peak {device}")

        def reset_accumulated_memory_stats(self, device: Device) -> None:
            log.append(f"reset sums {device}")

        def empty_cache(self) -> None:
            log.append("empty cache")

        def memory_info(self, device: Device) -> tuple[int, int]:
            return 1, 100

        def properties(self, device: Device | None = None) -> DeviceProperties:
            return DeviceProperties("A Gadget 3000", device or self.default_device(), 100, {"cores": 4})

    tt.ones(1)
    handle = REGISTRY.add_backend(backend := Gadget(np, "gadget", ["cpu", "cpu", "cpu"]))
    states = host.plugins()
    plugin = SimpleNamespace(
        manifest=Manifest("gadget", devices=("gadget",), accelerators=("gadget",)), state="active"
    )
    monkeypatch.setattr(host, "plugins", lambda: (*states, plugin))
    yield SimpleNamespace(backend=backend, log=log)
    backend.set_device(0)
    handle.remove()


# --- devices that override nothing -----------------------------------------------------------------------------


def test_a_backend_is_a_device_interface() -> None:
    assert isinstance(REGISTRY.backend("cpu"), DeviceInterface)
    assert isinstance(REGISTRY.backend("meta"), DeviceInterface)


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
    assert sorted(tt.cpu.__all__) == sorted(FUNCTIONS) and set(FUNCTIONS) < set(tt.cuda.__all__)
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


def test_a_synchronous_stream_orders_nothing() -> None:
    stream, event = tt.Stream("cpu"), tt.Event("cpu", enable_timing=True)
    with stream as current:
        assert current is stream and tt.cpu.current_stream() == stream
        x = tt.ones(2) * 3
    assert tt.cpu.current_stream() != stream and hash(stream) != hash(tt.cpu.current_stream())
    assert x.tolist() == [3.0, 3.0]
    event.record(stream)
    end = stream.record_event(tt.Event("cpu", enable_timing=True))
    stream.wait_event(event)
    stream.wait_stream(tt.cpu.current_stream())
    stream.synchronize()
    event.synchronize()
    assert stream.query() and event.query() and event.elapsed_time(end) >= 0
    with tt.cpu.stream(None), tt.cpu.stream(stream):
        assert tt.cpu.current_stream() == stream


def test_events_that_cannot_be_compared_are_refused() -> None:
    timed, untimed = tt.Event("cpu", enable_timing=True), tt.Event("cpu")
    with pytest.raises(DeviceError, match="the start event was not recorded"):
        timed.elapsed_time(timed)
    timed.record()
    with pytest.raises(DeviceError, match="the end event does not measure time"):
        timed.elapsed_time(untimed)
    with pytest.raises(DeviceError, match="interprocess=True"):
        tt.Event("cpu", interprocess=True)
    with pytest.raises(DeviceError, match="an event of cpu is not recorded in a stream of meta"):
        timed.record(tt.Stream("meta"))


def test_random_numbers_of_one_type_are_seeded_alone() -> None:
    before = tt.get_device_module("meta").get_rng_state()
    tt.cpu.manual_seed_all(5)
    first = tt.rand(3)
    state = tt.cpu.get_rng_state()
    second = tt.rand(3)
    tt.cpu.set_rng_state(state)
    assert tt.rand(3).tolist() == second.tolist() and tt.cpu.initial_seed() == 5
    tt.cpu.manual_seed(5)
    assert tt.rand(3).tolist() == first.tolist()
    assert tt.get_device_module("meta").get_rng_state().tolist() == before.tolist()
    tt.cpu.seed()
    assert tt.cpu.initial_seed() != 5


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


def test_streams_and_events_are_those_of_the_backend(gadget) -> None:
    stream, other = tt.Stream("gadget:1"), tt.Stream("gadget:1", priority=-1)
    assert stream.device == tt.device("gadget:1") and stream.device_index == 1 and not stream.query()
    event = stream.record_event(tt.Event("gadget:1", enable_timing=True))
    other.wait_event(event)
    other.wait_stream(stream)
    event.synchronize()
    assert gadget.log == ["stream0 record event", "stream0 wait event", "stream0 record event", "stream0 wait event",
                          "event synchronize"]  # fmt: skip
    tt.Stream("cpu").wait_event(event)  # a stream of another type cannot wait, so the host does
    assert gadget.log[-1] == "event synchronize" and len(gadget.log) == 6


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


def test_without_an_accelerator_programs_get_none_and_the_cpu(monkeypatch) -> None:
    monkeypatch.setattr(accelerator, "_declared", list)
    assert tt.accelerator.current_accelerator() is None
    assert not tt.accelerator.is_available() and tt.accelerator.device_count() == 0
    assert tt.get_device_module() is tt.cpu and tt.Stream().device == tt.device("cpu")
    with pytest.raises(DeviceError, match="there is no accelerator: no installed plugin provides one"):
        tt.accelerator.synchronize()


def test_a_backend_that_declares_no_accelerator_is_never_chosen() -> None:
    from tt.library import ArrayApiBackend

    before = tt.accelerator.current_accelerator(), tt.get_device_module()
    with contextlib.ExitStack() as stack:
        stack.callback(REGISTRY.add_backend(ArrayApiBackend(np, "modest")).remove)
        assert (tt.accelerator.current_accelerator(), tt.get_device_module()) == before


def test_an_accelerator_is_one_of_the_devices_of_its_plugin() -> None:
    with pytest.raises(PluginError, match="accelerators: 'x' is none of its devices"):
        Manifest("acme", devices=("y",), accelerators=("x",))
