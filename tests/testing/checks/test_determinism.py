"""A call that does not repeat itself is found, and one that ignores the seed."""

from __future__ import annotations

import itertools

import numpy as np

import tt
from tests.testing.checks.planted import faults_of, found_with
from tt.testing.checks.determinism import same_seed
from tt.testing.conformance import check_target, targets
from tt.testing.opcheck.call import bind


def test_the_generator_goes_on_from_where_it_was():
    before = tt.get_rng_state().tolist()
    call = bind("rand_like", (tt.ones(2),))
    with same_seed(call):
        first = tt.rand(2).tolist()
    with same_seed(call):
        assert tt.rand(2).tolist() == first
    assert tt.get_rng_state().tolist() == before


def test_both_drivers_name_a_kernel_with_a_state():
    calls = itertools.count()

    def kernel(x):
        return x + x + x.dtype.type(next(calls))

    assert faults_of("test_determinism", kernel=kernel) == {"nondeterministic"}
    assert faults_of("test_determinism") == set()
    found = found_with("neg", lambda self: -self + next(calls), checks=["repeat"], takes=("self",))
    assert any("gave other values when it was made again" in f.message for f in found)


def test_a_result_that_is_used_again_is_found():
    kept = {}

    def kernel(self):
        result = kept.setdefault(self.shape, np.empty_like(self))
        np.negative(self, out=result)
        return result

    found = found_with("neg", kernel, checks=["repeat"])
    assert any("memory of the first result" in f.message for f in found)


def test_an_ignored_seed_is_found():
    failures = found_with("rand", lambda size, generator, dtype: np.full(size, 0.5, np.float32))
    assert any(f.check == "seed" and "another seed gave the same numbers" in f.message for f in failures)


def test_few_samples_do_not_say_that_the_seed_is_ignored():
    (target,) = targets("cpu", ops=["dropout"], dtypes=["float32"])
    assert check_target(target, "cpu", checks=["runs", "seed"], most=2).failures == []
