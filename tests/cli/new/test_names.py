"""Names of new packages: which are allowed, and why others are not."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest
import typer

from tt.cli.new.names import check_device, check_library, check_license, check_operator


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
        ("twice", "has a namespace, as in acme::twice"), ("tt::twice", "choose another one"),
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


def test_a_library_that_fails_at_its_import_is_refused_with_its_error(tmp_path, monkeypatch):
    (tmp_path / "failing_arrays.py").write_text("import a_part_that_is_missing")
    (tmp_path / "broken_arrays.py").write_text("raise OSError('no driver')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        typer.BadParameter, match=r"cannot be imported: ModuleNotFoundError.*a_part_that_is_missing"
    ):
        check_library("failing_arrays")
    with pytest.raises(typer.BadParameter, match="cannot be imported: OSError: no driver"):
        check_library("broken_arrays")


@pytest.mark.parametrize(
    "expression", ["MIT", "Apache-2.0", "GPL-2.0+", "LicenseRef-Acme", "(MIT OR Apache-2.0) AND BSD-3-Clause"]
)
def test_an_expression_of_licences_is_taken(expression):
    check_license(expression)


@pytest.mark.parametrize(
    "expression", ["", "some licence", "MIT OR", "AND MIT", "(MIT", 'M"IT', "MIT\nname = 1"]
)
def test_what_is_not_an_expression_of_licences_is_refused(expression):
    with pytest.raises(typer.BadParameter, match="not an SPDX expression"):
        check_license(expression)
