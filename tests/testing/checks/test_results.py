"""What comes back from a call is compared with its signature."""

from __future__ import annotations

import pytest

import tt
from tests.testing.checks.planted import found_with
from tt.testing.checks.results import wrong_results
from tt.testing.opcheck.call import bind


@pytest.mark.parametrize(
    ("op", "args", "result", "faults"),
    [
        ("exp", (tt.ones(2),), tt.ones(2), []),
        ("exp", (tt.ones(2),), None, ["wrong_result"]),
        ("exp", (tt.ones(2),), tt.ones(2, device="meta"), ["wrong_device"]),
        ("max", (tt.ones(2), 0), (tt.ones(()), tt.zeros((), dtype=tt.int64)), []),
        ("max", (tt.ones(2), 0), (tt.ones(()),), ["wrong_result"]),
        ("unbind", (tt.ones(2),), [tt.ones(()), 3], ["wrong_result"]),
        ("equal", (tt.ones(2), tt.ones(2)), True, []),
        ("equal", (tt.ones(2), tt.ones(2)), "yes", ["wrong_result"]),
    ],
)
def test_results_that_the_signature_does_not_name_are_found(op, args, result, faults):
    assert [f.fault for f in wrong_results(bind(op, args), result)] == faults


def test_a_kernel_of_another_dtype_than_it_says_is_found():
    found = found_with("neg", lambda self: -self.astype("float64"), takes=("self",))
    assert {f.check for f in found} & {"runs", "meta"}
