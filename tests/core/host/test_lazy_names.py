"""Namespaces whose members are loaded when they are first used."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tt.core.host.lazy_names import lazy_names
from tt.core.types.size import Size
from tt.errors import UnknownNameError


def test_a_name_is_looked_up_once(monkeypatch):
    module = ModuleType("tt.example")
    monkeypatch.setitem(sys.modules, "tt.example", module)
    find, names = lazy_names("tt.example", {"Size": "tt.core.types.size"})
    assert names() == ["Size"] and "Size" not in vars(module)
    assert find("Size") is Size and module.Size is Size


def test_what_is_not_there_is_an_attribute_error():
    find, _ = lazy_names("tt.example", {})
    with pytest.raises(AttributeError, match=r"module 'tt\.example' has no attribute 'nothing'"):
        find("nothing")


def test_the_layer_that_is_needed_is_asked_for_first():
    find, _ = lazy_names("tt.example", {"Size": "tt.core.types.size"}, layer="no_such_layer")
    with pytest.raises(UnknownNameError, match="no_such_layer"):
        find("Size")
