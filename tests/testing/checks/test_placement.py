"""Results and intermediates that leave the device of the arguments are found."""

from __future__ import annotations

import tt
from tt.core.dispatch.registry.registry import REGISTRY, Provider
from tt.core.library import CompositeTable
from tt.testing.checks.placement import moved
from tt.testing.conformance import check_conformance
from tt.testing.opcheck.call import bind


def test_an_operator_that_stays_on_its_device_passes():
    report = check_conformance("cpu", ops=["add", "softmax", "full"], dtypes=["float32"], checks=["device"])
    assert report.failures == [] and report.checks["device"] > 10


def test_a_call_is_moved_to_another_device_with_the_devices_that_it_names():
    call = moved(bind("full_like", (tt.ones(2), 1), {"device": "cpu"}), "meta")
    assert call is not None and call.on == "device meta"
    assert call.args[0].device.type == "meta" and tt.device("meta") in call.args


def test_an_inner_call_on_another_device_is_found():
    table = CompositeTable()

    @table.composite("positive")
    def positive(self):
        tt.ones(2, device="meta")
        return self

    with REGISTRY.add(table, Provider("the test")):
        failures = check_conformance("cpu", ops=["positive"], dtypes=["float32"]).failures
    assert {(f.check, f.message) for f in failures} == {
        ("device", "inside of the call, ones returns a tensor on meta")
    }
