"""`tt run`: the launcher of `tt.distributed.run` as a command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tt.distributed.run import main

Run = Callable[..., Any]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    path = tmp_path / "program.py"
    path.write_text("import os, sys\nprint(os.environ['RANK'], sys.argv[1:])\nsys.exit(len(sys.argv) - 1)\n")
    return str(path)


def test_workers_run_and_their_options_are_their_own(run: Run, program: str) -> None:
    ran = run("run", "--nproc-per-node=2", program)
    assert (ran.code, ran.err) == (0, "")
    ran = run("run", "--tee=1", program, "--help", "-x")
    assert ran.code == 1
    assert "[rank 0] 0 ['--help', '-x']" in ran.out


def test_a_failure_is_shown_on_the_standard_error(run: Run, program: str) -> None:
    ran = run("run", program, "once")
    assert ran.code == 1
    assert "program.py failed. The first failure:" in ran.err
    assert "rank 0" in ran.err


def test_the_help_lists_the_options(run: Run) -> None:
    ran = run("run", "--help")
    assert ran.code == 0
    assert "--nproc-per-node" in ran.out
    assert "PET_NPROC_PER_NODE" in ran.out


def test_wrong_options_end_with_code_2(run: Run, program: str) -> None:
    ran = run("run", "--nnodes=0", program)
    assert ran.code == 2
    assert "--nnodes must be a whole number from 1" in ran.err


def test_the_module_is_the_same_command(program: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([program]) == 0
    assert capfd.readouterr().out == "0 []\n"
