"""Kernels under AddressSanitizer: nothing is read or written outside of an array."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.backends.cuda.emulation import DEVICES, KERNELS
from tests.backends.cuda.sanitizing import SANITIZE

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
FAMILIES = sorted(
    path.relative_to(HERE).as_posix() for path in HERE.rglob("test_*.py")
    if path.name != Path(__file__).name and re.search(r"\bhost_(engine|backend)\b", path.read_text())
)  # fmt: skip
"""The tests whose kernels run on the host."""

OVERRUN = """
import sys
from pathlib import Path
import numpy as np
from tests.backends.cuda.shim.engine import HostEngine
from tests.backends.cuda.test_handle import HostMemory
from tt.backends.cuda.backend import CudaBackend
from tt.backends.cuda.launch.programs import Program

folder = Path(sys.argv[1])
(folder / "sample.cuh").write_text(
    "__global__ void fill(float* out, long long n) { for (long long i = 0; i < n; i++) out[i] = 1; }"
)
backend = CudaBackend(HostMemory(), lambda: np, HostEngine(folder, sanitize=True))
out = backend.empty((100,), np.float32)
Program("sample.cuh", folder=folder).kernel("fill")(backend, (1,), (1,), (out, int(sys.argv[2])))
"""

EMULATED_OVERRUN = """
import sys
from pathlib import Path
from tests.backends.cuda.emulation import install
install()
import tt
from tt.backends.cuda.launch.programs import Program

folder = Path(sys.argv[1])
(folder / "sample.cuh").write_text(
    "__global__ void fill(long long place, long long n) { for (long long i = 0; i < n; i++) ((float*)place)[i] = 1; }"
)
out, other = tt.zeros(100, device="cuda"), tt.zeros(100, device="cuda")
place, backend = out.data_ptr(), tt.library.REGISTRY.backend("cuda")
if sys.argv[3:] == ["freed"]:
    del out
Program("sample.cuh", folder=folder).kernel("fill")(backend, (1,), (1,), (place, int(sys.argv[2])))
"""


def _library(compiler, name):
    """Return the path of a library of the compiler; its bare name if there is none."""
    asked = [compiler, f"-print-file-name={name}"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def sanitized():
    """The environment in which AddressSanitizer is loaded before Python."""
    compiler = shutil.which("g++")
    # With the library of C++, or what other libraries throw ends the process: the sanitizer looks for it at once.
    found = [_library(compiler, name) for name in ("libasan.so", "libstdc++.so.6")] if compiler else [""]
    if not all(map(os.path.isabs, found)):
        pytest.skip("g++ with the library of AddressSanitizer is not installed")
    # Python itself keeps memory until it ends.
    return {**os.environ, "LD_PRELOAD": " ".join(found), "ASAN_OPTIONS": "detect_leaks=0", SANITIZE: "1"}


def run(environment, *command):
    return subprocess.run(
        [sys.executable, *command], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.exhaustive
def test_what_is_written_outside_of_an_array_is_found(sanitized, tmp_path):
    fine = run(sanitized, "-c", OVERRUN, str(tmp_path), "100")
    assert fine.returncode == 0, fine.stderr
    wrong = run(sanitized, "-c", OVERRUN, str(tmp_path), "101")
    assert wrong.returncode and "AddressSanitizer: heap-buffer-overflow" in wrong.stderr


@pytest.mark.exhaustive
def test_what_is_written_outside_of_a_block_of_the_emulated_device_is_found(sanitized, tmp_path):
    fine = run(sanitized, "-c", EMULATED_OVERRUN, str(tmp_path), "100")
    assert fine.returncode == 0, fine.stderr
    for arguments in (["101"], ["100", "freed"]):
        wrong = run(sanitized, "-c", EMULATED_OVERRUN, str(tmp_path), *arguments)
        assert wrong.returncode and "AddressSanitizer: use-after-poison" in wrong.stderr


def passed(environment, *options):
    """Run tests, and return how many passed."""
    found = run(environment, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cov", *options)
    assert found.returncode == 0, found.stdout[-4000:] + found.stderr[-4000:]
    return int(re.search(r"(\d+) passed", found.stdout.splitlines()[-1])[1])


@pytest.mark.exhaustive
@pytest.mark.parametrize("family", FAMILIES)
def test_kernels_stay_within_their_memory(sanitized, family):
    assert passed(sanitized, str(HERE / family))


@pytest.mark.sweep
@pytest.mark.parametrize("family", FAMILIES)
def test_kernels_of_every_dtype_stay_within_their_memory(sanitized, family):
    assert passed(sanitized, "-m", "not sweep", str(HERE / family))


# A compiler makes each kernel, most of them alone: hours.
@pytest.mark.sweep
@pytest.mark.parametrize("which", ["not exhaustive and not sweep", "exhaustive"], ids=["some", "all"])
def test_operators_stay_within_their_memory(sanitized, shim_folder, which):
    environment = {**sanitized, DEVICES: "1", KERNELS: "1", "TT_TEST_CUDA_SHIM": str(shim_folder)}
    assert passed(environment, "-m", which, str(HERE / "emulated" / "test_conformance.py"))
