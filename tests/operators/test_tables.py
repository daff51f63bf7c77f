"""The promises of the tables of composites about each other and the schema."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest

import tt
from tt.core.dispatch.registry.composites import INDEX
from tt.core.library import REGISTRY

TABLES = [import_module(name).composites for name in INDEX.modules()]
COMPOSITES = {op: function for table in TABLES for op, function in table.functions.items()}


def test_an_operator_outside_the_core_set_has_a_composite_and_no_other_has():
    core = {d.name for d in REGISTRY.definitions() if d.core and "::" not in d.name}
    others = {d.name for d in REGISTRY.definitions() if not d.core and "::" not in d.name}
    assert others <= set(COMPOSITES) and not core & set(COMPOSITES)


def test_no_operator_has_two():
    assert sum(len(table.functions) for table in TABLES) == len(COMPOSITES)


@pytest.mark.parametrize("op", sorted(COMPOSITES))
def test_a_composite_takes_the_arguments_of_the_schema(op):
    count = len(REGISTRY.definition(op).signature.arguments)
    inspect.signature(COMPOSITES[op]).bind(*range(count))


def test_what_needs_no_copy_is_none():
    x = tt.zeros(2, 3)
    assert x.contiguous() is x and x.flatten(1, 1) is x
    for view in (x.reshape(3, 2), x.flatten(), x.narrow(0, 1, 1), tt.broadcast_to(x, (2, 2, 3))):
        view_of = view.as_strided((6,), (1,), 0)
        assert view_of.data_ptr() == x.data_ptr() and view._base is x


def test_what_needs_a_copy_is_one():
    x = tt.arange(6.0).reshape(2, 3)
    for copy in (x.t().reshape(6), x.t().contiguous(), x.t().flatten(), tt.stack([x, x])):
        copy.zero_()
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_composites_run_without_data(device):
    x = tt.empty(2, 3, 4, device=device)
    w = tt.empty(5, 4, device=device)
    results = [
        tt.nn.functional.linear(x, w),
        tt.nn.functional.layer_norm(x, (4,)),
        tt.stack([x, x], 1),
        x.permute(2, 0, 1).reshape(4, 6),
        tt.nn.functional.dropout(x),
        tt.nn.functional.one_hot(tt.zeros(3, dtype=tt.int64, device=device), 4),
        tt.nn.functional.mse_loss(x, x),
        tt.svd(tt.zeros_like(w)).V,  # what empty memory holds need not have a decomposition
        tt.nn.functional.cross_entropy(w, tt.zeros(5, dtype=tt.int64, device=device)),
    ]
    shapes = [(2, 3, 5), (2, 3, 4), (2, 2, 3, 4), (4, 6), (2, 3, 4), (3, 4), (), (4, 4), ()]
    assert [tuple(r.shape) for r in results] == shapes
    assert all(r.device.type == device for r in results)
