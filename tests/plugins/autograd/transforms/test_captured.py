"""Writes of functions that tt.func transforms, into what they make, capture and are given, compared with PyTorch."""

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tt
from tt.core.errors import InplaceError

pytestmark = pytest.mark.filterwarnings(
    "ignore:`torch.jit.script` is deprecated", "ignore:There is a performance drop"
)


def other_library() -> Any:
    return pytest.importorskip("torch")


Body = Callable[[Any, Any, Any], None]

WRITES: dict[str, Body] = {
    "add_": lambda m, x, y: y.add_(x),
    "mul_": lambda m, x, y: y.mul_(x),
    "copy_": lambda m, x, y: y.copy_(x),
    "lerp_": lambda m, x, y: y.lerp_(x, 0.5),
    "addcmul_": lambda m, x, y: y.addcmul_(x, x),
    "clamp_": lambda m, x, y: y.clamp_(max=x),
    "masked_fill_": lambda m, x, y: y.masked_fill_(m.tensor([True, False, True]), x[0]),
    "index_put_": lambda m, x, y: y.index_put_((m.tensor([0]),), x[:1]),
    "index_add_": lambda m, x, y: y.index_add_(0, m.tensor([0, 2]), x[:2]),
    "scatter_": lambda m, x, y: y.scatter_(0, m.tensor([0, 1]), x[:2]),
    "an item": lambda m, x, y: y.__setitem__(0, x[0]),
    "items of a mask": lambda m, x, y: y.__setitem__(y > 0, x),
    "a view": lambda m, x, y: y[1:].add_(x[1:]),
    "a view of a view": lambda m, x, y: y.view(3)[1:].mul_(x[1:]),
    "within a module": lambda m, x, y: m.nn.functional.relu(y.sub_(x), inplace=True),
}
"""Statements that write what depends on x into y."""


def written(make: Callable[[Any, Any], Any]) -> Callable[[Any, Body, Any], Callable[[Any], Any]]:
    """Return what makes a function that writes into the tensor that `make` returns for the library and a tensor."""

    def function(library: Any, write: Body, captured: Any) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            y = make(library, captured)
            write(library, x, y)
            return (y * x).sum()

        return run

    return function


TRANSFORMS: dict[str, Callable[[Any, Callable[[Any], Any], Any], Any]] = {
    "grad": lambda m, f, x: m.func.grad(f)(x),
    "grad_and_value": lambda m, f, x: m.func.grad_and_value(f)(x),
    "vjp": lambda m, f, x: m.func.vjp(f, x)[1](m.ones(())),
    "jacrev": lambda m, f, x: m.func.jacrev(f)(x),
    "jvp": lambda m, f, x: m.func.jvp(f, (x,), (m.ones(3),)),
    "jacfwd": lambda m, f, x: m.func.jacfwd(f)(x),
    "hessian": lambda m, f, x: m.func.hessian(f)(x),
    "grad of grad": lambda m, f, x: m.func.grad(lambda z: m.func.grad(f)(z).sum())(x),
}


def numbers(result: Any) -> list[Any]:
    values = result if isinstance(result, tuple) else (result,)
    return [numbers(v) if isinstance(v, tuple) else v.detach().tolist() for v in values]


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("write", WRITES)
def test_a_captured_tensor_is_not_written_with_values_of_the_transform(write: str, transform: str) -> None:
    captured = tt.ones(3)
    function = written(lambda m, y: y)(tt, WRITES[write], captured)
    with pytest.raises(InplaceError, match=re.escape("a tensor that was not made inside of a function")):
        TRANSFORMS[transform](tt, function, tt.tensor([1.0, 2.0, 3.0]))
    assert not captured.requires_grad and captured.is_leaf
    assert captured.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.torch
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("write", WRITES)
def test_a_tensor_of_the_function_is_written_as_in_pytorch(write: str, transform: str) -> None:
    torch = other_library()
    results = []
    for library in (tt, torch):
        function = written(lambda m, y: m.zeros_like(y) + 0.5)(library, WRITES[write], library.ones(3))
        results.append(numbers(TRANSFORMS[transform](library, function, library.tensor([1.0, 2.0, 3.0]))))
    assert results[0] == results[1]


FOREACH: dict[str, Body] = {
    "_foreach_add_": lambda m, x, y: m._foreach_add_([y], [x]),
    "_foreach_lerp_": lambda m, x, y: m._foreach_lerp_([y], [x], 0.5),
}


@pytest.mark.parametrize("write", FOREACH)
def test_lists_of_captured_tensors_are_not_written_either(write: str) -> None:
    with pytest.raises(InplaceError):
        tt.func.grad(written(lambda m, y: y)(tt, FOREACH[write], tt.ones(3)))(tt.ones(3))


def test_what_leaves_no_history_may_be_written() -> None:
    def keep(x: Any, y: Any) -> Any:
        y.mul_(2)
        y[0] = 5.0
        y.add_(x.detach())
        with tt.no_grad():
            y.add_(x)
        tt.add(tt.ones(3), y, out=y)
        return (x * x).sum()

    captured = tt.ones(3)
    assert tt.func.grad(lambda x: keep(x, captured))(tt.tensor([1.0, 2.0, 3.0])).tolist() == [2.0, 4.0, 6.0]
    assert captured.tolist() == [8.0, 7.0, 9.0] and not captured.requires_grad


