"""A sample as the checks see it."""

from __future__ import annotations

import tt
from tt.core.dispatch.registry.registry import REGISTRY
from tt.testing.checks.case import Case, fits
from tt.testing.samples import Sample


def case_of(op, *args, dtype=tt.float32, **kwargs):
    return Case(REGISTRY.operator(op), "cpu", dtype, Sample(args, kwargs), None)


def test_an_operator_that_changes_its_arguments_is_called_on_copies():
    x = tt.ones(2)
    assert case_of("exponential", x).run().shape == (2,) and x.tolist() == [1.0, 1.0]
    targets = [tt.ones(2), tt.ones(3)]
    (first, second) = case_of("_foreach_sqrt_", targets).run()
    assert first is not targets[0] and second.tolist() == [1.0] * 3 and targets[1]._version == 0


def test_defaults_are_filled_in_and_replaced_by_name():
    case = case_of("add", tt.ones(2), tt.ones(2))
    assert case.bound["alpha"] == 1
    assert case.run_bound({**case.bound, "alpha": 3}).tolist() == [4.0, 4.0]
    assert case.given.run().tolist() == [2.0, 2.0]


def test_a_result_fits_into_a_target_of_its_shape_and_kind():
    case = case_of("add", tt.ones(2), 1)
    assert fits(case, tt.ones(2), tt.ones(2)) and not fits(case, tt.ones(3), tt.ones(2))
    assert not fits(case, tt.ones(2), tt.ones(2, dtype=tt.int64))


def test_results_are_where_the_arguments_say():
    assert case_of("full", (2,), 1.0, device="meta").named_places[0] == "meta"
    assert case_of("add", tt.ones(1), 1).named_places == ["cpu"]
