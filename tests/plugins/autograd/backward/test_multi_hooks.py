"""Hooks on the gradients of several tensors together."""

from __future__ import annotations

import pytest

import tt
from tt.autograd.graph import register_multi_grad_hook
from tt.plugins.autograd.backward.multi_hooks import watch_passes, when_pass_ends


def leaves(count: int) -> list[tt.Tensor]:
    return [tt.ones(2, requires_grad=True) for _ in range(count)]


def test_a_hook_runs_once_with_all_gradients_of_a_pass():
    x, y, unused = leaves(3)
    seen = []
    handle = register_multi_grad_hook((x, y, unused), seen.append)
    (x * 2 + y * 3).sum().backward()
    (found,) = seen
    assert [g if g is None else g.tolist() for g in found] == [[2, 2], [3, 3], None]
    handle.remove()
    (x * 2).sum().backward()
    assert len(seen) == 1


def test_a_hook_for_any_gets_the_first_gradient_of_each_pass():
    x, y = leaves(2)
    seen = []
    with register_multi_grad_hook((x, y), lambda gradient: seen.append(gradient.tolist()), mode="any"):
        for factor in (2, 3):
            (x * factor).sum().backward()
    (y * 5).sum().backward()
    assert seen == [[2, 2], [3, 3]]


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="mode"):
        register_multi_grad_hook(leaves(1), print, mode="some")


def test_the_end_of_a_pass_is_told_to_those_that_asked_within_it():
    watch_passes()
    log = []
    x, y = leaves(2)

    def inner(_):
        when_pass_ends(lambda failed: log.append(("inner", failed)))

    def outer(gradient):
        when_pass_ends(lambda failed: log.append(("outer", failed)))
        with tt.enable_grad():
            (y * 2).sum().backward()

    y.register_hook(inner)
    handle = x.register_hook(outer)
    (x * 2).sum().backward()
    assert log == [("inner", False), ("outer", False)]
    x.register_hook(lambda gradient: [][0])
    with pytest.raises(IndexError):
        (x * 2).sum().backward()
    assert log[2:] == [("inner", False), ("outer", True)]
    handle.remove()
    with pytest.raises(IndexError):
        (x * 2).sum().backward()
    assert len(log) == 4
    assert not when_pass_ends(log.append)


def test_a_hook_of_a_leaf_runs_before_nodes_that_do_not_lead_to_it():
    x, y = leaves(2)
    seen = []

    class Fails(tt.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            raise ValueError("mine")

    with register_multi_grad_hook((x, y), seen.append, mode="any"):
        result = (Fails.apply(x) * y).sum()
        with pytest.raises(ValueError, match="mine"):
            result.backward()
    assert len(seen) == 1 and seen[0].tolist() == [1, 1]
