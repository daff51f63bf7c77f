"""The benchmark of collectives: it runs with the libraries that are there, and its table says what it measured."""

from __future__ import annotations

import pytest

from benchmarks.distributed import distributed_text, main, measure_all


@pytest.mark.mpi4py
def test_the_ranks_of_each_library_measure_a_collective(capsys):
    pytest.importorskip("mpi4py")
    found = measure_all(2, 1, ["1 KB"])
    assert {"tt", "tt without guard", "mpi4py"} <= set(found["1 KB"])
    assert all(0.0 < seconds < 10.0 for seconds in found["1 KB"].values())
    assert main(["--rounds", "1", "--cases", "1 KB"]) == 0
    assert capsys.readouterr().out.splitlines()[2].startswith("| 1 KB | ")


def test_the_table_has_times_and_ratios_and_dashes_for_what_is_not_there():
    found = {
        "1 MB": {"tt": 3e-4, "tt without guard": 2.5e-4, "torch": 6e-4, "mpi4py": 2e-4},
        "a step": {"tt": 0.02, "torch": 0.04},
    }
    assert distributed_text(found).splitlines()[2:] == [
        "| 1 MB | 300 µs | +20 % | 600 µs | 200 µs | 0.50 | 1.50 |",
        "| a step | 20.00 ms | - | 40.00 ms | - | 0.50 | - |",
    ]
