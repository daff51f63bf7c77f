"""The time that `import tt` takes."""

from __future__ import annotations

import pytest

from benchmarks.import_time import COMMANDS, cold_text, measure_cold, measure_import


def test_the_import_is_measured_in_fresh_interpreters() -> None:
    found = measure_import(rounds=1)
    # Which is longer is for the benchmark to say: a machine that is busy decides it here.
    assert found.tt > 0 and found.numpy > 0
    assert found.to_dict()["difference"] == pytest.approx(found.tt - found.numpy)


def test_importing_tt_imports_no_plugin_and_nothing_that_can_wait() -> None:
    found = measure_import(rounds=1)
    assert found.plugin_modules == []
    assert found.on_demand_modules == []


def test_a_cold_start_is_measured_part_by_part() -> None:
    found = measure_cold(rounds=1)
    names = ["import tt", "first tensor", "first forward", "first backward"]
    assert [step.name for step in found.steps] == names
    times, modules = [s.milliseconds for s in found.steps], [s.modules for s in found.steps]
    assert times == sorted(times) and modules == sorted(modules) and times[0] > 0 and modules[0] > 0
    assert found.further > 0 and list(found.commands) == list(COMMANDS)
    assert all(ms > times[0] for ms in found.commands.values())  # each imports tt and more, and starts Python
    text = cold_text(found)
    assert all(word in text for word in [*names, *COMMANDS])
