"""Large sums by shares: the same numbers and bits on all ranks, and an end when a rank is killed."""

from __future__ import annotations

import re
import signal
import time

import numpy as np
import pytest

from tests.api.distributed.engines.test_mpi import TIMEOUT, outcomes
from tt.distributed.engines.mpi_shares import _add_in_order

pytestmark = pytest.mark.mpi4py
pytest.importorskip("mpi4py")


@pytest.mark.parametrize(
    "size",
    [3, pytest.param(2, marks=pytest.mark.exhaustive), pytest.param(4, marks=pytest.mark.exhaustive)],
)
def test_sums_are_right_and_have_the_same_bits_on_all_ranks(size, tmp_path):
    assert outcomes("shares", tmp_path, size, timeout=30) == [(0, "")] * size


@pytest.mark.parametrize("count", [2, 3, 5])
def test_whoever_adds_adds_in_the_order_of_the_ranks(count):
    numbers = np.random.default_rng(0).standard_normal((count, 100)).astype(np.float32)
    expected = sum(numbers[1:], numbers[0])
    for rank in range(count):
        parts = [*numbers.copy()]
        _add_in_order(parts, parts[rank])
        np.testing.assert_array_equal(parts[rank], expected)


def test_a_rank_that_is_killed_within_a_sum_ends_all_and_is_named(tmp_path):
    start = time.monotonic()
    found = outcomes("killed within", tmp_path, 3)
    assert (
        time.monotonic() - start < TIMEOUT + 3 + 6
    )  # the last is for three interpreters that start on two processors
    assert found[2][0] == -signal.SIGKILL
    for status, text in found[:2]:
        assert status == 3, text
        assert re.search("all_reduce of float32.26214400. .*rank 2 ended without a word", text), text
