"""tt.profiler before there is a profiler: ranges do nothing, schedules are PyTorch's, to profile raises."""

from __future__ import annotations

import itertools

import pytest

import tt
from tt.errors import UnsupportedError
from tt.profiler import (
    ProfilerActivity,
    kineto_available,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)


def test_a_named_range_runs_its_block_and_its_function():
    with record_function("block") as range_:
        assert range_.name == "block"

    @record_function("function")
    def double(x):
        return 2 * x

    assert double(3) == 6
    with pytest.raises(KeyError), record_function("block"):
        raise KeyError("seen")
    assert tt.autograd.profiler.record_function is record_function


def test_to_profile_raises_and_nothing_says_that_it_could():
    with pytest.raises(UnsupportedError, match="a profiler is not built yet"):
        profile(activities=[ProfilerActivity.CPU])
    with pytest.raises(UnsupportedError, match="tensorboard_trace_handler"):
        tensorboard_trace_handler("folder")(None)
    assert not kineto_available()
    assert supported_activities() == set()


def test_wrong_schedules_and_steps_are_refused():
    for options in ({"wait": -1, "warmup": 0, "active": 1}, {"wait": 0, "warmup": 0, "active": 0}):
        with pytest.raises(ValueError, match="no number may be negative"):
            schedule(**options)
    with pytest.raises(ValueError, match="a step is not negative"):
        schedule(wait=0, warmup=0, active=1)(-1)


@pytest.mark.torch
def test_schedules_are_those_of_pytorch():
    import warnings

    torch = pytest.importorskip("torch")
    for wait, warmup, active, repeat, skip, skip_wait in itertools.product(
        (0, 2), (0, 1), (1, 3), (0, 2), (0, 4), (0, 1)
    ):
        options = {
            "wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip,
            "skip_first_wait": skip_wait,
        }  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's, that no warmup skews results
            theirs = torch.profiler.schedule(**options)
        ours = schedule(**options)
        assert [ours(n).name for n in range(30)] == [theirs(n).name for n in range(30)], options
