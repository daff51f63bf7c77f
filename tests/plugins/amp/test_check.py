"""`tt ops check` finds operators that do not keep to their policy of autocast."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tt.core.dispatch.registry.registry import REGISTRY
from tt.plugins.amp import check
from tt.plugins.amp.layer import AutocastLayer


def policy_of(operator: Any, device_type: str) -> str:
    return str(operator.definition.autocast_policy(device_type))


def test_the_operators_of_the_tree_keep_to_their_policies() -> None:
    assert AutocastLayer().check(list(REGISTRY.definitions())) == []


def test_most_operators_with_a_policy_are_called(monkeypatch: Any) -> None:
    counts: Counter[str] = Counter()
    calls = check._calls

    def counted(operator: Any, device: str, given: Any) -> Any:
        for call in calls(operator, device, given):
            counts[operator.name] += not check._fails(call)
            yield call

    monkeypatch.setattr(check, "_calls", counted)
    definitions = [d for d in REGISTRY.definitions() if d.autocast or d.autocast_cpu]
    list(check.faults(definitions, policy_of))
    called = [d.name for d in definitions if counts[d.name]]
    assert len(called) >= 0.8 * len(definitions), sorted({d.name for d in definitions} - {*called})


def test_planted_faults_are_found() -> None:
    def planted(operator: Any, device_type: str) -> str:
        return {"add": "lower", "relu": "float32", "mm": "widest"}.get(operator.name, "")

    definitions = [REGISTRY.definition(name) for name in ("add", "relu", "mm")]
    faults = list(check.faults(definitions, planted))
    assert {name for name, _ in faults} == {"add", "relu", "mm"}
    assert ("add", "autocast: lower, but of float32 on cpu it gives float32, not bfloat16") in faults
    assert ("relu", "autocast: float32, but of float16 on cuda it gives float16, not float32") in faults
