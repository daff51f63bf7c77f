"""Nodes, edges, saved tensors, and chains that are long."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import tt
from tt.plugins.autograd.record import graph
from tt.plugins.autograd.record.rules import OpNode


@pytest.mark.torch
def test_nodes_are_named_and_linked_as_in_torch() -> None:
    torch = pytest.importorskip("torch")

    def names(lib: Any) -> list[str]:
        x = lib.ones(2, 2, requires_grad=True)
        node, found = ((x * x).exp().t() + 1).sum().grad_fn, []
        while node is not None:
            found.append(node.name())
            node = node.next_functions[0][0] if node.next_functions else None
        return found

    expected = [name.replace("torch::autograd::", "") for name in names(torch)]
    assert names(tt) == expected


@pytest.mark.torch
def test_the_classes_of_nodes_that_programs_see_have_their_names() -> None:
    torch = pytest.importorskip("torch")

    def names(lib: Any) -> list[str]:
        x = lib.ones(2, 2, requires_grad=True)
        y = (x * x).exp()
        edge = lib.autograd.graph.get_gradient_edge(y * 2).node
        nodes = [y.grad_fn, y.grad_fn.next_functions[0][0], edge, lib.max(x, 0).values.grad_fn]
        leaf = nodes[1].next_functions[0][0]
        assert all(isinstance(node, lib.autograd.graph.Node) for node in nodes)
        assert y.grad_fn is y.grad_fn and type(edge) is type(nodes[1]) is type((x * 3).grad_fn)
        return [type(node).__name__ for node in (*nodes, leaf)]

    assert names(tt) == names(torch)


def test_a_node_that_a_program_saw_works_and_is_freed_as_before() -> None:
    x = tt.ones(2, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    node, seen = y.grad_fn, 0
    while node.next_functions:
        node, seen = node.next_functions[0][0], seen + 1
    assert seen == 100_000
    hooked: list[Any] = []
    last = y.grad_fn
    last.register_hook(lambda inputs, outputs: hooked.append("called"))
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0, 1.0] and hooked == ["called"]
    gone = weakref.ref(last)
    del y, node, last
    gc.collect()
    assert gone() is None


def test_a_leaf_is_reachable_from_the_graph() -> None:
    x = tt.ones(2, requires_grad=True)
    ((node, number),) = (x * 2).grad_fn.next_functions[:1]
    assert (node.name(), number) == ("AccumulateGrad", 0)
    assert node.variable is x
    assert (x * 2).grad_fn.next_functions[1] == (None, 0)


def test_tensors_without_gradient_never_enter_the_graph() -> None:
    x = tt.ones(2) * 3
    assert x._record is None and not x.requires_grad and x.is_leaf
    compared = tt.ones(2, requires_grad=True) > 0
    assert not compared.requires_grad
    largest = tt.ones(2, 2, requires_grad=True).max(1)
    assert largest.values.requires_grad and not largest.indices.requires_grad


def make_chain(length: int) -> tuple[tt.Tensor, tt.Tensor, weakref.ref[Any]]:
    """Return a leaf, the end of a chain of nodes, and a weak reference to the first node."""
    x = tt.ones(1, requires_grad=True)
    y = x * 1.0
    first = weakref.ref(y.grad_fn)
    pattern = y.grad_fn
    node = pattern
    for _ in range(length):
        new = graph.start(OpNode.__new__(OpNode), (node,), (0,))
        new.rule, new.plan, new.saved, new.versions, new.starts = (
            pattern.rule,
            pattern.plan,
            (1.0,),
            None,
            None,
        )
        new.shape, new.spec = pattern.shape, pattern.spec
        node = new
    end = tt.ones(1)
    graph.attach(end, node, 0)
    return x, end, first


@pytest.mark.exhaustive
def test_a_chain_of_a_million_nodes_is_freed_without_a_backward_pass() -> None:
    _, end, first = make_chain(1_000_000)
    assert first() is not None
    del end
    gc.collect()
    assert first() is None


@pytest.mark.exhaustive
def test_a_chain_of_a_million_nodes_runs() -> None:
    x, end, first = make_chain(1_000_000)
    end.backward(tt.ones(1))
    assert x.grad is not None and x.grad.tolist() == [1.0]
    del end
    gc.collect()
    assert first() is None


def test_a_graph_leaves_no_cycles() -> None:
    gc.collect()
    gc.disable()
    try:
        x = tt.ones(3, requires_grad=True)
        y = (x.exp() * x).view(3, 1)[0].sum()
        y.mul_(2)
        seen = weakref.ref(y.grad_fn)
        del y
        assert seen() is None
    finally:
        gc.enable()


def test_an_operator_without_formula_can_be_used_but_not_differentiated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tt.core.library import REGISTRY, CompositeTable
    from tt.plugins.autograd.record.layer import AutogradLayer

    layer = REGISTRY.layer("autograd")
    assert isinstance(layer, AutogradLayer)
    assert isinstance(CompositeTable(), CompositeTable)
    formula = layer.formula
    monkeypatch.setattr(layer, "formula", lambda op: None if op == "tanh" else formula(op))
    layer._rules.clear()
    REGISTRY.invalidate_all()
    try:
        x = tt.ones(2, requires_grad=True)
        y = x.tanh()
        assert y.requires_grad
        with pytest.raises(RuntimeError, match="the derivative for 'tanh' is not implemented"):
            y.sum().backward()
    finally:
        monkeypatch.undo()
        layer._rules.clear()
        REGISTRY.invalidate_all()


@pytest.mark.torch
def test_nodes_are_called_as_in_torch() -> None:
    torch = pytest.importorskip("torch")

    def called(lib: Any) -> list[Any]:
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        square, product = x.square(), x * x
        found = [square.grad_fn(lib.ones(2)), *product.grad_fn(lib.ones(2))]
        square.grad_fn.next_functions[0][0](lib.full((2,), 5.0))
        for count in (0, 2):
            with pytest.raises(TypeError, match=r"expected .* arguments, got .* instead"):
                square.grad_fn(*[lib.ones(2)] * count)
        return [t.tolist() for t in (*found, x.grad)]

    assert called(tt) == called(torch)


def test_a_node_of_several_results_is_called_with_a_gradient_of_each() -> None:
    x = tt.tensor([2.0, 1.0], requires_grad=True)
    node = x.sort().values.grad_fn
    assert node(tt.tensor([3.0, 4.0]), None).tolist() == [4, 3]
    with pytest.raises(TypeError, match="expected 2 arguments, got 1"):
        node(tt.ones(2))