def test_a_function_captures_what_a_function_around_it_made() -> None:
    def outer(x: Any) -> Any:
        made = x * 1
        return tt.func.grad(lambda z: (made.add_(z) * z).sum())(x).sum()

    with pytest.raises(InplaceError, match="not made inside"):
        tt.func.grad(outer)(tt.ones(3))
    with pytest.raises(InplaceError, match="not made inside"):
        tt.func.jvp(outer, (tt.ones(3),), (tt.ones(3),))


def test_what_an_inner_transform_made_belongs_to_the_function_around_it() -> None:
    def outer(x: Any) -> Any:
        made, _ = tt.func.vjp(lambda z: z * 1, tt.ones(3))
        return made.mul_(x).sum()

    assert tt.func.grad(outer)(tt.ones(3)).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_variable_is_not_written_at_any_depth(levels: int) -> None:
    def function(x: Any) -> Any:
        return (x.mul_(2) ** 2).sum()

    for _ in range(levels):
        inner = function

        def function(x: Any, inner: Any = inner) -> Any:
            return tt.func.grad(inner)(x).sum()

    with pytest.raises(InplaceError):
        function(tt.ones(3))


def test_another_thread_and_the_time_after_a_transform_are_not_bound_by_it() -> None:
    captured, other, found = tt.ones(3), tt.ones(3), []
    weight = tt.ones(3, requires_grad=True)

    def function(x: Any) -> Any:
        thread = threading.Thread(target=lambda: found.append(other.add_(weight).requires_grad))
        thread.start()
        thread.join()
        return (x * x).sum()

    tt.func.grad(function)(tt.ones(3))
    captured.add_(weight).sum().backward()
    assert found == [True] and weight.grad is not None and weight.grad.tolist() == [1.0, 1.0, 1.0]


def test_blocks_of_forward_mode_write_into_what_was_there_before() -> None:
    captured = tt.ones(3)
    with tt.autograd.forward_ad.dual_level():
        captured.add_(tt.autograd.forward_ad.make_dual(tt.ones(3), tt.full((3,), 4.0)))
        assert tt.autograd.forward_ad.unpack_dual(captured).tangent.tolist() == [4.0, 4.0, 4.0]


# --- arguments that are not differentiated ---------------------------------------------------------------------


def programs(m: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield programs that write into arguments, and return what PyTorch is asked for, too."""
    x, func = m.tensor([1.0, 2.0, 3.0]), m.func

    def body(x: Any, y: Any) -> Any:
        return (y.add_(x) * x).sum()

    def after(call: Callable[[Any], Any], y: Any) -> Any:
        result = call(y)
        return numbers(result), numbers(y), y.requires_grad

    yield "grad", lambda: after(lambda y: func.grad(body)(x, y), m.ones(3))
    yield "grad, by name", lambda: after(lambda y: func.grad(body)(x, y=y), m.ones(3))
    yield "jacrev", lambda: after(lambda y: func.jacrev(body)(x, y), m.ones(3))
    yield "jacrev returns it", lambda: after(lambda y: func.jacrev(lambda x, y: y.add_(x))(x, y), m.ones(3))
    yield "jacfwd", lambda: after(lambda y: func.jacfwd(body)(x, y), m.ones(3))
    yield "hessian", lambda: after(lambda y: func.hessian(body)(x, y), m.ones(3))
    yield "a view", lambda: after(lambda y: func.grad(body)(x, y[0]), m.ones(2, 3))
    yield "vmap of grad", lambda: after(lambda y: m.vmap(func.grad(body))(x.expand(2, 3), y), m.ones(2, 3))
    yield "has a history", lambda: after(lambda y: func.grad(body)(x, y), m.ones(3, requires_grad=True) * 1)
    tree = {"a": m.ones(3), "b": [m.zeros(3)]}
    yield "tree", lambda: after(lambda y: func.grad(lambda x, t: body(x, t["b"][0]))(x, tree), tree["b"][0])

    def of_another() -> Any:
        weight, y = m.ones(3, requires_grad=True), m.ones(3)
        found = func.grad(lambda x, y: (y.add_(weight) * x).sum())(x, y)
        (y * y).sum().backward()
        return numbers(found), weight.grad.tolist()

    yield "gets another tensor's history", of_another

    def nested(x: Any) -> Any:
        y = m.zeros(3)
        return func.grad(lambda z, y: (y.add_(x * z) * z).sum())(x, y).sum() + y.sum()

    yield "nested", lambda: numbers(func.grad(nested)(x))
    yield "nested in jvp", lambda: numbers(func.jvp(nested, (x,), (m.ones(3),)))
    yield "nested in jacfwd", lambda: numbers(func.jacfwd(nested)(x))
    yield "nested in hessian", lambda: numbers(func.hessian(nested)(x))


@pytest.mark.torch
@pytest.mark.parametrize("name", [name for name, _ in programs(tt)])
def test_an_argument_that_is_not_differentiated_is_written_as_in_pytorch(name: str) -> None:
    torch = other_library()
    ours, theirs = dict(programs(tt))[name](), dict(programs(torch))[name]()
    assert ours == theirs


def test_what_a_function_further_out_captured_is_captured_as_an_argument_too() -> None:
    captured = tt.ones(3)

    def outer(x: Any) -> Any:
        return tt.func.jacrev(lambda z, y: y.add_(z) * z)(x, captured).sum()

    with pytest.raises(InplaceError, match="not made inside"):
        tt.func.grad(outer)(tt.ones(3))
