"""Who shares memory with whom, and that sharing which the schema does not declare is found."""

from __future__ import annotations

import tt
from tests.core.testing.checks.planted import faults_of, found_with
from tt.core.testing.checks.aliasing import overlap, overlaps_itself


def test_tensors_overlap_where_the_ranges_of_their_memory_meet():
    x = tt.zeros(4, 4)
    assert overlap(x, x) and overlap(x[1:], x[:2]) and overlap(x, x.t())
    assert not overlap(x[:2], x[2:])
    assert not overlap(x, x.clone()) and not overlap(x, x[:0])


def test_an_expanded_tensor_overlaps_itself():
    assert overlaps_itself(tt.zeros(3, 1).expand(3, 2)) and overlaps_itself(
        tt.zeros(4).as_strided((3, 2), (1, 1))
    )
    assert not overlaps_itself(tt.zeros(3, 2).t()) and not overlaps_itself(tt.zeros(()))


def test_both_drivers_name_a_result_that_is_its_argument():
    assert faults_of("test_aliasing", kernel=lambda x: x) == {"aliased_input"}
    assert faults_of("test_aliasing") == set()


def test_a_view_that_copies_is_found():
    failures = found_with("t", lambda self: self.T.copy(), takes=("self",))
    assert any(f.check == "view" and "does not change the argument" in f.message for f in failures)


def test_a_result_that_is_its_argument_is_found():
    failures = found_with("relu", lambda self: self, takes=("self",))
    assert any(f.check == "alias" and "the memory of the argument 'self'" in f.message for f in failures)
