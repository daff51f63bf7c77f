"""Checkpoints: the same gradients, less memory, the same random numbers, and clear errors."""

from __future__ import annotations

import gc
import importlib
import weakref
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import pytest

import tt
from tt.utils import checkpoint as checkpointing
from tt.utils.checkpoint import (
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)


def block(x: Any, w: Any) -> Any:
    return ((x @ w).sin() * x).exp().mean(1, keepdim=True) * x


def gradients(function: Any, *args: Any) -> list[Any]:
    leaves = [a.detach().clone().requires_grad_() for a in args]
    function(*leaves).sum().backward()
    return [leaf.grad for leaf in leaves]


@pytest.fixture
def args() -> tuple[Any, Any]:
    tt.manual_seed(3)
    return tt.randn(3, 3, dtype=tt.float64), tt.randn(3, 3, dtype=tt.float64)


def test_gradients_are_the_same(args: Any) -> None:
    found = gradients(lambda x, w: checkpoint(block, x, w, use_reentrant=False), *args)
    for one, other in zip(found, gradients(block, *args), strict=True):
        tt.testing.assert_close(one, other)


def test_nested_checkpoints_and_keywords(args: Any) -> None:
    def outer(x: Any, *, w: Any) -> Any:
        inner = checkpoint(block, x.tanh(), w, use_reentrant=False)
        return checkpoint(
            lambda y: checkpoint(block, y, w, use_reentrant=False).cos(), inner, use_reentrant=False
        )

    def plain(x: Any, w: Any) -> Any:
        return block(block(x.tanh(), w), w).cos()

    found = gradients(lambda x, w: checkpoint(outer, x, w=w, use_reentrant=False), *args)
    for one, other in zip(found, gradients(plain, *args), strict=True):
        tt.testing.assert_close(one, other)


def test_second_derivatives_go_through_checkpoints(args: Any) -> None:
    def second(function: Any) -> Any:
        x = args[0].clone().requires_grad_()
        (first,) = tt.autograd.grad(function(x).sum(), x, create_graph=True)
        return tt.autograd.grad(first.pow(2).sum(), x)[0]

    tt.testing.assert_close(
        second(lambda x: checkpoint(block, x, args[1], use_reentrant=False)),
        second(lambda x: block(x, args[1])),
    )


