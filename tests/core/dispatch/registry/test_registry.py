"""Registering and unregistering: shadowed kernels come back; priorities."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import tt
from tt.core.dispatch.registry import registry as registry_module


def test_unregistering_restores_what_was_shadowed(probe: Any) -> None:
    x = probe.tensor([0.0], tt.float32)
    probe.kernel("exp", np.exp)
    assert tt.exp(x)._handle.tolist() == [1.0]
    override = probe.kernel("exp", lambda self: self + 7, override=True)
    assert tt.exp(x)._handle.tolist() == [7.0]
    override.remove()
    assert tt.exp(x)._handle.tolist() == [1.0]
    override.remove()
    assert tt.exp(x)._handle.tolist() == [1.0]


def test_the_highest_priority_serves(probe: Any) -> None:
    probe.kernel("exp", lambda self: self + 2, priority=5)
    probe.kernel("exp", np.exp)
    assert tt.exp(probe.tensor([0.0], tt.float32))._handle.tolist() == [2.0]


def test_a_kernel_whose_library_is_missing_is_passed_over_with_the_reason(probe: Any) -> None:
    missing: list[str] = ["libfast.so is not there"]

    def problem() -> str | None:
        return missing[0] if missing else None

    probe.kernel("exp", lambda self: self + 2, priority=5, available=problem, by="libfast")
    probe.kernel("exp", np.exp)
    x = probe.tensor([0.0], tt.float32)
    assert tt.exp(x)._handle.tolist() == [1.0]
    first, second = tt.explain("exp", ["probe:float32"]).steps()
    assert (first["taken"], first["reason"]) == (False, "libfast is not available: libfast.so is not there")
    assert (second["taken"], second["reason"]) == (True, "serves the dtype")
    missing.clear()
    probe.kernel("exp", lambda self: self, priority=-1)  # registering resolves again
    assert tt.exp(x)._handle.tolist() == [2.0]
    assert tt.explain("exp", ["probe:float32"]).steps()[0]["reason"].endswith(", by libfast")


def test_threads_that_need_a_layer_for_the_first_time_get_the_same_one(monkeypatch: Any) -> None:
    registry = registry_module.Registry()
    load, both = registry_module.object_named, threading.Barrier(2)

    def loaded(name: str) -> Any:
        both.wait(10)
        return load(name)

    monkeypatch.setattr(registry_module, "object_named", loaded)
    for look_up in (lambda: registry.layer("placement"), lambda: registry.backend("meta")):
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(lambda _, look_up=look_up: look_up(), range(2))
        assert first is second
