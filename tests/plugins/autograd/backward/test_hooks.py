"""When hooks on tensors and nodes run, and what they get: as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tt
from tt.plugins.autograd.record.graph import Graphless, start


def listed(values: Any) -> Any:
    """Return gradients as lists, so that those of two libraries can be compared."""
    if isinstance(values, tuple | list):
        return [listed(value) for value in values]
    return None if values is None else values.tolist()


def functions(lib: Any) -> tuple[Any, Any, Any]:
    """Return one Function with two results, one that gives no gradient, and one that notes what its backward gets."""

    class Two(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            return a if b is None else b if a is None else a + b

    class Ends(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return None

    class Notes(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, log: list[Any]) -> Any:
            ctx.log = log
            return x * 1

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            ctx.log.append(("backward", listed(gradient)))
            return gradient, None

    return Two, Ends, Notes


# --- programs that note what hooks get; each runs in tt and in torch -------------------------------------------------


def unused_result(lib: Any) -> Any:
    x, log = lib.ones(2, requires_grad=True), []
    a, b = functions(lib)[0].apply(x)
    b.register_hook(lambda g: log.append(listed(g)))
    b.grad_fn.register_prehook(lambda gs: log.append(listed(gs)))
    a.sum().backward()
    return log, listed(x.grad)


def unused_result_of_an_operator(lib: Any) -> Any:
    x, log = lib.ones(2, requires_grad=True), []
    a, b = (x * 2).unbind()
    b.register_hook(lambda g: log.append(listed(g)))
    b.retain_grad()
    a.sum().backward()
    return log, listed(x.grad), listed(b.grad)


def behind_a_function_without_a_gradient(lib: Any) -> Any:
    _, ends, notes = functions(lib)
    x, log = lib.ones(2, requires_grad=True), []
    x.register_hook(lambda g: log.append(("leaf", listed(g))))
    x.register_post_accumulate_grad_hook(lambda leaf: log.append(("accumulated", listed(leaf.grad))))
    y = notes.apply(x, log)
    y.register_hook(lambda g: log.append(("tensor", listed(g))))
    y.grad_fn.register_prehook(lambda gs: log.append(("before", listed(gs))))
    y.grad_fn.register_hook(lambda inputs, outputs: log.append(("after", listed(inputs), listed(outputs))))
    ends.apply(y.exp().sin()).sum().backward()
    return log, listed(x.grad)


def beside_a_function_without_a_gradient(lib: Any) -> Any:
    x, log = lib.ones(2, requires_grad=True), []
    y = x * 2
    y.register_hook(lambda g: log.append(listed(g)))
    (functions(lib)[1].apply(y).sum() + (y * 3).sum()).backward()
    return log, listed(x.grad)


def several_tensors(lib: Any) -> Any:
    x, log = lib.ones(2, requires_grad=True), []
    y, z = x * 2, x * 3
    handle = lib.autograd.graph.register_multi_grad_hook((y, z), lambda gs: log.append(listed(gs)))
    (functions(lib)[1].apply(y).sum() + z.sum()).backward()
    handle.remove()
    return log


@pytest.mark.torch
@pytest.mark.parametrize(
    "program",
    [
        unused_result,
        unused_result_of_an_operator,
        behind_a_function_without_a_gradient,
        beside_a_function_without_a_gradient,
        several_tensors,
    ],
)
def test_hooks_see_that_there_is_no_gradient(program: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch")
    assert program(tt) == program(torch)


def test_a_missing_gradient_is_not_replaced() -> None:
    x = tt.ones(2, requires_grad=True)
    a, b = (x * 2).unbind()
    b.register_hook(lambda g: tt.tensor(5.0))
    with pytest.raises(RuntimeError, match="can't replace a None gradient"):
        a.sum().backward()


def test_a_graph_is_used_up_where_no_gradient_came() -> None:
    x = tt.ones(2, requires_grad=True)
    y = x.exp()
    functions(tt)[1].apply(y).sum().backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.sum().backward()


def test_a_node_without_a_derivative_is_passed_where_no_gradient_came() -> None:
    node = start(Graphless.__new__(Graphless), (None,), (0,))
    node.reason = "no derivative"
    assert node.apply([None], None) == (None,)
    with pytest.raises(RuntimeError, match="no derivative"):
        node.apply([tt.ones(1)], None)


# --- nodes among `inputs=` -------------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.parametrize("chosen", ["x", "y", "z", "xy"])
@pytest.mark.parametrize("how", ["inputs", "all", "grad"])
def test_hooks_of_nodes_run_where_the_pass_ends_at_their_tensors(how: str, chosen: str) -> None:
    torch = pytest.importorskip("torch")

    def run(lib: Any) -> Any:
        x, log = lib.ones(2, requires_grad=True), []
        y = x * 2
        z = functions(lib)[2].apply(y, log)
        tensors = {"x": x, "y": y, "z": z}
        for name, tensor in tensors.items():
            node = tensor.grad_fn or tensor.view_as(tensor).grad_fn.next_functions[0][0]
            node.register_prehook(lambda gs, name=name: log.append((name, listed(gs))))
            node.register_hook(lambda gi, go, name=name: log.append((name, listed(gi), listed(go))))
            tensors[name].retain_grad()
        inputs = [tensors[name] for name in chosen]
        if how == "grad":
            return log, listed(lib.autograd.grad(z.sum(), inputs))
        z.sum().backward(inputs=inputs if how == "inputs" else None)
        return log, listed([x.grad, y.grad, z.grad])

    assert run(tt) == run(torch)


# --- classes and modes that see calls -------------------------------------------------------------------------------


class Doubling(tt.Tensor):
    """A class whose products are twice as large."""

    @classmethod
    def __tt_function__(cls, func, types, args=(), kwargs=None):
        with tt.DisableTTFunctionSubclass():
            result = func(*args, **(kwargs or {}))
        return result * 2 if getattr(func, "name", "") == "mul" else result


class Through(tt.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient.as_subclass(Doubling) * 3


@pytest.mark.parametrize("run", [lambda y: y.backward(), lambda y: tt.autograd.backward(y)])
def test_classes_see_the_calls_of_hooks_and_of_functions_in_a_backward_pass(run):
    seen = []
    x = tt.ones(2, requires_grad=True)
    x.register_hook(lambda g: seen.append((g.as_subclass(Doubling) * 1).tolist()))
    x.register_post_accumulate_grad_hook(lambda p: seen.append((p.grad.as_subclass(Doubling) * 1).tolist()))
    y = Through.apply(x)
    y.grad_fn.register_prehook(lambda gs: seen.append((gs[0].as_subclass(Doubling) * 1).tolist()))
    y.grad_fn.register_hook(lambda found, gs: seen.append((gs[0].as_subclass(Doubling) * 1).tolist()))
    run(y.sum())
    assert x.grad.tolist() == [6, 6]
    assert seen == [[2, 2], [2, 2], [12, 12], [12, 12]]


def test_classes_see_what_is_unpacked_and_what_a_checkpoint_runs_again():
    weight = tt.ones(2).as_subclass(Doubling).requires_grad_()

    def square(x):
        return ((weight * x) ** 2).sum()

    plain, again = (tt.ones(2, requires_grad=True) for _ in range(2))
    square(plain).backward()
    tt.utils.checkpoint.checkpoint(square, again, use_reentrant=False).backward()
    assert again.grad.tolist() == plain.grad.tolist() == [8, 8]


def test_calls_in_hooks_stay_unseen_where_the_pass_began_so():
    x, seen = tt.ones(1, requires_grad=True), []
    x.register_hook(lambda g: seen.append((g.as_subclass(Doubling) * 1).item()))
    with tt.DisableTTFunctionSubclass():
        (x + 1).sum().backward()
    (x + 1).sum().backward()
    assert seen == [1, 2]


@pytest.mark.parametrize(("result", "kind"), [(tt.ones(2), RuntimeError), (5, TypeError)])
def test_a_hook_after_a_leaf_has_its_gradient_returns_nothing(result: Any, kind: type[Exception]) -> None:
    x = tt.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda leaf: result)
    with pytest.raises(kind, match="must return None"):
        x.sum().backward()
