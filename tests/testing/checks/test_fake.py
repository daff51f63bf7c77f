"""Results without data are compared with those with data, by both drivers."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tt
from tests.processes import printed_by
from tests.testing.checks.planted import faults_of, found_with
from tt.core.layers.fake import is_fake, to_fake
from tt.testing.checks.case import Case
from tt.testing.checks.fake import differences_without_data
from tt.testing.conformance import check_conformance


def test_differences_are_of_shape_dtype_layout_and_strides():
    x = tt.zeros(2, 3)
    meta = x.to("meta")
    assert list(differences_without_data(x, meta, exact=True)) == []
    assert [d[0] for d in differences_without_data(x, meta[:1], exact=True)] == ["fake_shape"]
    assert [d[0] for d in differences_without_data(x, meta.to(tt.int32), exact=True)] == ["fake_dtype"]
    other = tt.zeros(3, 2, device="meta").t()
    assert [d[0] for d in differences_without_data(x, other, exact=True)] == ["fake_strides"]
    assert list(differences_without_data(x, other, exact=False)) == []
    assert [d[0] for d in differences_without_data(x.to_sparse(), meta, exact=True)] == ["fake_result"]


def test_a_wrong_fake_is_named():
    wrong = {"fake": lambda x: tt.empty(x.shape[0] + 1, *x.shape[1:], dtype=x.dtype, device=x.device)}
    assert faults_of("test_faketensor", **wrong) == {"fake_shape"}
    assert faults_of("test_faketensor") == set()


def test_a_call_that_reads_values_is_refused_without_data():
    assert (
        check_conformance("cpu", ops=["nonzero", "item"], dtypes=["float32"], checks=["meta"]).failures == []
    )


def test_a_wrong_shape_is_found():
    failures = found_with("neg", lambda self: -self.reshape(-1), takes=("self",))
    assert any(f.check == "meta" and "instead of" in f.message for f in failures)


def test_wrong_strides_of_a_view_are_found():
    failures = found_with("t", lambda self: np.ascontiguousarray(self.T), takes=("self",))
    assert any(f.check == "meta" and "strides" in f.message for f in failures)


# --- devices that do not exist -----------------------------------------------------------------------------------


def absent(*ops):
    return check_conformance("cpu", ops=ops, dtypes=["float32"], checks=["absent"]).failures


PLANTED = """
from tt.core.dispatch.intercept.layers import Layer
from tt.core.layers.fake import FakeLayer
from tt.testing.conformance import check_conformance
FakeLayer.around_composite = Layer.around_composite
report = check_conformance("cpu", ops=["mode", "add"], dtypes=["float32"], checks=["absent"])
for failure in report.failures:
    print(failure.op, "an absent device meet DeviceError" in failure.message)
"""


def test_a_composite_that_asks_for_an_absent_device_is_found():
    assert absent("mode", "rand", "half", "range") == []
    # In a process of its own: in this one, another test may have brought an emulated device.
    assert {*printed_by(PLANTED).splitlines()} == {"mode True"}


@pytest.mark.parametrize(("wrong", "message"), [
    (lambda x: x[:1], r"of an absent device: shape \[1\] instead of"),
    (lambda x: x.double(), "of an absent device: tt.float64 instead of tt.float32"),
    (lambda x: to_fake(x, "cpu"), "of an absent device: the result is on 'cpu'"),
    (lambda x: [x, x], "of an absent device there are 2 results instead of 1"),
])  # fmt: skip
def test_a_result_that_differs_from_that_of_meta_tensors_is_found(monkeypatch, wrong, message):
    run = Case.run_bound

    def planted(self, bound):
        result = run(self, bound)
        return wrong(result) if any(map(is_fake, bound.values())) else result

    monkeypatch.setattr(Case, "run_bound", planted)
    failures = absent("neg")
    assert failures and any(re.search(message, failure.message) for failure in failures)


def test_what_is_found_is_repeated_with_fake_tensors(monkeypatch):
    monkeypatch.setattr(Case, "run_bound", lambda self, bound: bound["self"][:1])
    code = absent("neg")[-1].snippet
    assert "with tt.fake_mode():" in code and ".to('cuda:127')" in code
    exec(code)
