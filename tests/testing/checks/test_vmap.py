"""vmap gives the results of a loop over the examples."""

from __future__ import annotations

import tt
from tests.testing.checks.planted import faults_of
from tt.testing.checks.call import tensors_in


def test_a_right_operator_is_mapped_as_a_loop_does():
    assert faults_of("test_vmap") == set()


def test_a_batching_rule_that_is_wrong_is_named(monkeypatch):
    vmap = tt.func.vmap

    def wrong(function, in_dims=0):
        mapped = vmap(function, in_dims=in_dims)
        return lambda *args: tuple(y + 1 for y in tensors_in(mapped(*args)))

    monkeypatch.setattr(tt.func, "vmap", wrong)
    assert faults_of("test_vmap") == {"vmap_wrong"}
    monkeypatch.setattr(tt.func, "vmap", lambda function, in_dims=0: 1 / 0)
    assert faults_of("test_vmap") == {"vmap_fails"}


def test_gradients_inside_vmap_that_are_wrong_are_named(monkeypatch):
    grad, levels = tt.func.grad, []

    def wrong(function, argnums):
        def gradients(*args):
            found = grad(function, argnums)(*args)
            batched = any(type(x._handle).__name__ == "Batched" for x in args)
            levels.append(batched)
            return tuple(g * 2 for g in found) if batched else found

        return gradients

    monkeypatch.setattr(tt.func, "grad", wrong)
    assert faults_of("test_vmap") == {"vmap_wrong"}
    assert True in levels
