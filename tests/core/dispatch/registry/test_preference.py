"""Rules that say which plugins serve operators first."""

from __future__ import annotations

from tt.core.dispatch.registry.preference import PreferenceRule


def test_a_rule_covers_overloads_and_devices():
    rule = PreferenceRule(("a",), "cpu", "max*")
    assert rule.covers("max.dim", "cpu") and rule.covers("maximum", "cpu")
    assert not rule.covers("max", "cuda") and not rule.covers("amax", "cpu") and not rule.covers("max", None)
    assert PreferenceRule(("a",), ops="max").covers("max.dim", None)
