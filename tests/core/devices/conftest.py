"""A device type that overrides every method of the device interface."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tt
from tt.core.host import host
from tt.core.host.manifest import Manifest
from tt.core.library import REGISTRY, Device
from tt.core.tensor.device_interface import DeviceProperties


class Native:
    """A stream or an event that notes its uses."""

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
    monkeypatch.setattr(host.HOST, "plugins", lambda: (*states, plugin))
    yield SimpleNamespace(backend=backend, log=log)
    backend.set_device(0)
    handle.remove()
