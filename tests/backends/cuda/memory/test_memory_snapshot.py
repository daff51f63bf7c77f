"""Events of memory as they are recorded, snapshots and pictures of them."""

from __future__ import annotations

import pickle

import pytest

import tt
from tt.backends.cuda.memory.memory_snapshot import memory_picture
from tt.backends.cuda.memory.memory_stats import History, Ledger
from tt.errors import ValueRangeError


def test_events_are_recorded_when_asked_for(cuda, tmp_path):
    tt.ones(1, device="cuda")
    with pytest.warns(UserWarning, match="no events were recorded"):
        tt.cuda.memory.memory_picture()
    tt.cuda.memory._record_memory_history(max_entries=100)
    x = tt.empty(1000, device="cuda")
    del x
    first, other = tt.cuda.memory._snapshot()["device_traces"]
    assert [event["action"] for event in first] == [
        "segment_alloc",
        "alloc",
        "free_requested",
        "free_completed",
    ]
    assert first[1]["size"] == 4096 and first[1]["frames"][0]["name"] and not other
    tt.cuda.memory._dump_snapshot(tmp_path / "snapshot.pickle")
    with open(tmp_path / "snapshot.pickle", "rb") as file:
        assert pickle.load(file)["device_traces"][0] == first
    assert "4096 bytes at" in tt.cuda.memory.memory_picture()
    tt.cuda.memory._record_memory_history(None)
    assert tt.cuda.memory._snapshot()["device_traces"] == [[], []]
    tt.cuda.memory._record_memory_history("state", context=None, device=1)
    y = tt.ones(1, device="cuda:1")
    assert tt.cuda.memory_snapshot(1)[0]["blocks"][0]["frames"] == [] and y.numel() == 1
    for options in ({"enabled": "some"}, {"stacks": "c"}, {"context": "x"}, {"max_entries": 0}):
        with pytest.raises(ValueRangeError, match="_record_memory_history"):
            tt.cuda.memory._record_memory_history(**options)


def test_a_snapshot_shows_blocks_and_what_lies_between():
    ledger = Ledger()
    ledger.grown(1 << 20, 4096, 3)
    ledger.allocated((1 << 20) + 512, 1024, 900, 3)
    ledger.allocated((1 << 20) + 2048, 512, 512, 3)
    ledger.freed((1 << 20) + 2048, waits=True)
    ledger.allocated(64, 512, 10, 0)  # of an allocator without segments
    alone, segment = ledger.snapshot(1)
    assert (alone["address"], alone["total_size"], alone["allocated_size"]) == (64, 512, 512)
    assert {k: segment[k] for k in ("device", "address", "total_size", "allocated_size", "active_size", "stream")} == {
        "device": 1, "address": 1 << 20, "total_size": 4096, "allocated_size": 1024, "active_size": 1536, "stream": 3,
    }  # fmt: skip
    assert [(b["size"], b["state"]) for b in segment["blocks"]] == [
        (512, "inactive"), (1024, "active_allocated"), (512, "inactive"), (512, "active_awaiting_free"),
        (1536, "inactive"),
    ]  # fmt: skip
    assert ledger.stats()["reserved_bytes.all.current"] == 4096
    ledger.shrunk(1 << 20)
    assert ledger.stats()["segment.all.freed"] == 1 and ledger.stats()["reserved_bytes.all.peak"] == 4096


def test_a_picture_shows_bars_that_fall_when_what_is_below_is_freed():
    ledger = Ledger()
    ledger.history = History()
    ledger.grown(0, 2048, 0)
    ledger.allocated(0, 1024, 1024, 0)
    ledger.allocated(1024, 512, 512, 0)
    ledger.freed(0)
    picture = memory_picture({"device_traces": [[], list(ledger.history.entries)]}, 1)
    assert picture.startswith("<svg ") and picture.rstrip().endswith("</svg>")
    assert picture.count("<rect ") == 3, "one bar for the first, two for the second: it fell"
    assert (
        "1024 bytes at 0x0" in picture and "512 bytes at 0x400" in picture and "Memory of cuda:1" in picture
    )
