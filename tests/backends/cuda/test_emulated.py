"""Runs the tests of `emulated/`, each file in a process of its own that has an emulated CUDA device."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.backends.cuda.emulation import DEVICES, KERNELS, PRODUCTS
from tests.backends.cuda.shim.engine import host_compiler
from tests.tiers import SLICES

pytestmark = pytest.mark.exhaustive

HERE = Path(__file__).parent / "emulated"
COMPILED = ("test_faults.py", "test_foreach.py", "test_graphs.py", "test_optim.py")
"""Tests that need kernels of programs."""
FILES = sorted(path.name for path in HERE.glob("test_*.py") if path.name not in COMPILED)


def run(file: str, *options: str, **variables: str) -> int:
    """Run a file of tests, and return how many passed; nothing may be skipped."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov",
         str(HERE / file), *options],
        env={**os.environ, "PYTEST_ADDOPTS": "", "CUDA_VISIBLE_DEVICES": "", **variables},
        cwd=HERE.parents[3], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-5000:]
    found = re.fullmatch(r"(\d+) passed(?:, \d+ deselected)? in .*", done.stdout.splitlines()[-1].strip())
    assert found is not None, done.stdout[-2000:]
    return int(found[1])


@pytest.mark.parametrize("file", FILES)
def test_on_an_emulated_device(file):
    devices = "2" if file == "test_devices.py" else "1"
    # Compiling the kernels of programs takes long, so the sweep below has them, and their own tests.
    assert run(file, **{DEVICES: devices, KERNELS: "0"}) > 0


@pytest.mark.skipif(host_compiler() is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("file", COMPILED)
def test_with_kernels_of_programs_on_an_emulated_device(file, shim_folder):
    variables = {DEVICES: "1", KERNELS: "1", PRODUCTS: "1", "TT_TEST_CUDA_SHIM": str(shim_folder)}
    assert run(file, **variables) > 5


@pytest.mark.sweep
@pytest.mark.skipif(host_compiler() is None, reason="needs a C++ compiler")
def test_every_kernel_of_programs_that_waits_says_so(shim_folder):
    variables = {DEVICES: "1", KERNELS: "1", "TT_TEST_CUDA_SHIM": str(shim_folder)}
    assert run("test_waits.py", **variables) > 0


# Ten minutes in one process: slices of tests take parts of it.
@pytest.mark.parametrize("part", range(1, SLICES + 1))
@pytest.mark.parametrize(
    "kernels",
    [
        pytest.param("0", id="over the array API"),
        pytest.param("1", id="with kernels of programs", marks=pytest.mark.sweep),  # a compiler makes each
    ],
)
def test_every_operator_on_an_emulated_device(kernels, part, shim_folder):
    variables = {DEVICES: "1", KERNELS: kernels, "TT_TEST_CUDA_SHIM": str(shim_folder)}
    assert run("test_conformance.py", "-m", "exhaustive", f"--slice={part}/{SLICES}", **variables) > 5
