"""The command that verifies tt on a machine with a GPU: its parts, its files, and the record."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks.cuda import machine, record, run, stress, verify
from benchmarks.cuda.verify import Part

FACTS = {"commit": "abc123", "gpu": "Test GPU", "cupy-cuda12x": "14.2", "driver": "CUDA 12.4"}


def program(text):
    return lambda: [sys.executable, "-c", text]


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A folder of sources whose record is written, and not that of the repository."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "common.cuh").write_text("// shared\n")
    (folder / "one.cuh").write_text('#include "common.cuh"\n// one\n')
    (folder / "alone.cuh").write_text("// alone\n")
    monkeypatch.setattr(record, "SOURCES", folder)
    monkeypatch.setattr(record, "FILE", folder / "verified.json")
    for function in (record.digests, record.read, record.standing, record.write):
        defaults = [folder if d.is_dir() else folder / "verified.json" for d in function.__defaults__]
        monkeypatch.setattr(function, "__defaults__", tuple(defaults))
    monkeypatch.setattr(verify, "ROOT", tmp_path)
    return folder


@pytest.fixture
def gpu(monkeypatch):
    """A machine with a GPU, as far as the program asks."""
    facts = dict(FACTS)
    monkeypatch.setattr(machine, "problem", lambda: None)
    monkeypatch.setattr(machine, "facts", lambda: facts)
    return facts


def test_without_a_gpu_nothing_is_run_or_written(capsys, monkeypatch, tmp_path, sources):
    monkeypatch.setattr(machine, "problem", lambda: "no NVIDIA driver is installed")
    folder = tmp_path / "out"
    assert verify.main([], folder=folder) == 2
    assert capsys.readouterr().err == "nothing is verified: no NVIDIA driver is installed\n"
    assert not folder.exists() and not record.FILE.exists()
    assert run.main([]) == 2 and stress.main([]) == 2
    assert capsys.readouterr().err == (
        "nothing is measured: no NVIDIA driver is installed\nnothing is tried: no NVIDIA driver is installed\n"
    )


def test_parts_that_pass_write_the_record(capsys, gpu, sources, tmp_path):
    parts = [Part("one", "the first", program("print('fine')"), 1), Part("two", "the second", program(""), 1)]
    file = tmp_path / "out.json"
    assert verify.main(["--json", str(file)], parts, tmp_path / "out") == 0
    out = capsys.readouterr().out
    assert "one: passed in " in out and "two: passed in " in out
    assert "sources/verified.json names 3 sources; commit it" in out
    found = record.read()
    assert set(found) == {"common.cuh", "one.cuh", "alone.cuh"}
    assert (found["one.cuh"].gpu, found["one.cuh"].version) == (
        "Test GPU",
        "cupy-cuda12x 14.2, driver CUDA 12.4",
    )
    assert (tmp_path / "out" / "one.log").read_text() == "fine\n"
    data = json.loads(file.read_text())
    assert data["ok"] and [p["state"] for p in data["parts"]] == ["passed", "passed"]
    assert data["record"]["one.cuh"]["sha256"] == record.digests()["one.cuh"]


def test_a_part_that_fails_is_shown_and_nothing_is_recorded(capsys, gpu, sources, tmp_path):
    parts = [
        Part("bad", "a bad one", program("print('wrong'); raise SystemExit(3)"), 1),
        Part("good", "a good one", program(""), 1),
    ]
    assert verify.main([], parts, tmp_path / "out") == 1
    out = capsys.readouterr().out
    assert (
        "bad: failed in " in out
        and ": exit status 3\n    wrong\n  all of it: " in out
        and "good: passed" in out
    )
    assert "the record is not written: open or failed: bad" in out and not record.FILE.exists()


def test_what_passed_is_kept_for_the_same_commit_and_gpu(capsys, gpu, sources, tmp_path):
    count = tmp_path / "count"
    text = f"open({str(count)!r}, 'a').write('x')"
    parts = [
        Part("counted", "counted", program(text), 1),
        Part("bad", "bad", program("raise SystemExit(1)"), 1),
    ]
    for _ in range(2):
        assert verify.main([], parts, tmp_path / "out") == 1
    assert count.read_text() == "x" and "counted: kept: passed before" in capsys.readouterr().out
    verify.main(["--again", "--only", "counted"], parts, tmp_path / "out")
    assert count.read_text() == "xx"
    gpu["commit"] = "def456"
    verify.main(["--only", "counted"], parts, tmp_path / "out")
    assert count.read_text() == "xxx"


def test_parts_can_be_run_one_by_one_until_all_have_passed(capsys, gpu, sources, tmp_path):
    parts = [
        Part("one", "one", program(""), 1),
        Part("two", "two", program(""), 1),
        Part("speed", "speed", program(""), 1, recorded=False),
    ]
    assert verify.main(["--only", "one"], parts, tmp_path / "out") == 0
    assert "the record is not written: open or failed: two" in capsys.readouterr().out
    assert verify.main(["--only", "two"], parts, tmp_path / "out") == 0
    assert "names 3 sources" in capsys.readouterr().out


def test_a_part_that_cannot_be_run_is_skipped_and_the_record_says_so(capsys, gpu, sources, tmp_path):
    parts = [
        Part("one", "one", program(""), 1),
        Part("memcheck", "memcheck", program(""), 1, lambda: "compute-sanitizer is not installed"),
    ]
    assert verify.main([], parts, tmp_path / "out") == 0
    assert "memcheck: skipped: compute-sanitizer is not installed" in capsys.readouterr().out
    assert record.read()["one.cuh"].version.endswith("; without memcheck")


def test_files_that_differ_from_the_commit_are_not_recorded(capsys, gpu, sources, tmp_path):
    gpu["commit"] = "abc123-dirty"
    assert verify.main([], [Part("one", "one", program(""), 1)], tmp_path / "out") == 0
    assert "files differ from the commit" in capsys.readouterr().out and not record.FILE.exists()


def test_a_part_that_takes_too_long_or_cannot_start_has_failed(tmp_path):
    slow = Part("slow", "slow", program("import time; time.sleep(60)"), 0.003)
    found = verify.run_part(slow, tmp_path)
    assert (found.state, found.detail) == ("failed", "not done after 0.003 minutes")
    found = verify.run_part(Part("none", "none", lambda: ["/no/such/program"], 1), tmp_path)
    assert found.state == "failed" and "No such file" in found.detail


def test_the_record_tells_what_changed_since(sources):
    assert set(record.standing().values()) == {"never verified on a GPU"}
    record.write("Test GPU", "CuPy 14.2")
    assert all(state.startswith("verified on Test GPU, 20") for state in record.standing().values())
    (sources / "common.cuh").write_text("// other\n")
    states = record.standing()
    assert states["alone.cuh"].startswith("verified on Test GPU")
    for name in ("common.cuh", "one.cuh"):
        assert states[name].startswith("changed since 20") and states[name].endswith("on Test GPU")


def test_the_record_of_the_repository_names_sources_that_there_are():
    found = record.read()
    assert set(found) <= set(record.digests())
    for entry in found.values():
        assert len(entry.sha256) == 64 and entry.gpu and entry.date and entry.version


def test_the_parts_of_the_program(capsys):
    assert verify.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [part.name for part in verify.PARTS]
    assert "compute-sanitizer --tool racecheck" in lines[6] and "--checks values" in lines[6]
    assert {"conv2d", "_attention", "mm", "max_pool2d_with_indices"} <= set(verify.own_operators())
    assert verify.main(["--status"]) == 0
    assert "convolution.cuh: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("main", "words", "problem"),
    [
        (verify.main, ["--only", "test"], "no part is named 'test'; there are: tests, conformance"),
        (stress.main, ["heap"], "there is no 'heap'; there are: memory, streams, graphs"),
        (run.main, ["--cases", "nothing"], "no case matches nothing; --list shows them"),
        (run.main, ["--rounds", "0"], "--rounds and --seconds must be positive"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_refused(capsys, main, words, problem):
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert problem in capsys.readouterr().err


def test_cases_are_listed(capsys):
    assert run.main(["--list", "--cases", "ADD*"]) == 0
    assert capsys.readouterr().out == "add, 2^10\nadd, 2^28\n"
