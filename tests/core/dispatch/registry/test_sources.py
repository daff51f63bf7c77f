"""Handles that undo a registration, and where code is."""

from __future__ import annotations

import pytest

from tt.core.dispatch.registry.sources import Provider, RegistrationHandle, code_location


def test_a_handle_undoes_once():
    undone: list[int] = []
    handle = RegistrationHandle(lambda: undone.append(1), "a kernel")
    assert handle.active and "a kernel" in repr(handle)
    handle.remove()
    handle.remove()
    assert undone == [1] and not handle.active


def test_a_block_undoes_what_was_registered_for_it():
    undone: list[int] = []
    with pytest.raises(OSError, match="no"), RegistrationHandle(lambda: undone.append(1)):
        raise OSError("no")
    assert undone == [1]


def test_code_is_named_by_its_place():
    assert code_location(test_code_is_named_by_its_place).rpartition(":")[0].endswith("test_sources")
    assert code_location(len)


def test_a_provider_is_a_package_or_the_program():
    assert str(Provider("tt-acme", "1.2", "acme")) == "tt-acme 1.2 (acme)"
    assert not Provider("tt-acme", "1.2", "acme").is_program
