from __future__ import annotations

import json

import pytest

from tt.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure, record


@pytest.fixture
def error_file(tmp_path, monkeypatch):
    path = tmp_path / "error.json"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(path))
    return path


def leave(kind):
    raise kind


def test_an_exception_is_kept_and_raised(error_file):
    with pytest.raises(ValueError, match="wrong"):
        record(leave)(ValueError("wrong"))
    failure = ProcessFailure.of(str(error_file), rank=2, local_rank=0, pid=5, exitcode=1, timestamp=0.0)
    assert failure.message == "ValueError: wrong"
    assert "in leave\n    raise kind\nValueError: wrong" in failure.traceback
    assert failure.timestamp > 0, "when it was raised, not when the process ended"


@pytest.mark.torch
def test_the_file_has_what_pytorchs_launcher_reads(error_file):
    reference = pytest.importorskip("torch.distributed.elastic.multiprocessing.errors")
    contents = []
    for decorate in (reference.record, record):
        with pytest.raises(ValueError, match="wrong"):
            decorate(leave)(ValueError("wrong"))
        contents.append(json.loads(error_file.read_text())["message"])
    assert contents[0]["message"] == contents[1]["message"]
    assert contents[0]["extraInfo"].keys() <= contents[1]["extraInfo"].keys()
    theirs = reference.ProcessFailure(local_rank=0, pid=5, exitcode=1, error_file=str(error_file))
    assert (theirs.message, theirs.timestamp) == (contents[1], int(contents[1]["extraInfo"]["timestamp"]))


def test_leaving_well_is_no_failure(error_file):
    assert record(lambda: 7)() == 7
    assert record(leave)(SystemExit(0)) is None
    with pytest.raises(SystemExit):
        record(leave)(SystemExit(3))
    assert not error_file.exists()


def test_without_a_launcher_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.delenv("TORCHELASTIC_ERROR_FILE", raising=False)
    with pytest.raises(ValueError, match="wrong"):
        record(leave)(ValueError("wrong"))


@pytest.mark.parametrize("content", ["", "{", "[]", '{"message": "old"}', '{"message": {"message": "x"}}'])
def test_a_broken_file_leaves_what_the_process_itself_says(tmp_path, content):
    path = tmp_path / "error.json"
    path.write_text(content)
    failure = ProcessFailure.of(str(path), rank=2, local_rank=0, pid=5, exitcode=-11, timestamp=1.0)
    assert (failure.message, failure.signal_name) == ("", "SIGSEGV")


def test_the_summary_begins_with_the_first_failure():
    late = ProcessFailure(0, 0, 10, 1, 50.0, "alpha", "ValueError: late\nmore", "Trace")
    early = ProcessFailure(1, 1, 11, -9, 40.0, "alpha")
    error = ChildFailedError("train.py", {0: late, 1: early})
    assert error.get_first_failure() == (1, early)
    lines = str(error).splitlines()
    assert lines[0] == "train.py failed. The first failure:"
    assert "rank 1 (local rank 1, pid 11 on alpha) was ended by SIGKILL" in lines[1]
    assert lines[-2] == "Later failures:"
    assert lines[-1].endswith("ValueError: late")
