"""Manifests."""

from __future__ import annotations

import re

import pytest

from tt.core.errors import (
    DuplicateRegistrationError,
    PluginError,
)
from tt.core.host.manifest import Manifest


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "the name of a manifest is a word"),
        ({"api_version": "one"}, "api_version is a version like '1.0', not 'one'"),
        ({"api_version": 1.0}, "api_version is a version like '1.0', not 1.0"),
        ({"api_version": True}, "api_version is a version like '1.0', not True"),
        ({"devices": ("a b",)}, "devices: 'a b' is not a name"),
        ({"layers": ("x", "x")}, "layers names something twice"),
        ({"libraries": "vision._C"}, "libraries is a tuple of names"),
        ({"requires": "cpu"}, "requires is a tuple of names"),
        ({"members": ["x"]}, "members maps names to 'module:attribute'"),
        ({"members": {"x y": "a:b"}}, "members: 'x y' is not an attribute name"),
        ({"members": {"x": "a.b"}}, "members: 'x' is 'module:attribute', not 'a.b'"),
        ({"available": "nothing"}, "available is 'module:attribute', not 'nothing'"),
        ({"parts": ("gradient",)}, "parts maps parts of operators to layers, not ('gradient',)"),
        (
            {"layers": ("x",), "parts": {"gradient": "y"}},
            "parts: 'gradient': 'y' is none of its layers, ['x']",
        ),
    ],
)
def test_a_malformed_manifest_is_refused(fields, message):
    with pytest.raises(PluginError, match=re.escape(message)):
        Manifest(**{"name": "one", **fields})


def test_a_manifest_lists_what_it_declares():
    manifest = Manifest(
        "one", devices=["a"], layouts=("b",), members={"c": "m:c"}, namespaces=("d",), libraries=("e._C",)
    )
    assert manifest.all_declared() == (
        ("device", "a"), ("layout", "b"), ("namespace", "d"), ("library", "e._C"), ("member", "c"),
    )  # fmt: skip
    assert manifest.as_dict()["members"] == {"c": "m:c"}


def test_a_duplicate_is_a_value_error_too():
    assert issubclass(DuplicateRegistrationError, ValueError)
