"""The time that `import tt` takes."""

from __future__ import annotations

import pytest

from benchmarks.import_time import measure_import


def test_the_import_is_measured_in_fresh_interpreters() -> None:
    found = measure_import(rounds=1)
    # Which is longer is for the benchmark to say: a machine that is busy decides it here.
    assert found.tt > 0 and found.numpy > 0
    assert found.to_dict()["difference"] == pytest.approx(found.tt - found.numpy)


def test_importing_tt_imports_no_plugin_and_nothing_that_can_wait() -> None:
    found = measure_import(rounds=1)
    assert found.plugin_modules == []
    assert found.on_demand_modules == []
