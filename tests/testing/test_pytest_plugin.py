"""The plugin of pytest, in programs of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
BROKEN = """
from tt.library import REGISTRY, KernelTable

table = KernelTable(device="cpu")
table.kernel("exp", lambda self: self + 1, takes=("self",), override=True, priority=100)
REGISTRY.add(table)
"""


@pytest.fixture
def run(tmp_path):
    """Return a function that runs pytest with a test that passes; it returns the exit code and the output."""
    (tmp_path / "test_own.py").write_text("def test_own(): pass\n")

    def run_pytest(*words, conftest=""):
        (tmp_path / "conftest.py").write_text(conftest)
        # By name and not by entry point: the installation may be older than this tree.
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:tt",
            "-p",
            "tt.testing.pytest_plugin",
            *words,
        ]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
        )
        return done.returncode, done.stdout + done.stderr

    return run_pytest


EXP = ("--tt-backend", "cpu", "--tt-ops", "exp", "--tt-dtype", "float32", "--tt-dtype", "int64")


def test_the_plugin_is_an_entry_point():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"tt": "tt.testing.pytest_plugin"}


@pytest.mark.exhaustive
def test_without_the_option_nothing_is_added_and_nothing_more_imported(run):
    conftest = """
import sys

def pytest_unconfigure(config):
    heavy = ("tt.testing.conformance", "tt.backends", "scipy")
    print("HEAVY", sorted(m for m in sys.modules if m.startswith(heavy)))
"""
    code, output = run(conftest=conftest)
    assert code == 0 and "1 passed" in output
    assert "HEAVY []" in output


@pytest.mark.exhaustive
def test_there_is_an_item_for_each_operator_and_dtype(run, tmp_path):
    code, output = run(*EXP, "-v", "--junitxml", str(tmp_path / "report.xml"))
    assert code == 0 and "collected 3 items" in output and "3 passed" in output
    names = [case.get("name") for case in ElementTree.parse(tmp_path / "report.xml").iter("testcase")]
    assert names == ["test_own", "exp[int64]", "exp[float32]"]


@pytest.mark.exhaustive
def test_items_are_chosen_like_tests(run):
    code, output = run(*EXP, "-k", "exp and float32")
    assert code == 0 and "1 passed, 2 deselected" in output


@pytest.mark.exhaustive
def test_a_failure_shows_code_that_repeats_it_and_no_traceback(run):
    code, output = run(*EXP, "--tt-checks", "values", conftest=BROKEN)
    assert code == 1 and "2 failed, 1 passed" in output
    assert "exp [cpu, float32, shape (2, 3)] values: 6 of 6 values differ" in output
    assert "tt.ops.exp(tt.tensor(" in output and "runtest" not in output


@pytest.mark.exhaustive
def test_what_a_baseline_knows_is_an_expected_failure(run, tmp_path):
    from tt.testing.conformance import Failure, Report, Target
    from tt.testing.conformance.outcomes import Outcome, dumps

    failure = Failure("exp", "cpu", "float32", "", "values", "", "")
    known = Outcome(Target("exp", "float32"), "kernel", Report([failure]))
    (tmp_path / "known.json").write_text(dumps({"cpu": [known]}))
    words = (*EXP[:-2], "--tt-checks", "values", "--tt-baseline", "known.json", "-rx")
    code, output = run(*words, conftest=BROKEN)
    assert code == 0 and "1 passed, 1 xfailed" in output and "known to the baseline" in output


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--tt-backend", "cpuu"), "unknown device 'cpuu'; did you mean 'cpu'"),
        (("--tt-backend", "cpu", "--tt-ops", "expp"), "no operator is named 'expp'; did you mean 'exp'"),
        (("--tt-backend", "cpu", "--tt-dtype", "float33"), "unknown dtype 'float33'; did you mean 'float32'"),
        (("--tt-backend", "cpu", "--tt-checks", "value"), "unknown check 'value'; did you mean 'values'"),
        (("--tt-backend", "cpu", "--tt-baseline", "none.json"), "none.json"),
    ],
)
def test_a_wrong_word_is_a_usage_error(run, words, message):
    code, output = run(*words)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert message in output
