from __future__ import annotations

import json

import pytest

import tt
from tt.distributed.call import Call
from tt.distributed.recorder import FlightRecorder


def test_records_say_what_happened_when_and_how_it_ended(monkeypatch):
    monkeypatch.setenv("TT_DISTRIBUTED_RECORDS", "2")
    recorder = FlightRecorder(rank=3)
    for number in (1, 2, 3):
        call = Call("broadcast", tt.ones(number), root=0)
        call.sequence = number
        record = recorder.start("0", 1, call)
        if number < 3:
            recorder.end(record, KeyError("lost") if number == 2 else None)
    failed, running = recorder.records()
    assert (failed.sequence, failed.state, failed.error, failed.rank) == (2, "failed", "'lost'", 1)
    assert failed.operation == "broadcast of float32[2] with root 0" and "test_recorder.py:" in failed.place
    assert (running.state, running.seconds) == ("running", None) and failed.seconds >= 0


def test_a_length_that_is_no_number_is_refused(monkeypatch):
    monkeypatch.setenv("TT_DISTRIBUTED_RECORDS", "many")
    with pytest.raises(ValueError, match="TT_DISTRIBUTED_RECORDS must be a number of operations, got 'many'"):
        FlightRecorder(rank=0)


def test_records_are_written_to_a_file_for_each_rank(tmp_path, monkeypatch):
    recorder = FlightRecorder(rank=3)
    recorder.start("0", 0, Call("barrier"))
    monkeypatch.delenv("TT_DISTRIBUTED_RECORD_FILE", raising=False)
    assert recorder.dump() is None
    assert recorder.dump(str(tmp_path / "x")) == str(tmp_path / "x.3")
    assert json.loads((tmp_path / "x.3").read_text())[0]["operation"] == "barrier"
    assert recorder.dump(str(tmp_path / "missing" / "x")) is None
