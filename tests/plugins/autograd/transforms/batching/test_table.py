"""Families of batching rules are imported by the first operator that needs one of them."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from tests.processes import printed_by
from tt.core.library import errors
from tt.plugins.autograd.transforms.batching.table import INDEX, rule_of

PACKAGE = "tt.plugins.autograd.transforms.batching"


def test_every_rule_is_found_under_its_operator_and_in_one_family_only():
    brought = [
        (op, rule) for module in INDEX.modules() for op, rule in import_module(module).table.rules.items()
    ]
    assert len(dict(brought)) == len(brought) > 50
    assert all(rule_of(op) is rule for op, rule in brought)
    assert rule_of("no_such_operator") is None


def test_a_family_that_cannot_be_imported_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, f"{PACKAGE}.scan", None)
    with pytest.raises(errors.PluginError, match=r"'autograd' cannot import the batching rules .* 'scan'"):
        rule_of("cumsum")


def test_a_gradient_imports_no_rule_and_vmap_those_of_its_operators(monkeypatch):
    # The index is written where Python writes compiled modules; the first process may have to.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    program = f"""
import sys, tt
def families():
    return sorted(m.rpartition(".")[2] for m in sys.modules if m.startswith("{PACKAGE}."))
x = tt.ones(2, 3, requires_grad=True)
(x * x).sum().backward()
print(*families())
tt.func.vmap(lambda row: row.cumsum(0))(x.detach())
print(*families())
"""
    printed_by(program)
    before, after = (set(line.split()) for line in printed_by(program).splitlines())
    families = {module.rpartition(".")[2] for module in INDEX.modules()}
    assert before.isdisjoint(families) and after & families == {"scan"}
