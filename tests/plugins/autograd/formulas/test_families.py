"""The families of formulas are imported when they are needed, and count as if they had been there from the start."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import tt
from tt.core.library import REGISTRY, Provider, errors
from tt.plugins.autograd.formulas import FormulaFamilies, tables
from tt.plugins.autograd.formulas.table import Formulas
from tt.plugins.autograd.record.layer import AutogradLayer


@pytest.fixture
def layer():
    made = AutogradLayer()
    made.accept(FormulaFamilies(), Provider("tt-tensor", "", "autograd"))
    return made


def table_for(op, override=False):
    table = Formulas()
    table.of(op, self=lambda g: g)
    table.override = override
    return table


def test_every_formula_is_found_under_its_operator(layer):
    for family in tables():
        for op, formula in family.formulas.items():
            assert layer.formula(op) is formula
    assert layer.formula("no_such_operator") is None


def test_all_formulas_are_listed_whatever_was_asked_for_before(layer):
    layer.formula("mul")
    expected = {op: formula for family in tables() for op, formula in family.formulas.items()}
    assert layer.formulas() == expected


def test_a_second_formula_is_refused_before_the_family_is_loaded(layer):
    with pytest.raises(
        errors.DuplicateRegistrationError, match=r"formula of mul.*\n.*tt-tensor \(autograd\)"
    ):
        layer.accept(table_for("mul"), Provider("acme"))


def test_an_override_shadows_a_family_that_is_loaded_later_and_leaves_it_in_the_end(layer):
    own = import_module("tt.plugins.autograd.formulas.pointwise").d.formulas
    remove = layer.accept(table_for("mul", override=True), Provider("acme"))
    replaced = layer.formula("mul")
    layer.formula(next(op for op in own if op != "mul"))
    layer.formulas()
    assert layer.formula("mul") is replaced
    remove()
    assert layer.formula("mul") is REGISTRY.layer("autograd").formula("mul") is not replaced


def test_a_table_of_families_can_be_removed():
    layer = AutogradLayer()
    remove = layer.accept(FormulaFamilies(), Provider("tt-tensor"))
    assert layer.formula("mul") is not None
    remove()
    assert layer.formula("mul") is None and layer.formula("exp") is None and layer.formulas() == {}


def test_a_family_that_cannot_be_imported_is_named(monkeypatch):
    op = next(iter(import_module("tt.plugins.autograd.formulas.fft").d.formulas))
    monkeypatch.setitem(sys.modules, "tt.plugins.autograd.formulas.fft", None)
    with pytest.raises(
        errors.PluginError, match=r"plugin 'autograd' cannot import the formulas of the family 'fft'"
    ):
        FormulaFamilies().family_of(op)


def test_a_backward_pass_imports_the_families_of_its_operators_alone():
    program = (
        "import sys, tt\n"
        "x = tt.ones(3, requires_grad=True)\n"
        "(x * x).sum().backward()\n"
        "print(*(name.rpartition('.')[2] for name in sys.modules if name.startswith('tt.plugins.autograd.formulas.')))"
    )
    done = [
        subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True
        ).stdout.split()
        for _ in range(2)  # the first may make the index
    ]
    if sys.dont_write_bytecode:
        pytest.skip("Python writes nothing here, the index neither")
    assert {"fft", "loss", "recurrent"}.isdisjoint(done[1]) and len(done[1]) < len(tables()) // 2
    assert tt.ones(1, requires_grad=True).grad_fn is None
