"""Timers, measurements and their tables."""

from __future__ import annotations

import itertools
import pickle

import pytest

import tt
from tt.utils.benchmark import Compare, Measurement, TaskSpec, Timer, select_unit, set_threads, trim_sigfig


class Clock:
    """A clock that a statement winds on."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def work(self, seconds):
        self.now += seconds


def timed(seconds, **options):
    """Return a timer whose statement takes so many seconds by its own clock."""
    clock = Clock()
    steps = itertools.cycle(seconds if isinstance(seconds, tuple) else (seconds,))
    return Timer("clock.work(next(steps))", timer=clock, globals={"clock": clock, "steps": steps}, **options)


def test_a_number_of_runs_is_timed():
    found = timed(0.25).timeit(8)
    assert found.number_per_run == 8 and found.times == [0.25] and found.median == found.mean == 0.25


@pytest.mark.parametrize(("number", "warm_up"), [(1, 2), (8, 2), (200, 2), (1000, 10)])
def test_a_hundredth_of_the_runs_warms_up(number, warm_up):
    seen = []
    Timer("seen.append(1)", globals={"seen": seen}).timeit(number)
    assert len(seen) == number + warm_up


def test_blocks_are_long_enough_and_go_on_for_a_time():
    seen = []
    found = timed(0.001).blocked_autorange(
        lambda number, seconds: seen.append((number, seconds)), min_run_time=0.05
    )
    assert sum(found.raw_times) >= 0.05 and found.median == pytest.approx(0.001)
    assert [n for n, _ in seen] == [found.number_per_run] * len(found.times)


def test_measurements_go_on_until_they_agree_or_time_is_over():
    steady = timed(0.001).adaptive_autorange()
    # A block has one run, or ten where reading the clock is slow; four blocks are the least.
    assert steady.meets_confidence() and len(steady.times) == max(4, 10 // steady.number_per_run)
    noisy = timed(tuple(0.001 * 4**k for k in (0, 1, 2, 3, 2, 1))).adaptive_autorange(1e-9, max_run_time=1.0)
    assert sum(noisy.raw_times) >= 1.0


def test_statements_see_tt_their_globals_and_their_threads():
    seen = []
    Timer("seen.append(tt.get_num_threads())", globals={"seen": seen}, num_threads=1).timeit(1)
    assert set(seen) == {1}
    before = tt.get_num_threads()
    with set_threads(1):
        assert tt.get_num_threads() == 1
    assert tt.get_num_threads() == before


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Timer("x", language="c++"), NotImplementedError),
        (lambda: Timer("x", global_setup="x"), ValueError),
        (lambda: Timer("x", num_threads=0), ValueError),
        (lambda: Timer("x = ("), SyntaxError),
        (lambda: Timer("1").timeit(0), ValueError),
        (lambda: Timer("1").repeat(), NotImplementedError),
        (lambda: Timer("1").collect_callgrind(), NotImplementedError),
        (lambda: Compare([1]), TypeError),
        (lambda: Measurement(1, [], TaskSpec("f()", "")).median, ValueError),
        (lambda: trim_sigfig(1.0, 0), ValueError),
    ],
)
def test_wrong_use_is_refused(make, error):
    with pytest.raises(error):
        make()


def test_measurements_say_how_sure_they_are():
    sure = Measurement(1, [1.0, 1.01, 0.99, 1.0, 1.0], TaskSpec("f()", "x = 1", label="L", sub_label="S"))
    unsure = Measurement(1, [1.0, 2.0, 3.0, 4.0], sure.task_spec)
    assert not sure.has_warnings and unsure.has_warnings
    assert "Median: 1 s" in repr(sure) and "5 measurements, 1 runs per measurement, 1 thread" in repr(sure)
    assert "L: S" in repr(sure) and "setup: x = 1" in repr(sure) and "WARNING" in repr(unsure)
    assert unsure.significant_figures < sure.significant_figures
    assert pickle.loads(pickle.dumps(sure)).times == sure.times
    assert sure.stmt == "f()" and sure.as_row_name == "S" and sure.title == "L: S"


def test_units_are_those_in_which_a_time_is_at_least_one():
    assert [select_unit(t)[0] for t in (1e-10, 2e-9, 3e-6, 0.5, 20.0)] == ["ns", "ns", "us", "ms", "s"]


@pytest.mark.torch
def test_times_are_compared_as_pytorch_compares_them():
    from torch.utils.benchmark import Compare as TorchCompare
    from torch.utils.benchmark import Measurement as TorchMeasurement
    from torch.utils.benchmark import TaskSpec as TorchSpec

    def numbers(compare, measurement, spec):
        rows = [
            ("add", "old", 1, 2e-6),
            ("add", "new", 1, 1e-6),
            ("mul", "old", 1, 3e-6),
            ("mul", "new", 2, 4e-6),
        ]
        found = [
            measurement(10, [10 * t, 10 * t], spec("f()", "", "", "ops", row, column, None, threads))
            for row, column, threads, t in rows
        ]
        table = compare(found)
        plain = str(table)
        table.trim_significant_figures()
        table.colorize()
        import re

        texts = (plain, re.sub("\033\\[\\d+m", "", str(table)))
        words = [re.findall(r"[\d.]+(?= |$)|threads|add|mul|old|new|\(us\)", text, re.M) for text in texts]
        return [[float(w) if w[0].isdigit() else w for w in found if w != "."] for found in words]

    assert numbers(Compare, Measurement, TaskSpec) == numbers(TorchCompare, TorchMeasurement, TorchSpec)


def test_colours_mark_the_best_and_the_worst_and_differences_are_noted():
    spec = [TaskSpec("f()", "", "", "ops", name, "time") for name in ("a", "b")]
    fast, slow = Measurement(1, [1e-6] * 4, spec[0]), Measurement(1, [1e-6, 2e-6, 3e-6, 9e-6], spec[1])
    table = Compare([fast, slow])
    table.colorize()
    table.highlight_warnings()
    assert "\033[92m\033[1m" in str(table) and "\033[91m" in str(table) and "(! " in str(table)
