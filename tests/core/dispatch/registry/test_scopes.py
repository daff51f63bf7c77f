"""What scopes note and undo; `tests/core/custom_op/test_scope.py` has them around programs."""

from __future__ import annotations

import pytest

from tt.core.dispatch.registry.scopes import RegistrationScopes
from tt.core.dispatch.registry.sources import Provider, RegistrationHandle


def handle(undone: list[str], name: str) -> RegistrationHandle:
    return RegistrationHandle(lambda: undone.append(name))


def test_closing_a_scope_undoes_the_last_first_and_what_is_open_within_it() -> None:
    scopes, undone = RegistrationScopes(), list[str]()
    outer: list[RegistrationHandle] = []
    scopes.note(handle(undone, "before"))
    scopes.open(outer)
    scopes.note(handle(undone, "first"))
    scopes.note(handle(undone, "second"))
    scopes.open([])
    scopes.note(handle(undone, "inner"))
    scopes.close(outer)
    assert undone == ["inner", "second", "first"] and outer == []
    scopes.close(outer)
    assert undone == ["inner", "second", "first"]


def test_what_a_plugin_registers_stays() -> None:
    scopes, undone = RegistrationScopes(), list[str]()
    scope: list[RegistrationHandle] = []
    scopes.open(scope)
    scopes.note(handle(undone, "plugin's"), Provider("acme", "1.0", "acme"))
    scopes.note(handle(undone, "program's"), Provider())
    scopes.close(scope)
    assert undone == ["program's"]


def test_closing_goes_on_after_an_interrupt() -> None:
    scopes, undone = RegistrationScopes(), list[str]()
    scope: list[RegistrationHandle] = []

    def interrupt() -> None:
        raise KeyboardInterrupt

    scopes.open(scope)
    scopes.note(handle(undone, "first"))
    scopes.note(RegistrationHandle(interrupt))
    scopes.note(handle(undone, "last"))
    with pytest.raises(KeyboardInterrupt):
        scopes.close(scope)
    scopes.close(scope)
    assert undone == ["last", "first"]
