"""Names of operators: aliases, and what looking one up costs."""

from __future__ import annotations

import pytest

from tests.processes import printed_by
from tt.core.dispatch.registry.registry import REGISTRY


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
    assert REGISTRY.definition_table.original(name) == original


def test_every_alias_of_a_definition_is_known() -> None:
    for definition in REGISTRY.definitions():
        for alias in definition.aliases:
            assert REGISTRY.definition_table.original(alias) == definition.signature.name
