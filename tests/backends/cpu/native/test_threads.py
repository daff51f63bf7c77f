"""The pool of threads: all parts are done once, calls inside of calls, forks, counts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import tt
from tests.processes import printed_by
from tests.threads import in_threads
from tt.backends.cpu import threads as module
from tt.backends.cpu.cores import default_threads
from tt.backends.cpu.native.loading import load, status
from tt.errors import ArgumentError, ValueRangeError

T: Any = load("threads")
native = pytest.mark.skipif(T is None, reason=f"native kernels are not in use: {status().reason}")


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = tt.get_num_threads()
    yield
    tt.set_num_threads(before)


HELPED = """
import time
from tt.backends.cpu.native.loading import load
threads = load("threads")

def helped(seconds):
    found, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        found.append(threads.sum_below(500_000, 1000)[1] > 1)
    return found

def helped_unless_busy():
    idle = 0  # how often no other program was there: other tests may run at the same time
    for _ in range(200):
        if os.path.exists("/proc/loadavg"):
            with open("/proc/loadavg") as file:
                idle += int(file.read().split()[3].split("/")[0]) <= 1
        if any(helped(0.1)):
            return True
    return idle < 50
"""


@native
@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize(
    ("numbers", "grain"), [(0, 1), (1, 1), (7, 1), (100_000, 1000), (100_003, 7), (50, 1000)]
)
def test_every_part_is_done_once(count, numbers, grain):
    T.set_num_threads(count)
    total, workers = T.sum_below(numbers, grain)
    assert total == numbers * (numbers - 1) // 2
    assert workers <= count


@native
@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only Linux tells where a thread may run")
def test_waking_workers_leaves_them_on_the_processors_they_had():
    printed = printed_by("""
import os, time
from tt.backends.cpu.native.loading import load
threads = load("threads")
threads.set_num_threads(3)
for _ in range(20):
    time.sleep(0.005)  # so that the workers sleep
    threads.sum_below(100_000, 1000)
def allowed():
    return {frozenset(os.sched_getaffinity(int(task))) for task in os.listdir("/proc/self/task")}
end = time.monotonic() + 10
while allowed() != {frozenset(os.sched_getaffinity(0))} and time.monotonic() < end:
    time.sleep(0.001)  # the last job may end before a worker that it woke has run
print(threads.worker_count(), allowed() == {frozenset(os.sched_getaffinity(0))})
""")
    assert printed.split() == ["2", "True"]


@native
@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="only Linux lets a process choose its processors"
)
def test_where_helpers_find_no_processor_jobs_run_alone_until_they_find_one():
    printed = printed_by(f"""{HELPED}
import os
cores = os.sched_getaffinity(0)
os.sched_setaffinity(0, {{min(cores)}})
threads.set_num_threads(2)
helped(1)
print(sum(found := helped(1)) < len(found) / 4)
for task in os.listdir("/proc/self/task"):
    os.sched_setaffinity(int(task), cores)
print(len(cores) == 1 or helped_unless_busy())
""")
    assert printed.split() == ["True", "True"]


@native
@pytest.mark.skipif(not os.path.exists("/proc/loadavg"), reason="only Linux counts the threads that run")
def test_jobs_have_no_helpers_while_other_programs_use_all_processors():
    printed = printed_by(f"""{HELPED}
import os, subprocess, sys
cores = os.cpu_count()
threads.set_num_threads(cores)
spinning = [sys.executable, "-c", "print(flush=True)\\nwhile True: pass"]
others = [subprocess.Popen(spinning, stdout=subprocess.PIPE) for _ in range(cores)]
for other in others:
    other.stdout.readline()
helped(0.1)
alone = helped(0.5)
print(sum(alone) < len(alone) / 10)
threads.set_num_threads(cores + 1)
print(any(helped(1)))  # who asks for more threads than processors gets them
for other in others:
    other.kill()
    other.communicate()
threads.set_num_threads(cores)
print(cores == 1 or helped_unless_busy())
""")
    assert printed.split() == ["True", "True", "True"]


@native
def test_a_call_inside_of_a_call_runs_in_its_thread():
    T.set_num_threads(4)
    assert T.sum_below(1000, 1, True)[0] == 999 * 1000 // 2


@native
def test_calls_from_several_threads_do_not_wait_for_each_other():
    T.set_num_threads(3)
    found: list[int] = []
    in_threads(*[lambda: found.extend(T.sum_below(200_000, 100)[0] for _ in range(30))] * 4)
    assert found == [199_999 * 200_000 // 2] * 120


@native
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_starts_threads_of_its_own():
    printed = printed_by("""
import os, sys
from tt.backends.cpu.native.loading import load
T = load("threads")
T.set_num_threads(3)
assert T.sum_below(100_000, 10)[0] == 4999950000
started = T.worker_count()
child = os.fork()
if child == 0:
    right = T.worker_count() == 0 and T.sum_below(100_000, 10)[0] == 4999950000 and T.worker_count() == 2
    os._exit(0 if right else 1)
print(started, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), T.sum_below(100_000, 10)[0])
""")
    assert printed == "2 0 4999950000\n"


# --- counts ----------------------------------------------------------------------------------------------------


def test_the_number_of_threads_is_what_was_set_for_the_blas_too():
    tt.set_num_threads(1)
    assert tt.get_num_threads() == 1
    assert set(module.blas_threads()) <= {1}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("asked", ["3", "3,2", " 3"])
def test_at_first_it_is_that_of_openmp(asked):
    environment = os.environ | {"OMP_NUM_THREADS": asked}
    assert printed_by("import tt; print(tt.get_num_threads())", environment) == "3\n"


def test_openblas_is_set_without_threadpoolctl(monkeypatch):
    if not module.loaded_blas():
        pytest.skip("NumPy's BLAS is not OpenBLAS, or the system does not list loaded libraries")
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    found = module.importlib.util.find_spec
    monkeypatch.setattr(
        module.importlib.util, "find_spec", lambda name: None if name == "threadpoolctl" else found(name)
    )
    tt.set_num_threads(1)
    assert set(module.blas_threads()) == {1}


@pytest.mark.parametrize("function", [tt.set_num_threads, tt.set_num_interop_threads])
def test_what_is_no_number_of_threads_is_refused(function):
    for wrong in (1.5, "2", True, None):
        with pytest.raises(ArgumentError, match="expects an int"):
            function(wrong)
    for wrong in (0, -1):
        with pytest.raises(ValueRangeError, match="positive"):
            function(wrong)


def test_the_cores_are_looked_up_once_where_no_native_kernels_keep_the_number(monkeypatch):
    reads = []
    monkeypatch.setattr(module, "load", lambda source: None)
    monkeypatch.setattr(module, "default_threads", lambda: reads.append(1) or 3)
    monkeypatch.setattr(module.Counts, "kernels", None)
    module.threads_at_first.cache_clear()
    try:
        assert [tt.get_num_threads() for _ in range(3)] == [3, 3, 3]
    finally:
        module.threads_at_first.cache_clear()
    assert len(reads) == 1


def test_operators_side_by_side_are_only_noted(monkeypatch):
    monkeypatch.setattr(module.Counts, "interop", None)
    assert tt.get_num_interop_threads() == default_threads()
    tt.set_num_interop_threads(3)
    assert tt.get_num_interop_threads() == 3
