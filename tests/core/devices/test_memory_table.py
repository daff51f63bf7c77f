"""The table of a device's memory."""

from __future__ import annotations

from tt.core.devices.memory_table import memory_table

STATS = {
    "allocated_bytes.all.current": 512, "allocated_bytes.all.peak": 2**30, "allocation.all.current": 3, "num_ooms": 1,
}  # fmt: skip


def test_sizes_counts_and_failures_have_a_line_each():
    lines = memory_table("cuda:1", STATS).splitlines()
    assert lines[0] == "memory of cuda:1"
    assert lines[2].split() == [
        "Allocated",
        "memory",
        "512",
        "bytes",
        "1.00",
        "GiB",
        "0",
        "bytes",
        "0",
        "bytes",
    ]
    assert lines[3].split() == ["Allocations", "3", "0", "0", "0"] and lines[4:] == ["Out of memory: 1"]


def test_an_abbreviated_table_leaves_out_counts():
    assert len(memory_table("cuda:1", STATS, abbreviated=True).splitlines()) == 3


def test_a_device_without_statistics_says_so():
    assert memory_table("cpu", {}).endswith("the device keeps no statistics, or was not used")
