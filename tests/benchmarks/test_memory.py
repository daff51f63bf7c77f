"""How much memory tensors, nodes and backward passes take, read from the system."""

from __future__ import annotations

import pytest

from benchmarks import memory
from benchmarks.memory import FIGURES, measure_memory, memory_text


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, dict[str, float]]]:
    if not memory.supported():
        pytest.skip("the system does not report the memory of a process")
    return measure_memory(["tt"])


@pytest.mark.exhaustive
def test_a_tensor_takes_some_bytes_and_with_its_memory_more(
    found: dict[str, dict[str, dict[str, float]]],
) -> None:
    assert list(found) == list(FIGURES)
    alias, own, node = (found[name]["tt"]["bytes"] for name in ("alias", "one_element", "node"))
    assert 32 < alias < own < 2000
    assert 32 < node < 2000


@pytest.mark.exhaustive
def test_backward_frees_what_it_has_passed(found: dict[str, dict[str, dict[str, float]]]) -> None:
    backward = found["backward"]["tt"]
    assert 99 * backward["tensor"] < backward["forward"] < 110 * backward["tensor"]
    # What backward adds are the few gradients on the way, not one for each node.
    assert backward["peak_over_forward"] < 5 * backward["tensor"]
    assert backward["halfway"] < 60 * backward["tensor"]
    assert backward["left"] < 5 * backward["tensor"]


def test_an_error_in_the_other_process_names_the_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "supported", lambda: True)
    with pytest.raises(RuntimeError, match=r"alias of no_such_library: .*No module named"):
        measure_memory(["no_such_library"])


def test_without_the_systems_figures_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "supported", lambda: False)
    assert measure_memory(["tt"]) == {}
    assert memory_text({}) == "memory: not measured, the system does not report the memory of a process"
