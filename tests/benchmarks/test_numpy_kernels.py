"""NumPy kernels against what serves without them: which are measured, with what, and how the means are shown."""

from __future__ import annotations

import csv

import pytest

import tt
from benchmarks import numpy_kernels as module
from benchmarks.numpy_kernels import Row, geometric_means, measure, own_kernels, serving
from tt.core.library import REGISTRY


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(module, "TURNS", 1)
    monkeypatch.setattr(module, "SECONDS", 1e-6)


def test_the_kernels_of_numpy_are_measured_in_both_orders(quick):
    (op, own), *others = own_kernels("hypot*").items() or [("", [])]
    assert not others and not any(registration.kernel.native for registration in own)
    rows = list(measure(op, ["float32"]))
    assert [(row.op, row.form, row.dtype, row.order) for row in rows][:2] == [
        (op, "functional", "float32", "rows"),
        (op, "functional", "float32", "reversed"),
    ]
    assert all(row.kernel_us > 0 and row.other_us > 0 and row.elements > 1000 for row in rows)


def test_a_kernel_is_back_when_it_has_been_measured():
    own = own_kernels("hypot")["hypot"]
    before = list(REGISTRY.kernels["hypot"])
    with serving("hypot", own):
        assert [registration.kernel for registration in REGISTRY.kernels["hypot"]][: len(own)] == [
            registration.kernel for registration in own
        ]
        assert tt.hypot(tt.tensor(3.0), tt.tensor(4.0)) == 5
    assert REGISTRY.kernels["hypot"] == before


def test_the_mean_of_ratios_is_geometric():
    row = Row("scan", "cumsum", "functional", "cumsum(self, dim)", "int64", "rows", 10, 2.0, 4.0, "composite")
    rows = [row, row._replace(other_us=16.0)]
    (mean,) = geometric_means(rows).values()
    assert mean == pytest.approx((4.0, 2.0, 8.0))


def test_a_row_is_written_for_each_case(quick, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(module.loading, "status", lambda: module.loading.NativeStatus(False, "", ()))
    assert module.main(["--ops", "hypot", "--dtypes", "float64", "--csv", str(tmp_path / "rows.csv")]) == 0
    with open(tmp_path / "rows.csv", newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == Row._fields and rows
    assert "below 2, marked with *" in capsys.readouterr().out
