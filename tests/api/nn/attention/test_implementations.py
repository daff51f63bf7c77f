"""Implementations of flash attention come and go by name."""

from __future__ import annotations

import pytest

from tt.nn import attention
from tt.nn.attention import implementations


@pytest.fixture
def log(monkeypatch):
    """Register two implementations, for the length of a test, that write down what happens."""
    monkeypatch.setattr(implementations._State, "registered", {})
    events = []

    class Handle:
        def __init__(self, name):
            self.name = name

        def remove(self):
            events.append(f"-{self.name}")

    def bring(name):
        def register():
            events.append(f"+{name}")
            return Handle(name)

        return register

    attention.register_flash_attention_impl("two", register_fn=bring("two"))
    attention.register_flash_attention_impl("one", register_fn=bring("one"))
    yield events
    implementations._remove()


def test_one_implementation_is_active_at_a_time(log):
    assert attention.list_flash_attention_impls() == ["one", "two"] and log == []
    attention.activate_flash_attention_impl("one")
    assert attention.current_flash_attention_impl() == "one"
    attention.activate_flash_attention_impl("two")
    assert attention.current_flash_attention_impl() == "two" and log == ["+one", "-one", "+two"]
    attention.restore_flash_attention_impl()
    assert attention.current_flash_attention_impl() is None and log[3:] == ["-two"]


def test_an_unknown_name_changes_nothing(log):
    attention.activate_flash_attention_impl("one")
    with pytest.raises(ValueError, match="registered are"):
        attention.activate_flash_attention_impl("three")
    assert attention.current_flash_attention_impl() == "one" and log == ["+one"]


def test_restoring_without_one_warns(log):
    attention.register_flash_attention_impl("nothing", register_fn=lambda: None)
    attention.activate_flash_attention_impl("nothing")
    with pytest.warns(UserWarning, match="no implementation is active"):
        attention.restore_flash_attention_impl()
