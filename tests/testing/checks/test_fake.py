"""Results without data are compared with those with data, by both drivers."""

from __future__ import annotations

import numpy as np

import tt
from tests.testing.checks.planted import faults_of, found_with
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
