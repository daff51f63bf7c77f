"""Composites in the registry: the core's by family, those of others before them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.processes import printed_by
from tt.core.dispatch.registry.registry import Registry
from tt.core.dispatch.registry.tables import CompositeTable


@pytest.fixture
def registry() -> Registry:
    return Registry()


def other(*args: Any) -> Any:
    return args


def test_a_family_is_registered_when_one_of_its_operators_is_asked_for(registry: Registry) -> None:
    assert registry.composites == {}
    found = registry.composite("square")
    assert found is not None and found.function.__module__ == "tt.operators.pointwise.composites"
    assert "square" in registry.composites and "fft_fft" not in registry.composites


def test_an_operator_without_composite_has_none(registry: Registry) -> None:
    assert registry.composite("no such operator") is None and registry.composite("add") is None


@pytest.mark.parametrize("asked", [False, True])
def test_what_the_program_adds_counts_before_the_core_whenever_it_is_added(
    registry: Registry, asked: bool
) -> None:
    if asked:
        registry.composite("square")
    with registry.add(CompositeTable({"square": other})):
        found = registry.composite("square")
        assert found is not None and found.function is other
        assert len(registry.composites["square"]) == 2
    found = registry.composite("square")
    assert found is not None and found.function is not other


def test_a_report_has_all_families(registry: Registry) -> None:
    registry.composites.load_all()
    assert {"square", "fft_fft", "kron", "huber_loss"} <= registry.composites.keys()


IMPORTED = """
import sys
import tt
tt.square(tt.ones(2))
print("tt.operators.fft.composites" in sys.modules)
"""


def test_a_call_imports_its_family_only() -> None:
    printed_by(IMPORTED, {})  # makes the index of families, if there is none
    assert printed_by(IMPORTED, {}).split() == ["False"]
