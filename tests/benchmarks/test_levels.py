"""Instruction sets: what each library is told, and that tt and NumPy follow."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from benchmarks.levels import LEVELS, hold_numpy_to, hold_to
from benchmarks.publish import ROOT
from benchmarks.run import missing_level
from tt.backends.cpu.native import loading


@pytest.fixture(autouse=True)
def _keeps_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "XLA_FLAGS",
        "NPY_DISABLE_CPU_FEATURES",
        *(name for level in LEVELS.values() for name in level),
    ):
        monkeypatch.setenv(name, os.environ.get(name, ""))
        monkeypatch.delenv(name)


def test_a_level_is_set_for_all_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--some_flag")
    hold_to("avx2")
    assert {name: os.environ[name] for name in LEVELS["avx2"]} == LEVELS["avx2"]
    assert os.environ["XLA_FLAGS"] == "--some_flag --xla_cpu_max_isa=AVX2"


def test_numpy_is_told_only_names_that_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    hold_numpy_to(None)
    hold_numpy_to("avx512")
    assert "NPY_DISABLE_CPU_FEATURES" not in os.environ
    hold_numpy_to("baseline")
    program = (
        "import numpy._core._multiarray_umath as core;"
        "print([name for name in core.__cpu_dispatch__ if core.__cpu_features__[name]])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_a_level_that_is_not_there_is_named() -> None:
    found = loading.levels()
    assert [missing_level(level) for level in found.usable] == [""] * len(found.usable)
    for level, why in found.missing.items():
        assert missing_level(level) == why != ""


@pytest.mark.exhaustive
@pytest.mark.parametrize("level", LEVELS)
def test_a_run_says_at_which_level_it_measured_or_why_it_did_not(level: str) -> None:
    words = ["small_calls", "--cases", "a + b", "--rounds", "1", "--seconds", "0.00001", "--peers", "numpy"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.run", *words, "--isa", level],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if missing_level(level):
        assert done.returncode == 2
        assert done.stderr == f"nothing is measured at {level}: {missing_level(level)}\n"
    else:
        assert done.returncode == 0, done.stderr
        assert f"instruction set: {level}\n" in done.stdout
        assert f"running as {level}\n" in done.stdout
