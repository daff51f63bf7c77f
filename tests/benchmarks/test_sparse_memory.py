"""The memory of a large sparse matrix: the steps run, and at full size stay below the limit."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks.memory import supported

pytestmark = pytest.mark.skipif(
    not supported(), reason="the system does not say how much memory a process has had"
)


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.sparse_memory", *words],
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_step_has_a_line_with_the_memory_so_far() -> None:
    ran = run("1000", "5")
    assert (ran.returncode, ran.stderr) == (0, "")
    head, _, *lines = ran.stdout.splitlines()
    assert head == "1,000 x 1,000, 5,000 elements"
    peaks = [int(line.split("|")[2]) for line in lines[2:]]
    assert len(peaks) == 14
    assert peaks == sorted(peaks)
    assert 0 < peaks[-1] < 1024


@pytest.mark.exhaustive
def test_ten_million_elements_work_inside_a_gibibyte() -> None:
    ran = run()
    assert ran.returncode == 0, ran.stdout
