"""Large graphs: depth and breadth cost no recursion, memory is freed as the pass goes on, threads do not meet."""

from __future__ import annotations

import gc
import weakref
from functools import partial
from typing import Any

import pytest

import tt
from tests.threads import in_threads


@pytest.mark.exhaustive
def test_a_chain_of_a_million_nodes_runs_and_is_freed() -> None:
    x = tt.ones((), requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = -y
    y.backward()
    assert x.grad is not None and x.grad.item() == 1.0
    del y
    gc.collect()


@pytest.mark.exhaustive
def test_a_long_chain_that_no_pass_has_walked_is_freed() -> None:
    y = tt.ones((), requires_grad=True)
    for _ in range(300_000):
        y = y * y
    first = weakref.ref(y.grad_fn)
    del y
    gc.collect()
    assert first() is None


@pytest.mark.exhaustive
def test_a_hundred_thousand_branches_meet_in_one_leaf() -> None:
    x = tt.ones((), requires_grad=True)
    total = tt.zeros(())
    branches = [x * 2 for _ in range(100_000)]
    total = tt.stack(branches).sum()
    total.backward()
    assert x.grad is not None and x.grad.item() == 200_000.0


def test_saved_tensors_are_freed_as_the_pass_goes_on() -> None:
    alive: list[weakref.ref[Any]] = []
    seen: list[int] = []
    x = tt.ones(10, requires_grad=True)
    y = x
    for _ in range(50):
        y = y.exp() * 1e-3
        alive.append(weakref.ref(y.grad_fn.next_functions[0][0]._saved_result._handle))
        y.register_hook(lambda g: seen.append(sum(ref() is not None for ref in alive)))
    y.sum().backward()
    assert len(seen) == 50
    assert seen[-1] <= 2, "saved values of the later nodes are still there"
    assert seen == sorted(seen, reverse=True)


def test_gradients_are_freed_as_the_pass_goes_on() -> None:
    """The peak of a long chain: its saved values, and a few gradients, however long it is."""
    alive: list[weakref.ref[Any]] = []
    most: list[int] = []

    def note(gradient: Any) -> None:
        alive.append(weakref.ref(gradient._handle))
        most.append(sum(ref() is not None for ref in alive))

    x = tt.ones(1000, requires_grad=True)
    y = x
    for _ in range(200):
        y = (y * 1.001).sin()
        y.register_hook(note)
    y.sum().backward()
    assert len(most) == 200 and max(most) <= 3


def test_an_exception_leaves_the_graph_as_it_was() -> None:
    class Fails(tt.autograd.Function):
        broken = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            if Fails.broken:
                raise ValueError("not now")
            (x,) = ctx.saved_tensors
            return gradient * 2 + x * 0

    x = tt.ones(2, requires_grad=True)
    y = Fails.apply(x.exp()).sum()
    with pytest.raises(ValueError, match="not now"):
        y.backward(retain_graph=True)
    assert x.grad is None and tt.is_grad_enabled()
    Fails.broken = False
    y.backward()
    tt.testing.assert_close(x.grad, 2 * x.detach().exp())


def test_a_pass_may_run_inside_of_another() -> None:
    inner = tt.tensor(3.0, requires_grad=True)

    class Nested(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            with tt.enable_grad():
                (inner * inner).backward()
            return gradient * 2

    x = tt.tensor(1.0, requires_grad=True)
    (Nested.apply(x * 5) * 7).backward()
    assert x.grad is not None and x.grad.item() == 70.0
    assert inner.grad is not None and inner.grad.item() == 6.0


def test_many_threads_run_backward_at_once() -> None:
    wrong: list[Any] = []

    def work(number: int) -> None:
        for _ in range(20):
            x = tt.full((4,), float(number), requires_grad=True)
            y = x
            for _ in range(30):
                y = y * 1.0 + x
            y.sum().backward()
            if x.grad is None or x.grad.tolist() != [31.0] * 4:
                wrong.append(x.grad)

    in_threads(*[partial(work, n) for n in range(6)])
    assert not wrong


def test_threads_share_a_graph_and_run_all_kinds_of_passes() -> None:
    """Passes that nest, are recorded, checkpointed, or keep a common graph, all at once."""
    from tt.utils.checkpoint import checkpoint

    w = tt.tensor([0.3, 0.7], dtype=tt.float64, requires_grad=True)
    shared = (w.sin() * w).exp().sum()
    (expected,) = tt.autograd.grad(shared, w, retain_graph=True)
    wrong: list[Any] = []

    class Nested(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (x,) = ctx.saved_tensors
            with tt.enable_grad():
                inner = x.detach().requires_grad_()
                (slope,) = tt.autograd.grad((inner * 2).sum(), inner)
            return gradient * slope

    def work(number: int) -> None:
        for turn in range(10):
            (found,) = tt.autograd.grad(shared, w, retain_graph=True)
            x = tt.tensor([0.1, 0.2 + number], dtype=tt.float64, requires_grad=True)
            y = checkpoint(lambda t: Nested.apply(t.sin()).cos(), x, use_reentrant=False)
            (first,) = tt.autograd.grad(y.sum(), x, create_graph=True)
            (second,) = tt.autograd.grad(first.sum(), x)
            inner = x.detach().sin() * 2
            slope = -inner.sin() * 2 * x.detach().cos()
            with tt.no_grad():
                quiet = (x * turn).requires_grad
            if not tt.allclose(found, expected) or not tt.allclose(first, slope) or quiet:
                wrong.append((number, turn, found, first))
            if not second.isfinite().all() or not tt.is_grad_enabled():
                wrong.append((number, turn, second))

    in_threads(*[partial(work, n) for n in range(8)])
    assert not wrong


def test_passes_nest_deeply() -> None:
    class Deeper(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, levels: int) -> Any:
            ctx.levels = levels
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            if ctx.levels:
                with tt.enable_grad():
                    leaf = tt.ones((), requires_grad=True)
                    Deeper.apply(leaf, ctx.levels - 1).backward()
                assert leaf.grad is not None and leaf.grad.item() == 2.0
            return gradient * 2, None

    x = tt.ones((), requires_grad=True)
    Deeper.apply(x, 40).backward()
    assert x.grad is not None and x.grad.item() == 2.0


@pytest.mark.torch
@pytest.mark.parametrize("name", ["tt", "torch"])
def test_hooks_run_in_the_documented_order(name: str) -> None:
    module = pytest.importorskip(name)
    events: list[str] = []

    def note(word: str) -> Any:
        return lambda *args: events.append(word)

    x = module.ones(2, requires_grad=True)
    x.register_hook(note("leaf"))
    x.register_post_accumulate_grad_hook(note("accumulated"))
    y = x * 2
    y.register_hook(note("tensor 1"))
    y.register_hook(note("tensor 2"))
    y.retain_grad()
    y.grad_fn.register_prehook(note("before"))
    y.grad_fn.register_hook(note("after"))
    y.sum().backward()
    assert events == ["tensor 1", "tensor 2", "before", "after", "leaf", "accumulated"]
