"""Loaders with workers for tests, and a fixture that fails when something is left over."""

from __future__ import annotations

import contextlib
import gc
import os
import time
from multiprocessing import resource_tracker

import numpy as np
import pytest

from tt.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

MARKS = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are started by fork here"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
"""Of test files whose loaders have workers."""

SETTLING = 5.0
"""Seconds after which files of concurrent tests in /dev/shm are gone, and leaked files remain."""


def left_over():
    """Return what must not grow: open files, shared memory with a name, mappings of segments, child processes."""
    gc.collect()
    with open("/proc/self/maps", encoding="utf-8") as maps:
        mapped = sum("memfd:tt" in line for line in maps)
    own = f"tt_{os.getpid()}_"
    names = sorted(
        name for name in os.listdir("/dev/shm") if name.startswith(own) or not name.startswith("tt_")
    )
    return len(open_files()), names, mapped, children()


def open_files():
    """Return the descriptors of this process, but for what threads of kernels read from their first job on."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{name}") != "/proc/loadavg":
                found.append(name)
    return found


def children():
    """Return the processes that this one has started and not waited for, but for the one that Python keeps."""
    found = []
    tracker = resource_tracker._resource_tracker._pid
    for name in os.listdir("/proc"):
        if name.isdecimal() and int(name) != tracker:
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8") as stat:
                    if int(stat.read().rpartition(")")[2].split()[1]) == os.getpid():
                        found.append(int(name))
            except OSError:
                pass
    return sorted(found)


@pytest.fixture(autouse=True)
def nothing_is_left_over():
    if not os.path.isdir("/proc/self/fd"):
        yield
        return
    gc.collect()
    gc.freeze()  # or each collection, of which a test makes several, walks over all that is there: half a second
    before = left_over()
    yield
    deadline = time.monotonic() + SETTLING
    while left_over() != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left_over() == before


class Made(Dataset):
    """Elements made by a function in the worker."""

    def __init__(self, make, length=8):
        self.make, self.length = make, length

    def __getitem__(self, index):
        return self.make(index)

    def __len__(self):
        return self.length


class Shares(IterableDataset):
    """Numbers up to a length, of which each worker has some."""

    def __init__(self, length):
        self.length = length

    def __iter__(self):
        info = get_worker_info()
        return iter(range(info.id, self.length, info.num_workers))


def loader(make, length=8, **options):
    return DataLoader(Made(make, length), **{"num_workers": 2, "multiprocessing_context": "fork", **options})


def image(index):
    return np.full((40, 40), index, np.float32), index
