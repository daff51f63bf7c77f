"""Registering and unregistering: shadowed kernels come back; priorities."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import array_api_strict
import numpy as np
import pytest

import tt
from tt.backends.array_api.backend import ArrayApiBackend
from tt.core.dispatch.registry import registry as registry_module
from tt.core.dispatch.registry.tables import KernelTable


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


@pytest.mark.parametrize("name", ["npu:0", "my dev", "cpu/sparse", "", "1pu", None])
def test_a_device_type_that_a_user_could_not_write_is_refused(name: Any) -> None:
    backend = ArrayApiBackend(array_api_strict, name)
    with pytest.raises(tt.errors.ValueRangeError, match="a device type has a name of letters, digits"):
        registry_module.REGISTRY.add_backend(backend)


def test_a_kernel_for_an_operator_that_tt_lacks_is_warned_of_with_the_nearest() -> None:
    table = KernelTable(device="cpu")
    table.kernel("siluu")(lambda self: self)
    table.kernel("acme::later")(lambda self: self)  # may be defined later
    with pytest.warns(
        UserWarning, match="no operator is named 'siluu', for which a kernel of 'cpu' is added.*'silu'"
    ) as seen:
        registry_module.REGISTRY.add(table).remove()
    assert len(seen) == 1 and seen[0].filename == __file__


def test_an_unknown_device_gets_those_of_the_program_as_candidates() -> None:
    handle = registry_module.REGISTRY.add_backend(ArrayApiBackend(array_api_strict, "candidate"))
    with pytest.raises(
        tt.errors.UnknownNameError, match="unknown device 'candidat'; did you mean 'candidate'"
    ):
        tt.explain("neg", ["candidat:float32"])
    handle.remove()


def test_a_table_says_what_computes_in_kernels_that_do_not_say_so() -> None:
    table = KernelTable("cpu", by="libslow")
    table.kernel("exp", np.exp)
    table.kernel("log", np.log, by="libfast")
    assert [kernel.by for kernel in table.kernels] == ["libslow", "libfast"]
