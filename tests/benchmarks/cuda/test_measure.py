"""Turns, verdicts and reports of the CUDA benchmark, over clocks that a test sets."""

from __future__ import annotations

import dataclasses
import json

import pytest

from benchmarks.cuda import measure, report
from benchmarks.cuda.cases import read_cases
from benchmarks.cuda.floors import measure_floors
from benchmarks.cuda.measure import Floors, Measurement, Turn, measure_case, verdict_of
from benchmarks.cuda.runners import Events, Runner, captured

CASE = read_cases()[0]


class Steady:
    """A clock by which every call takes as long."""

    def __init__(self, device, submit):
        self.device, self.submit = device, submit

    def time(self, call, count):
        for _ in range(count):
            call()
        return self.device * count, self.submit * count


def of(aim, floor, **microseconds):
    turns = {name.replace("_", "."): [Turn(*times)] * 3 for name, times in microseconds.items()}
    return Measurement(dataclasses.replace(CASE, aim=aim), turns, floor=floor)


@pytest.mark.parametrize(
    ("aim", "floor", "tt", "torch", "verdict"),
    [
        ("bandwidth", 95, (100, 1), (50, 1), "met"),
        ("bandwidth", 50, (100, 1), (101, 1), "met"),
        ("bandwidth", 50, (100, 1), (99, 1), "missed"),
        ("bandwidth", None, (100, 1), None, "unknown"),
        ("parity", 50, (104, 1), (100, 1), "met"),
        ("parity", 50, (106, 1), (100, 1), "missed"),
        ("submit", 50, (300, 2), (100, 3), "met"),
        ("submit", 50, (100, 3), (300, 2), "missed"),
        ("submit", 50, None, (300, 2), "unknown"),
    ],
)
def test_verdicts(aim, floor, tt, torch, verdict):
    times = {name: value for name, value in {"tt": tt, "torch": torch}.items() if value}
    assert verdict_of(of(aim, floor, **times)) == verdict


def test_turns_are_as_long_as_asked_and_medians_are_taken(monkeypatch):
    calls = []
    runners = [
        Runner("tt", lambda: calls.append("tt"), Steady(2e-3, 1e-4)),
        Runner("torch", lambda: calls.append("torch"), Steady(1e-3, 5e-4)),
    ]
    monkeypatch.setattr(measure, "prepared", lambda case, *args, **how: (Measurement(case), runners))
    found = measure_case(CASE, ["tt", "torch"], Floors(1e9, {}), devices={}, rounds=5, seconds=0.02)
    assert (found.microseconds("tt"), found.submit("tt")) == pytest.approx((2000, 100))
    assert found.ratio("tt", "torch").value == pytest.approx(2) and found.ratio("tt", "torch.compile") is None
    assert calls.count("tt") == 6 + 5 * 10 and calls.count("torch") == 6 + 5 * 20
    assert found.floor == pytest.approx(12 * 1024 / 1e9 * 1e6)


def test_a_way_that_fails_or_differs_is_named_and_the_others_are_measured(monkeypatch):
    import numpy as np

    def make(name, case, **how):
        if name == "torch.compile":
            raise RuntimeError("no compiler\nand more")
        value = np.ones(3, np.float32) * (2 if name == "torch, replayed" else 1)
        return Runner(name, lambda: value, Steady(1e-6, 1e-6))

    monkeypatch.setattr(measure, "make_runner", make)
    monkeypatch.setattr(measure, "to_array", lambda value: value)
    names = ["tt", "tt, replayed", "torch", "torch.compile", "torch, replayed"]
    devices = {"tt": "x", "torch": "x"}
    found = measure_case(CASE, names, None, devices=devices, rounds=2, seconds=1e-6)
    assert found.agreed == ["tt", "tt, replayed", "torch"] == list(found.turns)
    assert report.failures([found]) == [
        "add, 2^10: torch.compile: RuntimeError: no compiler",
        "add, 2^10: torch, replayed: the value is not that of tt",
    ]


def test_the_table_and_the_data():
    found = [of("parity", 50.0, tt=(100, 3), torch=(120, 2)), of("bandwidth", None, tt=(1, 2))]
    lines = report.text(found).splitlines()
    assert lines[0].split()[:3] == ["us", "tt", "tt,"] and len(lines) == 3
    assert "0.50" in lines[1] and "0.83" in lines[1] and lines[1].endswith("parity: met")
    assert lines[2].endswith("bandwidth: unknown")
    assert report.markdown(found).splitlines()[2].startswith("| `add, 2^10` | 100 |")
    data = json.loads(
        json.dumps(report.as_data(found[:1], Floors(1e12, {"float32": 2e13}), {"gpu": "G"}, dry=False))
    )
    assert data["cases"]["add, 2^10"]["ratio"] == {"torch": 0.8333}
    assert data["floors"] == {"bandwidth": 1e12, "flops": {"float32": 2e13}} and not data["dry"]
    dry = report.as_data(found[:1], None, {}, dry=True)
    assert set(dry["cases"]["add, 2^10"]) == {"agreed", "failures"} and dry["floors"] is None
    assert report.floors_text(Floors(3e12, {"float32": 6e13})) == (
        "measured floors: a copy 3000 GB/s; products float32 60.0 TFLOP/s"
    )


class FakeCuda:
    """What events, streams and graphs of both libraries have in common."""

    def __init__(self):
        self.log = []
        cuda = self

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                cuda.log.append("record")

            def synchronize(self):
                cuda.log.append("wait")

            def elapsed_time(self, other):
                return 250.0

        class Stream:
            def wait_stream(self, other):
                cuda.log.append("order")

            def __enter__(self):
                cuda.log.append("enter")

            def __exit__(self, *exception):
                cuda.log.append("leave")

        class Graph:
            def replay(self):
                cuda.log.append("replay")

            def __enter__(self):
                cuda.log.append("capture")

            def __exit__(self, *exception):
                cuda.log.append("captured")

        self.Event, self.Stream, self.CUDAGraph = Event, Stream, Graph
        self.stream = self.graph = lambda given: given
        self.current_stream = Stream

    def synchronize(self):
        self.log.append("synchronize")


def test_events_lie_around_the_calls():
    cuda = FakeCuda()
    device, submit = Events(cuda).time(lambda: cuda.log.append("call"), 2)
    assert cuda.log == ["synchronize", "record", "call", "call", "record", "wait"]
    assert device == 0.25 and submit > 0


def test_a_graph_is_captured_after_calls_on_a_stream_of_their_own():
    cuda = FakeCuda()
    library = type("Library", (), {"cuda": cuda})
    replay = captured(library, lambda: cuda.log.append("call") or 7)
    calls = ["order", "enter", *["call"] * 3, "leave", "order", "capture", "call", "captured"]
    assert cuda.log == calls
    assert replay() == 7 and cuda.log[-1] == "replay"


@pytest.mark.torch
def test_floors_are_measured_by_copies_and_products():
    torch = pytest.importorskip("torch")
    before = torch.backends.cuda.matmul.allow_tf32
    found = measure_floors(torch, "cpu", copied=1 << 12, sizes=(8, 16))
    assert found.bandwidth > 0 and set(found.flops) == {"float16", "bfloat16", "float32", "float64", "tf32"}
    assert min(found.flops.values()) > 0 and torch.backends.cuda.matmul.allow_tf32 == before
