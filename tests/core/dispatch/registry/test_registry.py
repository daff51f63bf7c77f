"""Registering: conflicts, what is shadowed and comes back, priorities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tests.processes import printed_by
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import (
    DuplicateRegistrationError,
    UnknownNameError,
)


def test_registering_twice_names_both_distributions(probe: Any) -> None:
    probe.kernel("exp", np.exp)
    with pytest.raises(DuplicateRegistrationError) as caught:
        probe.kernel("exp", np.exp, source="other-dist")
    text = str(caught.value)
    assert "first by probe-dist 1.0" in text
    assert "again by other-dist 1.0" in text
    assert "override=True" in text


def test_different_dtypes_of_one_operator_are_no_conflict(probe: Any) -> None:
    probe.kernel("exp", np.exp, dtypes=("float32",))
    probe.kernel("exp", lambda self: np.exp(self) + 1, dtypes=("float64",))
    assert tt.exp(probe.tensor([0.0], tt.float32))._handle.tolist() == [1.0]
    assert tt.exp(probe.tensor([0.0], tt.float64))._handle.tolist() == [2.0]


def test_unregistering_restores_what_was_shadowed(probe: Any) -> None:
    x = probe.tensor([0.0], tt.float32)
    probe.kernel("exp", np.exp)
    assert tt.exp(x)._handle.tolist() == [1.0]
    override = probe.kernel("exp", lambda self: self + 7, override=True)
    assert tt.exp(x)._handle.tolist() == [7.0]
    override.remove()
    assert tt.exp(x)._handle.tolist() == [1.0]
    override.remove()
    assert tt.exp(x)._handle.tolist() == [1.0]


def test_the_highest_priority_serves(probe: Any) -> None:
    probe.kernel("exp", lambda self: self + 2, priority=5)
    probe.kernel("exp", np.exp)
    assert tt.exp(probe.tensor([0.0], tt.float32))._handle.tolist() == [2.0]


def test_a_kernel_whose_library_is_missing_is_passed_over_with_the_reason(probe: Any) -> None:
    missing: list[str] = ["libfast.so is not there"]

    def problem() -> str | None:
        return missing[0] if missing else None

    probe.kernel("exp", lambda self: self + 2, priority=5, available=problem, by="libfast")
    probe.kernel("exp", np.exp)
    x = probe.tensor([0.0], tt.float32)
    assert tt.exp(x)._handle.tolist() == [1.0]
    first, second = tt.explain("exp", ["probe:float32"]).steps()
    assert (first["taken"], first["reason"]) == (False, "libfast is not available: libfast.so is not there")
    assert (second["taken"], second["reason"]) == (True, "serves the dtype")
    missing.clear()
    probe.kernel("exp", lambda self: self, priority=-1)  # registering resolves anew
    assert tt.exp(x)._handle.tolist() == [2.0]
    assert tt.explain("exp", ["probe:float32"]).steps()[0]["reason"].endswith(", by libfast")


def test_the_first_in_place_call_makes_the_definitions_of_no_other_operators() -> None:
    made = printed_by(
        "import tt; tt.ones(2).add_(1)\n"
        "from tt.core.schema.snapshot import definitions\n"
        "print(len(definitions()._made), len(definitions()))"
    )
    few, every = map(int, made.split())
    assert few < every / 10


@pytest.mark.parametrize(
    ("name", "original"),
    [
        ("subtract", "sub"),
        ("subtract_", "sub_"),
        ("sub", "sub"),
        ("sub_", "sub_"),
        ("subtract__", "subtract__"),
        ("__subtract__", "__subtract__"),
        ("unknown_", "unknown_"),
    ],
)
def test_an_alias_stands_for_its_operator_in_each_form(name: str, original: str) -> None:
    assert REGISTRY.original(name) == original


def test_every_alias_of_a_definition_is_known() -> None:
    for definition in REGISTRY.definitions():
        for alias in definition.aliases:
            assert REGISTRY.original(alias) == definition.signature.name


class ForLayer:
    def __init__(self, layer: Any) -> None:
        self.layer = layer


def test_a_table_for_a_layer_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown layer 'fakee'; did you mean 'fake'"):
        REGISTRY.add(ForLayer("fakee"))


def test_a_layer_of_the_core_refuses_tables() -> None:
    with pytest.raises(TypeError, match="the layer 'fake' takes no ForLayer"):
        REGISTRY.add(ForLayer("fake"))


@pytest.mark.parametrize("table", [None, 3, {}, ForLayer(3)])
def test_what_is_no_table_is_refused(table: Any) -> None:
    with pytest.raises(TypeError, match=f"not {type(table).__name__}"):
        REGISTRY.add(table)
