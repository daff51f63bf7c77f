"""Who shares memory with whom, and that sharing which the schema does not declare is found."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.testing.checks.planted import faults_of, found_with
from tt.core.library import REGISTRY
from tt.testing.checks.aliasing import overlap, overlaps_itself


def test_tensors_overlap_where_the_ranges_of_their_memory_meet():
    x = tt.zeros(4, 4)
    assert overlap(x, x) and overlap(x[1:], x[:2]) and overlap(x, x.t())
    assert not overlap(x[:2], x[2:])
    assert not overlap(x, x.clone()) and not overlap(x, x[:0])


def test_an_expanded_tensor_overlaps_itself():
    assert overlaps_itself(tt.zeros(3, 1).expand(3, 2)) and overlaps_itself(
        tt.zeros(4).as_strided((3, 2), (1, 1))
    )
    assert not overlaps_itself(tt.zeros(3, 2).t()) and not overlaps_itself(tt.zeros(()))


def test_both_drivers_name_a_result_that_is_its_argument():
    assert faults_of("test_aliasing", kernel=lambda x: x) == {"aliased_input"}
    assert faults_of("test_aliasing") == set()


def test_a_view_that_copies_is_found():
    failures = found_with("t", lambda self: self.T.copy(), takes=("self",))
    assert any(f.check == "view" and "does not change the argument" in f.message for f in failures)


def test_a_result_that_is_its_argument_is_found():
    failures = found_with("relu", lambda self: self, takes=("self",))
    assert any(f.check == "alias" and "the memory of the argument 'self'" in f.message for f in failures)


def test_results_that_share_memory_with_each_other_are_found():
    def extremes(self, dim, keepdim):
        smallest = self.min(axis=dim, keepdims=keepdim)
        return np.asarray(smallest), np.asarray(smallest)[...]

    failures = found_with("aminmax", extremes)
    assert any(f.check == "alias" and "two results share memory" in f.message for f in failures)


RETURNED = {
    "alpha_dropout": lambda m, x: m.nn.functional.alpha_dropout(x, 0.5, training=False),
    "atleast_1d": lambda m, x: m.atleast_1d(x),
    "atleast_2d": lambda m, x: m.atleast_2d(x),
    "atleast_3d": lambda m, x: m.atleast_3d(x),
    "broadcast_tensors": lambda m, x: m.broadcast_tensors(x, x)[0],
    "cartesian_prod": lambda m, x: m.cartesian_prod(x[0]),
    "chalf": lambda m, x: x.chalf().chalf(),
    "conj_physical": lambda m, x: x.conj_physical(),
    "dequantize": lambda m, x: x.dequantize(),
    "dropout": lambda m, x: m.nn.functional.dropout(x, 0.5, training=False),
    "einsum": lambda m, x: m.einsum("ij->ji", x),
    "feature_alpha_dropout": lambda m, x: m.nn.functional.feature_alpha_dropout(x, 0.5, training=False),
    "meshgrid": lambda m, x: m.meshgrid(x[0], x[1], indexing="ij")[0],
    "sum_to_size": lambda m, x: x.sum_to_size(2, 3),
}
"""Functions whose results may have an argument's memory although PyTorch's schema says nothing of it."""


@pytest.mark.torch
@pytest.mark.parametrize("name", RETURNED)
def test_what_pytorch_returns_undeclared_shares_memory_here_too(name):
    torch = pytest.importorskip("torch")

    def shared(m):
        x = m.ones(2, 3)
        x = x.chalf() if name == "chalf" else x
        return RETURNED[name](m, x).untyped_storage().data_ptr() == x.untyped_storage().data_ptr()

    assert shared(tt) and shared(torch)


@pytest.mark.torch
def test_results_may_share_memory_where_they_may_in_pytorch():
    torch = pytest.importorskip("torch")
    theirs: dict[str, bool] = {}
    for schema in torch._C._jit_get_all_schemas():
        aliases = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
        name = schema.name.removeprefix("aten::")
        theirs[name] = theirs.get(name, False) or aliases
    ours: dict[str, bool] = {}
    for definition in REGISTRY.definitions():
        name = definition.signature.name
        if "::" not in definition.name and name in theirs:
            aliases = any(r.alias and not r.alias.write for r in definition.signature.returns)
            ours[name] = ours.get(name, False) or aliases
    assert {name: theirs[name] or name in RETURNED for name in ours} == ours
