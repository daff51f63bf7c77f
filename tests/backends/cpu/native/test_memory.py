"""The memory of large results is kept, given out again, bounded, and given back."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tt
from tests.processes import printed_by
from tests.threads import in_threads
from tt.backends.cpu.native.loading import load, status

M: Any = load("memory")
P: Any = load("pointwise")
pytestmark = pytest.mark.skipif(M is None, reason=f"native kernels are not in use: {status().reason}")

LARGE = np.ones(1 << 20, np.float32)


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    limit = M.stats()["limit"]
    tt.cpu.empty_cache()
    yield
    M.set_limit(limit)
    tt.cpu.empty_cache()


def address(array: Any) -> int:
    return array.__array_interface__["data"][0]


def test_a_freed_block_serves_the_next_result_of_its_size():
    first = P.neg(LARGE)
    place = address(first)
    del first
    assert M.stats()["cached"] == LARGE.nbytes
    second = P.exp(LARGE)
    assert address(second) == place
    assert M.stats()["cached"] == 0
    np.testing.assert_array_equal(second, np.exp(LARGE, dtype=np.float64).astype(np.float32))


def test_results_lie_on_lines_of_the_cache():
    for count in (1 << 16, (1 << 16) + 1, 100_003, 3_000_001):
        assert address(P.neg(np.ones(count, np.float32))) % 64 == 0


def test_small_results_are_none_of_it():
    before = M.stats()["allocations"]
    P.neg(np.ones(1000, np.float32))
    assert M.stats()["allocations"] == before


def test_results_that_lie_as_another_array_are_of_it():
    x = tt.ones(4, 8, 64, 64).permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    calls = {
        "batch_norm": lambda: tt.nn.functional.batch_norm(x, None, None, training=True),
        "clone": lambda: x.transpose(0, 1).clone(),
        "matmul": lambda: tt.ones(8, 64, 256).transpose(0, 1).contiguous().transpose(0, 1) @ tt.ones(256, 64),
    }
    for name, call in calls.items():
        call()
        before = M.stats()["allocations"]
        kept = call()
        assert M.stats()["allocations"] > before, name
        del kept


TRAINING = """
from benchmarks.libraries import set_threads

set_threads(1)
import tt
from benchmarks.memory import FIGURES

print(int(FIGURES["convnet"](tt)["peak"]), tt.cpu.memory_stats()["reserved_bytes.all.peak"])
"""


@pytest.mark.exhaustive
def test_what_goes_from_the_pool_goes_back_to_the_system():
    # Blocks are larger than what lies in them, and their ends take no memory; the rest of the process is in it.
    peak, held = map(int, printed_by(TRAINING).split())
    assert peak <= held


OTHER_SIZES = """
import numpy as np
from tt.backends.cpu.native.loading import load

memory, pointwise = load("memory"), load("pointwise")
sizes = [n << 20 for n in (5, 6, 7, 8, 10, 12)]  # elements of four bytes, each size of a class of its own
for _ in range(2):
    for size in sizes:
        pointwise.neg(np.broadcast_to(np.ones(1, np.float32), (size,)))
print(memory.stats()["peak_held"], 4 * max(sizes), 4 * sum(sizes), memory.stats()["returned"])
"""


def test_blocks_of_other_sizes_are_let_go_before_all_exceed_what_was_in_use():
    # In a process of its own: what was in use by other tests would count.
    held, largest, everything, returned = map(int, printed_by(OTHER_SIZES).split())
    kept_anyway = 40 << 20
    assert held <= kept_anyway + 2 * largest < everything
    assert returned > 0


def test_no_more_is_kept_than_the_limit():
    M.set_limit(LARGE.nbytes)
    kept = [P.neg(LARGE) for _ in range(3)]
    del kept
    assert M.stats()["cached"] == LARGE.nbytes
    M.set_limit(0)
    assert M.stats()["cached"] == 0


def test_the_functions_of_the_device_tell():
    before = tt.cpu.memory_allocated()
    tt.cpu.reset_peak_memory_stats()
    tt.cpu.reset_accumulated_memory_stats()
    x = tt.tensor(LARGE)
    y, z = tt.exp(x), tt.exp(x)
    assert tt.cpu.memory_allocated() == before + 2 * LARGE.nbytes
    del y
    assert tt.cpu.memory_allocated() == before + LARGE.nbytes
    assert tt.cpu.memory_reserved() == tt.cpu.memory_allocated() + LARGE.nbytes
    assert tt.cpu.max_memory_allocated() == before + 2 * LARGE.nbytes
    assert tt.cpu.max_memory_reserved() >= before + 2 * LARGE.nbytes
    y = tt.exp(z)
    stats = tt.cpu.memory_stats()
    assert (stats["allocation.all.allocated"], stats["allocation.all.reused"]) == (3, 1)
    del y, z
    tt.cpu.empty_cache()
    assert tt.cpu.memory_reserved() == tt.cpu.memory_allocated() == before


def test_an_array_may_outlive_its_tensor_and_be_resized():
    array = P.neg(LARGE)
    array.resize(3 * LARGE.size, refcheck=False)
    array[LARGE.size :] = 5
    assert (array[: LARGE.size] == -1).all() and (array[LARGE.size :] == 5).all()
    array.resize(10, refcheck=False)
    assert array.tolist() == [-1.0] * 10


def test_blocks_may_be_freed_by_other_threads():
    made: list[Any] = []
    in_threads(*[lambda: made.append(P.exp(LARGE))] * 8)
    in_use = M.stats()["in_use"]
    made.clear()
    assert M.stats()["in_use"] == in_use - 8 * LARGE.nbytes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_has_memory_of_its_own():
    program = """
import os
import numpy as np
from tt.backends.cpu.native.loading import load
P = load("pointwise")
large = np.ones(1 << 20, np.float32)
kept = P.neg(large)
child = os.fork()
if child == 0:
    os._exit(0 if (P.neg(large) == -1).all() and (kept == -1).all() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "0\n", done.stderr
