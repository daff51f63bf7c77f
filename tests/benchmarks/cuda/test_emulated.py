"""The programs for a machine with a GPU, run on a device that is played by NumPy and a C++ compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.backends.cuda.shim.engine import host_compiler

pytestmark = pytest.mark.torch

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(host_compiler() is None, reason="needs a C++ compiler")

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def emulated(request):
    """Runs one of the programs on the emulated device and returns its output."""

    def run(module: str, *words: str) -> str:
        code = (
            "import sys; from tests.backends.cuda import emulation; emulation.install()\n"
            f"from benchmarks.cuda import {module}; sys.exit({module}.main(sys.argv[1:]))"
        )
        shim = str(request.config.cache.mkdir("cuda-shim"))
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=ROOT,
            env={**os.environ, "TT_TEST_CUDA_SHIM": shim, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def row(output: str, name: str) -> list[str]:
    return next(line for line in output.splitlines() if line.startswith(name))[len(name) :].split()


def test_the_benchmark_runs_dry_and_keeps_no_time(emulated, tmp_path):
    file = tmp_path / "report.json"
    output = emulated("run", "--dry", "--cases", "add, 2^10", "--json", str(file))
    assert row(output, "add, 2^10") == ["agrees", "agrees", "agrees", "-", "-"]
    text = file.read_text()
    assert '"dry": true' in text and '"gpu": "Fake GPU 0"' in text and "microseconds" not in text


@pytest.mark.exhaustive
def test_every_case_runs_dry(emulated):
    output = emulated("run", "--dry")
    assert "fails" not in output and output.count("agrees") == 2 * 24 + 3


@pytest.mark.exhaustive
def test_stress_runs(emulated):
    output = emulated("stress", "--seconds", "0.5")
    assert [line.partition(":")[0] for line in output.splitlines()] == ["memory", "streams", "graphs"]
