"""The curves: the cost of a call with many operators, plugins and devices; backward by length; throughput by size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.growth import (
    CROWDS,
    backward_cost,
    ceilings,
    crowd_cost,
    growth_text,
    slope,
    step_cost,
    throughput,
    training_step,
)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", CROWDS)
def test_a_call_is_measured_beside_a_crowd_that_is_there(kind: str) -> None:
    (found,) = crowd_cost(kind, [2], busy=True)
    assert found["count"] == 2
    for name in ("a + b", "a + b, with gradient"):
        assert found[name]["microseconds"] > 0
        assert found[name]["to_numpy"] > 0


@pytest.mark.exhaustive
def test_a_crowd_that_cannot_be_made_is_an_error() -> None:
    with pytest.raises(RuntimeError, match=r"65 devices: .*disable plugins that are not needed"):
        crowd_cost("devices", [65])  # there are 62 bits for devices, layouts and layers


def test_the_growth_of_costs_is_the_power_of_the_size() -> None:
    sizes = [10.0, 100.0, 1000.0]
    assert slope(sizes, [5.0, 5.0, 5.0]) == pytest.approx(0)
    assert slope(sizes, [2 * size for size in sizes]) == pytest.approx(1)
    assert slope([0, 10, 100], [3.0, 30.0, 300.0]) == pytest.approx(1)  # none counts as one


def test_backward_is_measured_for_each_length_and_library() -> None:
    found = backward_cost(["tt"], [5, 50], rounds=1, busy=True)
    assert [point["nodes"] for point in found["tt"]] == [5, 50]
    assert all(point["microseconds"] > 0 for point in found["tt"])


def test_steps_are_measured_for_each_number_of_operators() -> None:
    found = step_cost(["tt"], [5, 50], rounds=1, busy=True)
    assert [point["operators"] for point in found["tt"]] == [5, 50]
    assert all(point["microseconds"] > 0 for point in found["tt"])


@pytest.mark.torch
def test_a_step_computes_and_changes_the_same_in_both_libraries() -> None:
    import torch

    import tt

    changed = {}
    for name, lib in (("tt", tt), ("torch", torch)):
        step = training_step(name)
        weights = step.__closure__ and next(
            cell.cell_contents for cell in step.__closure__ if isinstance(cell.cell_contents, list)
        )
        step(50)
        changed[name] = [weight.detach().numpy() for weight in weights or []]
        assert len(changed[name]) == 16 and isinstance(weights[0], lib.Tensor)
    for ours, theirs in zip(changed["tt"], changed["torch"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.exhaustive
def test_curves_are_tables_with_the_ceilings_beside_them() -> None:
    crowd = {"a + b": {"microseconds": 0.5, "to_numpy": 2.0}}
    found: dict[str, Any] = {
        "crowd": {"plugins": [{"count": 0, **crowd}, {"count": 64, **crowd}]},
        "backward": {"tt": [{"nodes": 10, "microseconds": 2.0}, {"nodes": 1000, "microseconds": 2.0}]},
        "steps": {"tt": [{"operators": 10, "microseconds": 3.0}, {"operators": 100, "microseconds": 30.0}]},
        "throughput": throughput(["tt", "numpy"], [16], [2]),
        "ceilings": {"memory_gigabytes_a_second": 12.34, "product_gigaflops": 99.9},
    }
    text = growth_text(found)
    assert text.startswith(
        "a call by the number of plugins\n"
        "plugins  a + b, us  a + b, to NumPy's\n"
        "0             0.50               2.00\n"
        "64            0.50               2.00\n"
        "\n"
        "backward through a chain\n"
        "nodes                 tt, us a node\n"
        "10                             2.00\n"
        "1,000                          2.00\n"
        "grows with the power          +0.00\n"
        "\n"
        "training steps\n"
        "operators             tt, us an operator\n"
        "10                                  3.00\n"
        "100                                30.00\n"
        "grows with the power               +1.00\n"
    )
    for statement in ("x + y", "exp(x)", "x.sum()", "m @ n"):
        assert f"\n{statement}\n" in text
        (point,) = found["throughput"][statement]
        assert point["tt"] > 0 and point["numpy"] > 0
    assert text.endswith("12.3 GB/s from memory to memory, 100 GFLOP/s in a product of float32")


def test_the_machine_has_a_ceiling() -> None:
    assert all(value > 0 for value in ceilings(2).values())
