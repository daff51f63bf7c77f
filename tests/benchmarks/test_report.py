"""The tables: times, ratios, means with their aims, failures; and how two reports differ."""

from __future__ import annotations

from benchmarks.cases import Group, Suite
from benchmarks.compare import changes, compare_text
from benchmarks.measure import Measurement
from benchmarks.report import suite_dict, suite_text

SUITE = Suite(
    "calls",
    "small calls",
    [Group("small calls", {"any": 0.4, "compiled": 0.6}, worst={"compiled": 0.45})],
    [],
)


def test_the_table_shows_times_ratios_means_aims_and_failures() -> None:
    measurements = [
        Measurement("add", {"tt": [0.5], "numpy": [0.25], "torch": [1.0]}),
        Measurement("exp", {"numpy": [0.25]}, {"tt": "NoKernelError: none"}),
    ]
    assert suite_text(SUITE, measurements) == (
        "small calls\n"
        "us                             tt  torch  numpy  tt/torch  tt/numpy  noise\n"
        "add                          0.50   1.00   0.25      0.50      2.00     0%\n"
        "exp                             -      -   0.25         -         -     0%\n"
        "geometric mean, small calls                          0.50      2.00     0%\n"
        "small calls: 0.50 of torch, target 0.60: met; worst 0.50 (add), allowed 0.45: missed\n"
        "exp: tt: NoKernelError: none"
    )
    assert "0.50 of torch, target 0.40: missed" in suite_text(SUITE, measurements, "interpreted")


def test_each_group_has_its_mean() -> None:
    suite = Suite("steps", "steps", [Group("few"), Group("many", {"any": 1.0})], [])
    measurements = [
        Measurement("a", {"tt": [1.0], "torch": [2.0]}, group="few"),
        Measurement("b", {"tt": [1.0], "torch": [4.0]}, group="many"),
        Measurement("c", {"tt": [1.0], "torch": [1.0]}, group="many"),
    ]
    found = suite_dict(suite, measurements)["groups"]
    assert {name: group["geometric_mean"] for name, group in found.items()} == {
        "few": {"torch": 0.5},
        "many": {"torch": 0.5},
    }
    assert found["many"]["worst"] == ["c", 1.0]


def test_the_built_in_operators_have_a_table_of_their_own() -> None:
    measurements = [
        Measurement("own", {"tt": [0.5], "tt, built in": [0.4], "torch": [8.0], "torch, built in": [1.0]}),
        Measurement("alone", {"tt": [0.5]}),
    ]
    suite = Suite("custom", "custom", [Group("custom")], [])
    assert suite_text(suite, measurements).split("\n\n")[1] == (
        "us              tt, built in  torch, built in  tt, ratio  torch, ratio\n"
        "own                     0.40             1.00       1.25          8.00\n"
        "geometric mean                                      1.25          8.00"
    )
    assert suite_dict(suite, measurements)["cases"]["own"]["to_built_in"] == {"tt": 1.25, "torch": 8.0}


# --- two reports ---


def report(**ratios: list[float]) -> dict[str, object]:
    """Return the report of a run with these times of tt; torch took a microsecond."""
    found = [Measurement(name, {"tt": times, "torch": [1.0] * len(times)}) for name, times in ratios.items()]
    return {"suites": {"calls": suite_dict(SUITE, found)}}


def test_two_reports_are_compared_by_their_ratios() -> None:
    found = changes(report(add=[0.5], exp=[0.4], sum=[0.50]), report(add=[0.25], exp=[0.8], sum=[0.51]))
    assert compare_text(found) == (
        "ratio                           to  before   now  change  noise is below\n"
        "add                          torch    0.50  0.25    -50%              5%  better\n"
        "exp                          torch    0.40  0.80   +100%              5%   WORSE\n"
        "sum                          torch    0.50  0.51     +2%              5%\n"
        "geometric mean, small calls  torch    0.46  0.47     +1%              5%\n"
        "worse: exp"
    )


def test_a_change_within_the_noise_of_the_runs_is_no_regression() -> None:
    noisy = [0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3]
    (found, _) = changes(report(add=noisy), report(add=[time * 1.3 for time in noisy]))
    assert 0.3 < found.threshold < 1.0
    assert not found.worse
    quiet = [1.0, 1.001, 0.999]
    (found, _) = changes(report(add=quiet), report(add=[time * 1.3 for time in quiet]))
    assert found.worse


def test_means_of_different_cases_are_not_compared() -> None:
    found = changes(report(add=[1.0]), report(add=[1.0], exp=[2.0]))
    assert [c.name for c in found] == ["add"]
    assert compare_text(found).endswith("nothing is worse than before by more than noise")
