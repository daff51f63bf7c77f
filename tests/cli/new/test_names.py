"""Names of new packages: which are allowed, and why others are not."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest
import typer

from tt.cli.new.names import check_device, check_library, check_operator


def test_a_free_name_is_taken():
    check_device("npu2")
    assert check_operator("acme::twice") == ("acme", "twice")
    assert check_library("numpy") == "numpy"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("cpu", "brings the device|tt's own|has the name"), ("meta", "the device is tt's own"),
        ("Npu", "small letters"), ("npu_", "small letters"),
        ("lambda", "a word of Python"), ("match", "a word of Python"),
        ("strided", "a layout has this name"),
    ],
)  # fmt: skip
def test_a_device_that_cannot_be_is_refused(name, reason):
    with pytest.raises(typer.BadParameter, match=reason):
        check_device(name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("twice", "has a namespace: twice::twice"), ("tt::twice", "choose another one"),
        ("exp::twice", "is an operator"), ("acme::Twice", "small letters"),
    ],
)  # fmt: skip
def test_an_operator_that_cannot_be_is_refused(name, reason):
    with pytest.raises(typer.BadParameter, match=reason):
        check_operator(name)


def test_the_namespace_of_the_standard_for_a_library_without_it_is_named(monkeypatch):
    for known in ("array_api_compat", "array_api_compat.dask"):
        module = ModuleType(known)
        module.__spec__ = ModuleSpec(known, None)
        monkeypatch.setitem(sys.modules, known, module)
    monkeypatch.setitem(sys.modules, "dask", ModuleType("dask"))
    monkeypatch.setitem(sys.modules, "dask.array", ModuleType("dask.array"))
    with pytest.raises(typer.BadParameter, match=r"try: --library array_api_compat\.dask\.array"):
        check_library("dask.array")


@pytest.mark.parametrize(
    ("name", "reason"),
    [("json", "it has no asarray"), ("nump y", "the name of a module"), ("numpi", "numpy")],
)
def test_a_library_that_cannot_be_is_refused(name, reason):
    with pytest.raises(typer.BadParameter, match=reason):
        check_library(name)
