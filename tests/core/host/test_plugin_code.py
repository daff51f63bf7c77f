"""Which plugin's code a thread runs, and its permission to register."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.threads import in_threads
from tt.core.host.plugin_code import PluginCode
from tt.errors import PluginError


class Own(SimpleNamespace):
    def __str__(self) -> str:
        return f"plugin {self.name!r}"


def test_the_innermost_plugin_of_a_thread_registers():
    code, one, two = PluginCode(), Own(name="one", own=True), Own(name="two", own=True)
    registry: Any = object()
    assert code.current_registry() is None
    with code.of(one, registry):
        assert code.current_registry() is registry
        seen: list[Any] = []
        in_threads(lambda: seen.append(code.current_registry()))
        assert seen == [None]
        with code.of(two), pytest.raises(PluginError, match="plugin 'two' registers when it is not asked to"):
            code.current_registry()
        assert code.current_registry() is registry
    assert code.current_registry() is None


def test_an_exception_ends_the_plugins_turn():
    code = PluginCode()
    with pytest.raises(OSError, match="no"), code.of(Own(name="one", own=True)):
        raise OSError("no")
    assert code.current_registry() is None
