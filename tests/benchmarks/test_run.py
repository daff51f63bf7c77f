"""The command: suites, patterns, peers, forms, reports and exit statuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import run
from benchmarks.environment import form_of_tt
from benchmarks.publish import ROOT
from benchmarks.records import read_report, write_report


@pytest.fixture(autouse=True)
def _keeps_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "CPU_COUNT", "XLA_FLAGS"):
        monkeypatch.setenv(name, os.environ.get(name, "1"))


QUICK = ["--rounds", "1", "--seconds", "0.00001", "--threads", "1", "--peers", "numpy"]


def test_the_short_form_runs_and_times_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["small_calls", "--short", "--peers", "numpy", "--threads", "1"]) == 0
    captured = capsys.readouterr()
    assert captured.out.endswith("\nsmall calls: 22 cases\n")
    assert "small calls: 22/22" in captured.err


def test_a_case_that_fails_is_named_and_the_exit_status_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.measure.agree", lambda *args: False)
    assert (
        run.main(["small_calls", "--cases", "a + b", "--short", "--peers", "numpy", "--threads", "1"])
        == run.FAILED
    )
    assert capsys.readouterr().out.endswith(
        "\nsmall calls: 1 cases\na + b: tt: the value is not that of numpy\n"
    )


def test_patterns_choose_cases_and_brackets_stand_for_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--cases", "v[3]", "--cases", "*ZEROS*", *QUICK]) == 0
    lines = capsys.readouterr().out.splitlines()
    table = lines[lines.index("small calls") :]
    assert [line.split("  ")[0] for line in table[2:4]] == ["v[3]", "zeros(2, 3)"]
    assert table[4].startswith("geometric mean, small calls")


@pytest.mark.exhaustive
def test_a_report_is_written_and_compared_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "report"
    assert run.main(["small_calls", "--cases", "a + b", "--save", str(folder), *QUICK]) == 0
    report = read_report(folder)
    case = report["suites"]["small_calls"]["cases"]["a + b"]
    assert set(case["microseconds"]) == {"tt", "numpy"}
    case["ratio"]["numpy"] = 1e-9  # as if tt had been faster than any interrupted turn can make it seem
    report["suites"]["small_calls"]["groups"] = {}
    write_report(folder, report)
    assert run.main(["small_calls", "--cases", "a + b", "--compare", str(folder), *QUICK]) == run.WORSE
    assert capsys.readouterr().out.endswith("\nworse: a + b\n")


def test_the_form_is_shown_and_another_one_refused(capsys: pytest.CaptureFixture[str]) -> None:
    form, detail = form_of_tt()
    assert run.main(["--form"]) == 0
    assert capsys.readouterr().out == f"{form} ({detail})\n"
    other = next(name for name in run.FORMS if name != form)
    assert run.main(["--form", other]) == 2
    assert capsys.readouterr().err == f"this is not the {other} form: {form} ({detail})\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["medium_calls"], "no suite is named 'medium_calls'; there are: "),
        (["--cases", "a ++ b"], "no case matches a ++ b"),
        (["--peers", "matlab"], "no cases are written for 'matlab'; the peers are: "),
        (["--rounds", "0"], "must be positive"),
        (["--compare", "absent"], "no report at absent"),
    ],
)
def test_mistakes_are_explained(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run.main(words)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_threads_are_chosen_before_numpy_is_imported() -> None:
    program = (
        "import sys; from benchmarks import run; print('numpy' in sys.modules);"
        "run.main(['--form', '--threads', '3']); import os; print(os.environ['OPENBLAS_NUM_THREADS'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    first, *_, last = done.stdout.splitlines()
    assert (first, last) == ("False", "3")
