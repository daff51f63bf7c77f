"""Products by another BLAS and by native kernels in turns: what is measured, and how it is shown."""

from __future__ import annotations

import time

import pytest

from benchmarks import blas_table as module
from benchmarks.blas_table import Row, cases, compare, main, table
from tt.backends.cpu.native import loading
from tt.backends.cpu.native.linalg import products


def test_products_of_both_dtypes_are_measured() -> None:
    found = [case.name for case in cases("*")]
    assert {name.rpartition(" ")[2] for name in found} == {"float32", "float64"}
    assert len(found) > 60
    assert [case.name for case in cases("x @ y, 32x32x32, *")] == [
        "x @ y, 32x32x32, float32",
        "x @ y, 32x32x32, float64",
    ]


def test_both_take_turns() -> None:
    served: list[bool] = []
    (case,) = cases("x @ y, 32x32x32, float32")
    row = compare(case, served.append, time.perf_counter, 4, 1e-4)
    assert served == [True, False, False, True, True, False, False, True, True, False]
    assert row.case == case.name and row.native > 0 and row.ratio > 0 and row.error >= 0


def test_the_cases_that_a_library_wins_are_marked() -> None:
    shown = table([Row("large", 1000.0, 0.8, 0.01), Row("small", 1.0, 1.25, 0.02)], "mkl")
    assert shown.splitlines() == [
        "       native, us  mkl / native",
        "large     1,000.0  0.80 +-0.01  *",
        "small         1.0  1.25 +-0.02",
        "geometric mean 1.00; below 0.9, marked with *: 1 of 2",
    ]


@pytest.mark.skipif(not loading.status().active, reason="native kernels call the library")
def test_the_command_measures_scipys_blas(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        module, "set_threads", lambda count: None
    )  # of this process, whose libraries are there
    pattern = "x @ y, 32x32x32, float32"
    try:
        assert main(["scipy", "--cases", pattern, "--turns", "2", "--seconds", "0.001"]) == 0
    finally:
        products.NATIVE._serve_by(0, 0, False, False)
    assert pattern in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["scipy", "--cases", "none"])
