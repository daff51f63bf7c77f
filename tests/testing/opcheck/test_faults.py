"""Every fault that opcheck names is found in an operator that has it, and in no other."""

from __future__ import annotations

import pytest

import tt
from tests.testing.opcheck.faulty import FAULTY
from tests.testing.opcheck.made import Made, X
from tt.library import opcheck
from tt.testing.opcheck import FAULTS


def test_there_is_a_faulty_operator_for_every_fault():
    elsewhere = {
        "device_fails",
        "device_wrong",
    }  # they need a second device: tests/thirdparty/test_acme_ops.py
    assert {fault for fault, _, _ in FAULTY.values()} == set(FAULTS) - elsewhere


@pytest.mark.parametrize("which", FAULTY)
def test_the_fault_is_found_and_named(which):
    fault, make, args = FAULTY[which]
    with make() as op:
        report = opcheck(op, args, raise_exception=False)
        with pytest.raises(tt.errors.OpCheckError) as caught:
            opcheck(op, args)
    assert fault in [failure.fault for failure in report.failures], str(report)
    assert caught.value.failures and caught.value.op.startswith("faulty::")
    assert fault in str(caught.value)
    for failure in report.failures:
        assert failure.hint and failure.snippet.startswith("import tt\n") and failure.message
        assert report[failure.test] != "SUCCESS"


def doubled(x):
    x *= 2


def added(x, y):
    x += y
    return x * 2


def doubled_and_returned(x):
    x *= 2
    return x


@pytest.mark.parametrize(
    ("schema", "kernel", "fake", "args"),
    [
        ("(Tensor(a!) x) -> ()", doubled, lambda x: None, (X,)),
        ("(Tensor(a!) x, Tensor y) -> Tensor", added, lambda x, y: tt.empty_like(x), (X, X + 1)),
        ("(Tensor(a!) x) -> Tensor(a!)", doubled_and_returned, lambda x: x, (X,)),
    ],
)
def test_operators_that_change_what_they_declare_have_no_failure(schema, kernel, fake, args):
    with Made(schema, kernel, fake=fake, backward=None) as op:
        report = opcheck(op, args)
    assert report.ok and set(report.values()) == {"SUCCESS"}


def test_a_right_operator_has_no_failure():
    with Made() as op:
        report = opcheck(op, (X,))
    assert report.ok and set(report.values()) == {"SUCCESS"}
