"""Operators by attribute."""

from __future__ import annotations

from pathlib import Path

import pytest

import tt
from tt.core.dispatch.registry import namespace
from tt.core.dispatch.registry.namespace import Operators
from tt.core.library import REGISTRY, ops
from tt.errors import UnknownOpError


def test_operators_overloads_and_namespaces_are_attributes():
    assert ops.exp is ops.exp and callable(ops.max.dim)
    assert "exp" in dir(ops) and not any("::" in name or "." in name for name in dir(ops))
    assert repr(ops) == "<operators of tt>"


def test_an_unknown_operator_is_told_with_the_nearest():
    with pytest.raises(UnknownOpError, match="did you mean"):
        ops.expp  # noqa: B018
    assert not hasattr(ops, "__no_such_protocol__")


def test_an_unknown_namespace_is_told_with_the_nearest():
    with tt.library.scoped():

        @tt.library.custom_op("nearby::twice")
        def twice(x: tt.Tensor) -> tt.Tensor:
            return x + x

        with pytest.raises(UnknownOpError, match="no operator is named 'nearbi'; did you mean 'nearby'"):
            ops.nearbi  # noqa: B018


def test_a_name_like_no_other_leads_to_the_plugins():
    with pytest.raises(
        UnknownOpError, match="no operator is named 'zzzzzz'\n  see: tt ops list; tt plugins list, if"
    ):
        ops.zzzzzz  # noqa: B018


def test_what_was_found_is_forgotten_with_its_operator():
    found = Operators(REGISTRY)
    assert found.exp is tt.ops.exp and "exp" in vars(found)
    found.forget()
    assert "exp" not in vars(found)


# --- libraries that plugins bring --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "file", ["site/vision/_C.so", Path("site/vision/_C.cpython-311-x86_64-linux-gnu.so")]
)
def test_loading_a_library_activates_the_plugin_that_brings_its_operators(monkeypatch, file):
    asked = []

    class Plugins:
        def activate(self, kind, name):
            asked.append((kind, name))
            return name == "vision._C"

    monkeypatch.setattr(namespace, "plugins", Plugins)
    assert tt.ops.load_library(file) is None
    assert asked == [("library", "site.vision._C"), ("library", "vision._C")]


def test_a_library_that_no_plugin_brings_is_refused():
    with pytest.raises(OSError, match=r"site/other/_C.so: no installed plugin brings the operators"):
        tt.ops.load_library("site/other/_C.so")
