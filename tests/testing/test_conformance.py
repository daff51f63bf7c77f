"""The conformance checks: they find faults, and the CPU passes them."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest

import tt
from tests.testing.checks.planted import found_with
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import UnknownNameError, UnknownOpError
from tt.core.schema.classes import dtype_names
from tt.testing.conformance import CHECKS, check_conformance, check_target, targets
from tt.testing.conformance.run import QUICK

# --- finding faults ----------------------------------------------------------------------------------------------


def test_a_missing_error_is_found():
    failures = found_with("gather", lambda self, dim, index: np.zeros(index.shape, self.dtype))
    assert any(f.check == "runs" and "was expected" in f.message for f in failures)


def test_a_kernel_that_raises_is_found():
    def kernel(self):
        raise ZeroDivisionError("broken")

    failures = found_with("neg", kernel)
    assert {f.check for f in failures} == {"runs"}
    assert "ZeroDivisionError: broken" in failures[0].message


def test_a_leaking_warning_is_found():
    import warnings

    def kernel(self):
        warnings.warn("overflow encountered", RuntimeWarning, stacklevel=1)
        return -self

    assert {f.check for f in found_with("neg", kernel)} == {"runs"}


def test_a_word_that_means_nothing_is_refused():
    with pytest.raises(UnknownOpError, match="did you mean 'neg'"):
        check_conformance("cpu", ops=["negg"])
    with pytest.raises(UnknownNameError, match="did you mean 'values'"):
        check_conformance("cpu", ops=["neg"], checks=["value"])


def test_what_is_not_served_is_reported_as_missing():
    with tt.mask_kernels("sin"):
        report = check_conformance("cpu", ops=["sin"], dtypes=["float32", "float64"])
    assert report.missing == [("sin", "float32"), ("sin", "float64")]
    assert report.failures == []


def test_single_checks_can_be_chosen():
    report = check_conformance("cpu", ops=["neg"], dtypes=["float32"], checks=["runs"])
    assert set(report.checks) == {"runs"}


# --- the CPU -----------------------------------------------------------------------------------------------------


PARTS = 8
"""Of tests that take minutes: slices share them."""


def failures_of(report):
    return "\n".join(map(str, report.failures)) + "".join(
        f"\nmissing: {op} {dtype}" for op, dtype in report.missing
    )


def chosen(parts, part=0):
    """Return one in so many of the operators, those of a part."""
    return [op.name for op in REGISTRY.definitions() if crc32(op.name.encode()) % parts == part]


@pytest.mark.parametrize("parts", [6, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize(
    ("check", "dtype"), [("composite", "float32"), ("composite", "int64"), ("gradient", "float32")]
)
def test_composites_and_gradients_agree_with_the_kernels_of_the_cpu(check, dtype, parts):
    report = check_conformance("cpu", ops=chosen(parts), dtypes=[dtype], checks=[check])
    assert failures_of(report) == ""
    assert report.checks[check] > 5000 / parts


def test_composites_of_complex_numbers_agree_with_the_kernels_of_the_cpu():
    ops = [
        definition.name
        for definition in REGISTRY.definitions()
        if definition.kind in ("pointwise", "composite") and "complex64" in dtype_names(definition.dtypes)
    ]
    assert failures_of(check_conformance("cpu", ops=ops, dtypes=["complex64"], checks=["composite"])) == ""


def test_a_sixteenth_of_what_the_cpu_serves_conforms_in_every_respect():
    some = [target for target in targets("cpu") if crc32(str(target).encode()) % 16 == 0]
    assert len(some) > 120
    assert not [failure for target in some for failure in check_target(target, "cpu").failures]


@pytest.mark.exhaustive
def test_the_cpu_conforms():
    report = check_conformance("cpu")
    assert failures_of(report) == ""
    often = [name for name in CHECKS if name != "training"]  # which is made once for a device
    assert min(report.checks[name] for name in often) > 50 and report.checks["training"] == 1, (
        "a check was hardly made"
    )


def test_the_core_set_is_small():
    assert sum(definition.core for definition in REGISTRY.definitions()) <= 100


@pytest.mark.parametrize(
    ("dtypes", "parts"),
    [(["float32"], 4), pytest.param(QUICK, 1, marks=pytest.mark.exhaustive)],
    ids=["some", "all"],
)
def test_the_core_set_serves_every_operator_through_composites(dtypes, parts):
    with tt.mask_kernels("@non-core"):
        report = check_conformance("cpu", ops=chosen(parts), dtypes=dtypes, checks=["runs", "values", "meta"])
    assert failures_of(report) == ""


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(PARTS))
def test_the_cpu_conforms_for_every_dtype(part):
    assert failures_of(check_conformance("cpu", ops=chosen(PARTS, part), dtypes=None, seed=1)) == ""


@pytest.mark.exhaustive
@pytest.mark.torch
def test_the_cpu_agrees_with_pytorch():
    pytest.importorskip("torch")
    report = check_conformance("cpu", reference=torch_reference(), checks=["runs", "values"])
    assert failures_of(report) == ""
    assert report.checks["values"] > 5000


@pytest.mark.exhaustive
@pytest.mark.torch
@pytest.mark.parametrize("part", range(PARTS))
def test_the_cpu_agrees_with_pytorch_for_every_dtype(part):
    pytest.importorskip("torch")
    report = check_conformance(
        "cpu", ops=chosen(PARTS, part), dtypes=None, reference=torch_reference(), checks=["runs", "values"]
    )
    assert failures_of(report) == ""


def torch_reference():
    """Return the reference of the neighbouring module, which imports PyTorch."""
    import importlib.util
    from pathlib import Path

    spec = importlib.util.spec_from_file_location(
        "torch_reference", Path(__file__).with_name("torch_reference.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.torch_reference