def test_a_graph_that_is_kept_runs_again_each_time(args: Any) -> None:
    calls: list[int] = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return x.sin().exp()

    x = args[0].clone().requires_grad_()
    y = checkpoint(counted, x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward()
    tt.testing.assert_close(x.grad, 2 * first)
    assert len(calls) == 3


def test_saved_tensors_are_not_kept(args: Any) -> None:
    alive: list[Any] = []

    def run(x: Any) -> Any:
        middle = x.exp()
        alive.append(weakref.ref(middle._handle))
        return middle.sin()

    x = args[0].clone().requires_grad_()
    y = checkpoint(run, x, use_reentrant=False)
    gc.collect()
    assert alive[0]() is None
    y.sum().backward()


def test_random_numbers_are_drawn_again() -> None:
    x = tt.ones(1000, requires_grad=True)
    tt.manual_seed(1)
    y = checkpoint(lambda t: tt.nn.functional.dropout(t * 2, 0.5), x, use_reentrant=False)
    after = tt.rand(1)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    tt.manual_seed(1)
    tt.nn.functional.dropout(x * 2, 0.5)
    assert tt.rand(1).tolist() == after.tolist()


def test_the_second_run_stops_early(args: Any) -> None:
    seen: list[str] = []

    def run(x: Any) -> Any:
        y = x.sin()
        seen.append("saved")
        result = y + 1
        seen.append("end")
        return result

    x = args[0].clone().requires_grad_()
    checkpoint(run, x, use_reentrant=False).sum().backward()
    assert seen == ["saved", "end"] or seen == ["saved", "end", "saved"]
    first = len(seen)
    with set_checkpoint_early_stop(False):
        y = checkpoint(run, x, use_reentrant=False)
    y.sum().backward()
    assert seen[first:] == ["saved", "end", "saved", "end"]


def test_a_function_that_does_something_else_is_refused(args: Any) -> None:
    state = {"power": 2}

    def changing(x: Any) -> Any:
        y = x.sin()
        return y.exp().cos() if state["power"] == 2 else y

    x = args[0].clone().requires_grad_()
    y = checkpoint(changing, x, use_reentrant=False)
    state["power"] = 3
    with pytest.raises(tt.errors.CheckpointError, match="depend on something that has changed"):
        y.sum().backward()

    def growing(x: Any) -> Any:
        state["power"] += 1
        return (x[: state["power"] - 3] * 2).sin()

    y = checkpoint(growing, x, use_reentrant=False)
    with pytest.raises(tt.errors.CheckpointError, match="tensor 0 was"):
        y.sum().backward()


def test_without_recording_it_is_a_plain_call(args: Any) -> None:
    with tt.no_grad():
        assert not checkpoint(block, *args, use_reentrant=False).requires_grad


def test_contexts_surround_the_two_runs(args: Any) -> None:

    seen: list[str] = []

    @contextmanager
    def note(word: str) -> Any:
        seen.append(word)
        yield

    x = args[0].clone().requires_grad_()
    y = checkpoint(
        lambda t: t.sin(), x, context_fn=lambda: (note("first"), note("second")), use_reentrant=False
    )
    y.sum().backward()
    assert seen == ["first", "second"]


@pytest.mark.torch
@pytest.mark.parametrize("use_reentrant", [True, False])
def test_both_ways_give_the_gradients_of_torch(use_reentrant: bool) -> None:
    torch = pytest.importorskip("torch")
    torch_checkpoint = importlib.import_module("torch.utils.checkpoint")

    def gradients(lib: Any, run: Any, run_sequential: Any) -> list[Any]:
        weight = lib.tensor([[0.5, -1.0], [2.0, 0.25]], requires_grad=True)
        x = lib.tensor([[1.0, 2.0], [-0.5, 0.75]], requires_grad=True)
        y, kept = run(lambda a, scale: ((a @ weight).sin() * scale, a), x, 3.0, use_reentrant=use_reentrant)
        layers = [lambda a: (a @ weight).tanh(), lambda a: a.cos(), lambda a: a * a]
        z = run_sequential(layers, 2, y + kept, use_reentrant=use_reentrant)
        (z.sum() + y.pow(2).sum()).backward()
        return [y.tolist(), z.tolist(), weight.grad.tolist(), x.grad.tolist()]

    expected = gradients(torch, torch_checkpoint.checkpoint, torch_checkpoint.checkpoint_sequential)
    for mine, theirs in zip(gradients(tt, checkpoint, checkpoint_sequential), expected, strict=True):
        assert mine == [pytest.approx(row, rel=1e-5) for row in theirs]


def test_wrong_arguments_are_refused(args: Any) -> None:
    refused: dict[str, Any] = {
        "scale": {"scale": 2},
        "debug": {"debug": True},
        "context_fn": {"context_fn": lambda: (nullcontext(), nullcontext())},
    }
    for name, options in refused.items():
        with pytest.raises(ValueError, match=f"{name} needs use_reentrant=False"):
            checkpoint(block, *args, use_reentrant=True, **options)
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(block, *args, determinism_check="all", use_reentrant=False)
    with pytest.raises(ValueError, match="1 to 2 segments"):
        checkpoint_sequential([tt.sin, tt.cos], 3, args[0], use_reentrant=False)


def test_sequences_are_split_into_segments(args: Any) -> None:
    functions = [tt.sin, tt.cos, tt.exp, tt.tanh, tt.sinh]
    found = gradients(lambda x: checkpoint_sequential(functions, 2, x, use_reentrant=False), args[0])

    def plain(x: Any) -> Any:
        for function in functions:
            x = function(x)
        return x

    tt.testing.assert_close(found[0], gradients(plain, args[0])[0])


def test_generators_among_the_arguments_draw_the_same_numbers_again() -> None:
    generator = tt.Generator()
    generator.manual_seed(3)

    def noisy(x: Any, source: Any) -> Any:
        return (x * tt.rand(4, generator=source)).sin()

    found, expected = [], []
    for run, grads in ((lambda *a: checkpoint(noisy, *a, use_reentrant=False), found), (noisy, expected)):
        generator.manual_seed(3)
        x = tt.ones(4, requires_grad=True)
        y = run(x, generator)
        after = tt.rand(2, generator=generator)
        y.sum().backward()
        grads += [x.grad.tolist(), after.tolist(), tt.rand(2, generator=generator).tolist()]
    assert found == expected


def test_checkpoints_deep_inside_of_each_other() -> None:
    runs = []

    def deep(x: Any, levels: int) -> Any:
        runs.append(levels)
        inner = checkpoint(deep, x, levels - 1, use_reentrant=False) if levels else x
        return (inner * 1.1).sin()

    x, plain = (tt.tensor([0.3, 0.7], dtype=tt.float64, requires_grad=True) for _ in range(2))
    checkpoint(deep, x, 6, use_reentrant=False).sum().backward()
    y = plain
    for _ in range(7):
        y = (y * 1.1).sin()
    y.sum().backward()
    tt.testing.assert_close(x.grad, plain.grad)
    assert len(runs) > 7


def test_a_checkpoint_that_fails_can_be_run_again() -> None:
    state = {"broken": False}

    def sometimes(x: Any) -> Any:
        if state["broken"]:
            raise ValueError("not now")
        return x.exp().sin()

    x = tt.ones(3, requires_grad=True)
    y = checkpoint(sometimes, x, use_reentrant=False)
    state["broken"] = True
    with pytest.raises(ValueError, match="not now"):
        y.sum().backward(retain_graph=True)
    assert x.grad is None and tt.is_grad_enabled()
    state["broken"] = False
    y.sum().backward()
    tt.testing.assert_close(x.grad, x.detach().exp().cos() * x.detach().exp())


def test_a_first_context_that_suppresses_an_exception_is_refused() -> None:
    def failing(x: Any) -> Any:
        raise ValueError("not now")

    with pytest.raises(tt.errors.CheckpointError, match="suppressed an exception"):
        checkpoint(
            failing, tt.ones(2), context_fn=lambda: (suppress(ValueError), nullcontext()), use_reentrant=False
        )


def test_the_second_run_has_the_default_device_of_the_first() -> None:
    x = tt.ones(3, device="meta", requires_grad=True)
    with tt.device("meta"):
        y = checkpoint(lambda t: (t * tt.ones(3)).sin(), x, use_reentrant=False)
    y.sum().backward()
    assert x.grad.device.type == "meta"


def test_contexts_are_not_entered_while_nothing_is_recorded(args: Any) -> None:
    entered: list[int] = []

    def contexts() -> Any:
        entered.append(1)
        return checkpointing.noop_context_fn()

    with tt.no_grad():
        checkpoint(block, *args, context_fn=contexts, use_reentrant=False)
    assert not entered


def test_a_checkpoint_needs_no_contexts_with_its_own_log() -> None:
    with pytest.raises(ValueError, match="debug=True does not go together with context_fn"):
        checkpoint(
            tt.sin,
            tt.ones(2),
            debug=True,
            context_fn=lambda: checkpointing.noop_context_fn(),
            use_reentrant=False,
        )


def test_the_setting_of_the_log_overrides_the_argument() -> None:
    def shown(**options: Any) -> bool:
        steps = [tt.sin, tt.exp]

        def run(x: Any) -> Any:
            for step in steps:
                x = step(x)
            return x

        y = checkpoint(run, tt.ones(2, requires_grad=True), use_reentrant=False, **options)
        steps.pop()
        with pytest.raises(tt.errors.CheckpointError) as caught:
            y.sum().backward()
        return "the operators of the forward pass" in str(caught.value)

    assert not shown()
    assert shown(debug=True)
    with set_checkpoint_debug_enabled(True):
        assert shown(debug=False)
        with set_checkpoint_debug_enabled(None):
            assert not shown()
    with set_checkpoint_debug_enabled(False):
        assert not shown(debug=True)


@pytest.mark.parametrize("nesting", ["V", "V(G)", "G", "G(V)", "hessian", "jvp", "jacrev", "backward(V)"])
def test_checkpoints_work_inside_of_transforms(nesting: str) -> None:
    func = tt.func

    def plain(v: Any) -> Any:
        return v.sin() * v

    def kept(v: Any) -> Any:
        return checkpoint(plain, v, use_reentrant=False)

    def backward_of(f: Any, x: Any) -> Any:
        x = x.clone().requires_grad_()
        func.vmap(f)(x).sum().backward()
        return x.grad

    run = {
        "V": lambda f, x: func.vmap(f)(x),
        "V(G)": lambda f, x: func.vmap(func.grad(f))(x),
        "G": lambda f, x: func.grad(lambda v: f(v).sum())(x),
        "G(V)": lambda f, x: func.grad(lambda v: func.vmap(f)(v).sum())(x),
        "hessian": lambda f, x: func.hessian(lambda v: f(v).sum())(x),
        "jvp": lambda f, x: func.jvp(f, (x,), (x,))[1],
        "jacrev": lambda f, x: func.jacrev(f)(x),
        "backward(V)": backward_of,
    }[nesting]
    x = tt.tensor([1.0, 2.0, 3.0])
    tt.testing.assert_close(run(kept, x), run(plain, x))


@pytest.mark.torch
def test_the_function_behind_it_is_called_as_in_pytorch():
    import torch
    from torch.utils.checkpoint import CheckpointFunction as Theirs

    from tt.utils.checkpoint import CheckpointFunction as Ours

    found = []
    for module, function in ((tt, Ours), (torch, Theirs)):
        x = module.tensor([1.0, 2.0], requires_grad=True)
        runs = []

        def twice(t, factor, runs=runs):
            runs.append(factor)
            return t.sin() * factor

        y = function.apply(twice, True, x, 3.0)
        before = len(runs)
        y.sum().backward()
        found.append(
            ([round(v, 5) for v in y.tolist()], before, len(runs), [round(g, 5) for g in x.grad.tolist()])
        )
    assert found[0] == found[1]
    assert found[0][1:3] == (1, 2)


# --- gradients inside of checkpoints ----------------------------------------------------------------------------


def derivative(function):
    """Return the function that a recorded backward pass makes of another."""

    def differentiated(x):
        with tt.enable_grad():
            return tt.autograd.grad(function(x).sum(), x, create_graph=True)[0]

    return differentiated


def saving(function):
    return lambda x: checkpoint(function, x, use_reentrant=False)


def first_of_two(x):
    return x.sin().exp().sin()


def second_of_two(x):
    return x.cos().sin().exp()


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize(
    "twice",
    [
        lambda f: derivative(saving(derivative(f))),
        lambda f: derivative(saving(derivative(saving(f)))),
        lambda f: saving(derivative(saving(derivative(saving(f))))),
    ],
)
@pytest.mark.parametrize(
    "function",
    [first_of_two, lambda x: saving(second_of_two)(saving(first_of_two)(x))],
)
def test_a_checkpointed_function_takes_gradients_in_itself(twice, function, early_stop):
    x = tt.linspace(-1, 2, 5, dtype=tt.float64).requires_grad_()
    with set_checkpoint_early_stop(early_stop):
        found = twice(function)(x)
    plain = first_of_two if function is first_of_two else lambda x: second_of_two(first_of_two(x))
    expected = derivative(derivative(plain))(x)
    assert tt.allclose(found, expected)
    (one,) = tt.autograd.grad(found.sum(), x)
    (other,) = tt.autograd.grad(expected.sum(), x)
    assert tt.allclose(one, other)
