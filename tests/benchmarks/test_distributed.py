"""The benchmark of collectives: it runs with the libraries that are there, and its table says what it measured."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest

from benchmarks.distributed import (
    LIBRARIES,
    NEEDS,
    distributed_text,
    main,
    measure_all,
    measure_one_rank,
    measure_overlap,
    measure_schemes,
    one_rank_text,
    overlap_text,
    schemes_text,
)


def test_ranks_measure_a_collective_without_other_libraries(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("benchmarks.distributed.LIBRARIES", LIBRARIES[:2])
    file = tmp_path / "found.json"
    assert main(["--rounds", "1", "--cases", "1 KB", "--json", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[2].startswith("| 1 KB | ")
    found = json.loads(file.read_text())["1 KB"]
    assert set(found) == {"tt on gloo", "tt on gloo without guard"}
    assert all(0.0 < seconds < 10.0 for seconds in found.values())


@pytest.mark.mpi4py
def test_the_ranks_of_each_library_measure_a_collective():
    pytest.importorskip("mpi4py")
    found = measure_all(2, 1, ["1 KB"])["1 KB"]
    assert set(found) == {name for name in LIBRARIES if name not in NEEDS or find_spec(NEEDS[name])}
    assert all(0.0 < seconds < 10.0 for seconds in found.values())


def test_what_is_not_installed_is_an_error(monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.distributed.find_spec", lambda name: None if name == "mpi4py" else name)
    with pytest.raises(SystemExit) as stopped:
        main(["--schemes"])
    assert stopped.value.code == 2
    assert "not installed: mpi4py" in capsys.readouterr().err


def test_the_table_has_times_and_ratios_and_dashes_for_what_is_not_there():
    found = {
        "1 MB": {
            "tt on gloo": 3e-4, "tt on gloo without guard": 2.5e-4, "tt on mpi": 9e-4, "torch": 6e-4, "mpi4py": 2e-4,
        },
        "a step": {"tt on gloo": 0.02, "torch": 0.04},
    }  # fmt: skip
    assert distributed_text(found).splitlines()[2:] == [
        "| 1 MB | 300 µs | +20 % | 900 µs | 600 µs | 200 µs | 0.50 | 1.50 |",
        "| a step | 20.00 ms | - | - | 40.00 ms | - | 0.50 | - |",
    ]


@pytest.mark.exhaustive
@pytest.mark.mpi4py
def test_each_way_to_divide_a_model_is_measured():
    pytest.importorskip("mpi4py")
    found = measure_schemes(1, (1,))
    assert set(found[1]) == {"1 KB", "25 MB", "copy of 25 MB", "computing", "DDP", "ZeRO", "FSDP"}
    assert all(0.0 < seconds < 10.0 for seconds in found[1].values())


def test_predictions_are_computing_copies_and_the_messages():
    megabytes = {"1 KB": 1e-4, "25 MB": 1e-4 + 0.025, "copy of 25 MB": 0.002}
    row = {**megabytes, "computing": 0.03, "DDP": 0.09, "ZeRO": 0.1, "FSDP": 0.2}
    lines = schemes_text({1: row, 2: row}).splitlines()
    size = 4.0 * 10 * 1000 * 1001 / (25 << 20)  # the parameters' bytes as parts of 25 MB
    ddp = 0.03 + size * (2 * 0.002 + 0.025) + 3e-4  # three buckets, each with a latency
    assert lines[2].split("|")[1:6] == [" 1 ", " 30.00 ms ", " 90.00 ms ", " 30.00 ms ", " 100.00 ms "]
    assert lines[3].split("|")[4] == f" {ddp * 1e3:.2f} ms "


def test_ddp_on_one_rank_is_compared_with_the_model_alone(monkeypatch):
    monkeypatch.setattr("benchmarks.distributed.WIDTH", 10)
    found = measure_one_rank(1)
    assert set(found) == {"computing", "DDP"} and all(seconds > 0 for seconds in found.values())
    assert one_rank_text({"computing": 0.02, "DDP": 0.0204}).endswith("on one rank: +2.0 %")


@pytest.mark.exhaustive
@pytest.mark.mpi4py
def test_sharded_training_is_compared_with_one_that_waits_on_each_network(monkeypatch):
    pytest.importorskip("mpi4py")
    monkeypatch.setattr("benchmarks.distributed.NETWORKS", {"fast": 1e10})
    found = measure_overlap(1, 1)
    assert set(found) == {"fast"}
    assert all(set(row) == {"FSDP", "FSDP that waits"} for row in found.values())
    assert overlap_text({"fast": {"FSDP": 0.03, "FSDP that waits": 0.04}}).splitlines()[-1] == (
        "| fast | 40.00 ms | 30.00 ms | 0.75 |"
    )
