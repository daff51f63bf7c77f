"""The memory of large results is kept, given out again, bounded, and given back."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
import tracemalloc
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
    gc.collect()  # what earlier tests left in cycles would come back to the cache within a test
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
    M.set_limit(2 * LARGE.nbytes)
    kept = [P.neg(LARGE) for _ in range(3)]
    del kept
    assert M.stats()["cached"] == 2 * LARGE.nbytes
    M.set_limit(0)
    assert M.stats()["cached"] == 0


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"), reason="the system reports no memory of a process"
)
def test_a_block_above_half_of_the_limit_goes_back_at_once():
    M.set_limit(128 << 20)
    before = resident()
    block = P.neg(np.broadcast_to(np.ones(1, np.float32), (20 << 20,)))
    assert resident() > before + (60 << 20)
    del block
    assert M.stats()["cached"] == 0
    assert resident() < before + (20 << 20)


IN_A_GAP = """
import numpy as np
from tests.backends.cpu.native.test_memory import M, P, resident

M.set_limit(128 << 20)
before = resident()
block = P.neg(np.broadcast_to(np.ones(1, np.float32), (20 << 20,)))
above = P.neg(np.ones(1 << 16, np.float32))
used = resident()
del block
print(used - before, resident() - before)
"""


@pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"), reason="the system reports no memory of a process"
)
def test_a_large_block_goes_back_even_from_a_gap_of_the_heap(monkeypatch):
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", str(1 << 30))  # glibc takes all of it from its heap then
    used, left = map(int, printed_by(IN_A_GAP).split())
    assert used > 60 << 20
    assert left < 20 << 20


def test_blocks_that_nothing_uses_go_back_with_a_later_call():
    M.set_idle(20)
    try:
        kept = [P.neg(LARGE) for _ in range(3)]
        del kept
        assert M.stats()["cached"] > 0
        time.sleep(0.2)
        P.neg(LARGE[: 1 << 18])
        assert M.stats()["cached"] <= LARGE.nbytes  # at most what that call itself freed
    finally:
        M.set_idle(10_000)


def test_many_blocks_of_a_size_are_kept():
    count = 200
    kept = [P.neg(LARGE[: 1 << 16]) for _ in range(count)]
    del kept
    assert M.stats()["cached"] == count << 18
    before = M.stats()["reused"]
    again = [P.neg(LARGE[: 1 << 16]) for _ in range(count)]
    assert len(again) == M.stats()["reused"] - before == count


SHORT_OF_MEMORY = """
import resource
import numpy as np
from tt.backends.cpu.native.loading import load

memory, pointwise = load("memory"), load("pointwise")
memory.set_limit(1 << 30)
one = np.broadcast_to(np.ones(1, np.float32), (64 << 20,))
kept = [pointwise.neg(one), pointwise.neg(one)]
pages = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (pages + (32 << 20),) * 2)
del kept
held = memory.stats()["cached"]
larger = pointwise.neg(np.broadcast_to(np.ones(1, np.float32), (80 << 20,)))
print(held, memory.stats()["cached"], int(larger.sum()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a process's memory is Linux's")
def test_what_is_kept_goes_back_before_memory_runs_out():
    held, left, total = map(int, printed_by(SHORT_OF_MEMORY).split())
    assert held == 2 * (256 << 20)
    assert (left, total) == (0, -(80 << 20))


def test_memory_that_was_resized_is_not_handed_out_unaligned():
    for count in (3_000_001, 5_000_003):
        array = P.neg(LARGE)
        array.resize(count, refcheck=False)
        del array
        assert address(P.neg(np.ones(count, np.float32))) % 64 == 0


def test_the_counters_of_python_see_results():
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = P.neg(LARGE)
        during = tracemalloc.get_traced_memory()[0]
        del kept
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert during - before >= LARGE.nbytes
    assert after - before < LARGE.nbytes // 8


def test_zeros_are_zeros_after_other_results_were_freed():
    x = tt.tensor(LARGE)
    for make in (lambda: tt.zeros(1 << 20), lambda: tt.zeros_like(x), lambda: tt.full((1 << 20,), 0.0)):
        kept = [tt.exp(x) for _ in range(4)]
        del kept
        assert not make().numpy().any()


def test_tensors_of_any_content_lie_in_kept_memory():
    x = tt.tensor(LARGE)
    makers = {
        "empty": lambda: tt.empty(1 << 20),
        "half": lambda: tt.empty(1 << 21, dtype=tt.bfloat16),
        "empty_like": lambda: tt.empty_like(x),
        "new_empty": lambda: x.new_empty((1024, 1024)),
        "empty_strided": lambda: tt.empty_strided((1024, 1024), (1, 1024)),
        "channels_last": lambda: tt.empty(16, 16, 64, 64, memory_format=tt.channels_last),
    }
    for name, make in makers.items():
        before = M.stats()["in_use"]
        made = make()
        assert M.stats()["in_use"] == before + made.numel() * made.element_size(), name
        assert made.data_ptr() % 64 == 0
        del made
        assert M.stats()["in_use"] == before, name


def test_memory_of_others_is_neither_counted_nor_kept():
    before = M.stats()
    theirs = np.ones(1 << 21, np.float32)
    x = tt.from_numpy(theirs)
    assert x.data_ptr() == address(theirs)
    del x, theirs
    after = M.stats()
    assert (after["in_use"], after["cached"]) == (before["in_use"], before["cached"])


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
