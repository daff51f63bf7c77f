"""Hooks on saved tensors, their view in a node, and several tensors' gradients together."""

from __future__ import annotations

from typing import Any

import pytest

import tt
from tt.autograd.graph import (
    disable_saved_tensors_hooks,
    get_gradient_edge,
    increment_version,
    register_multi_grad_hook,
    save_on_cpu,
    saved_tensors_hooks,
)


@pytest.fixture
def x() -> Any:
    return tt.tensor([1.0, 2.0], requires_grad=True)


def test_what_the_unpack_hook_returns_is_used(x: Any) -> None:
    with saved_tensors_hooks(lambda t: t * 2, lambda t: t * 5):
        y = x * x
    y.sum().backward()
    assert x.grad.tolist() == [20.0, 40.0]


def test_each_saved_tensor_is_packed_once_when_it_is_saved(x: Any) -> None:
    events: list[str] = []

    def pack(tensor: Any) -> Any:
        assert not tensor.requires_grad and not tt.is_grad_enabled()
        events.append("pack")
        return tensor

    def unpack(tensor: Any) -> Any:
        events.append("unpack")
        return tensor

    with saved_tensors_hooks(pack, unpack):
        y = (x.exp() * 2).sum()
    assert events == ["pack"]
    y.backward()
    assert events == ["pack", "unpack"]


def test_the_innermost_hooks_count(x: Any) -> None:
    with saved_tensors_hooks(lambda t: t, lambda t: t * 0):
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            y = x.exp()
        z = x.exp()
    (y + z).sum().backward()
    assert x.grad.tolist() == pytest.approx(x.exp().tolist())


def test_lists_and_functions_of_ones_own_are_packed(x: Any) -> None:
    count = 0

    def pack(tensor: Any) -> Any:
        nonlocal count
        count += 1
        return tensor.tolist()

    class Square(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * gradient

    with saved_tensors_hooks(pack, tt.tensor):
        y = Square.apply(x)
    assert count == 1
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_second_derivatives_go_through_hooks(x: Any) -> None:
    with saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = (x**3).sum()
        (first,) = tt.autograd.grad(y, x, create_graph=True)
        first.sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]


def test_save_on_cpu_brings_tensors_back(x: Any) -> None:
    with save_on_cpu(pin_memory=True):
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_hooks_can_be_forbidden(x: Any) -> None:
    with (
        disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
        save_on_cpu(),
    ):
        pass
    with (
        save_on_cpu(),
        pytest.raises(RuntimeError, match="nor here"),
        disable_saved_tensors_hooks("nor here"),
    ):
        pass
    with save_on_cpu():
        assert (x * x).requires_grad


def test_wrong_hooks_are_refused(x: Any) -> None:
    with (
        pytest.raises(tt.errors.InplaceError, match="pack hook"),
        saved_tensors_hooks(lambda t: t.zero_(), tt.tensor),
    ):
        x.exp()
    with saved_tensors_hooks(lambda t: t, lambda t: None):
        y = x.exp()
    with pytest.raises(TypeError, match="unpack hook returns a tensor"):
        y.sum().backward()


# --- members of a node -----------------------------------------------------------------------------------------


def test_saved_values_can_be_read_by_name(x: Any) -> None:
    node = (x * x).grad_fn
    assert node._saved_self is x
    assert x.exp().grad_fn._saved_result.tolist() == x.exp().tolist()
    assert tt.softmax(x, 0).grad_fn._saved_dim == 0
    assert "_saved_other" in dir(node)
    with pytest.raises(AttributeError, match="saved nothing called 'exponent'"):
        _ = node._saved_exponent
    with pytest.raises(AttributeError, match="no attribute 'weight'"):
        _ = node.weight


def test_saved_values_are_gone_after_a_pass(x: Any) -> None:
    y = x.exp()
    y.sum().backward()
    with pytest.raises(tt.errors.GradientError, match="retain_graph"):
        _ = y.grad_fn._saved_result


# --- hooks on several tensors ----------------------------------------------------------------------------------


def test_a_multi_hook_gets_all_gradients_once_for_each_pass() -> None:
    a, b, c = (tt.ones(1, requires_grad=True) for _ in range(3))
    seen: list[Any] = []
    handle = register_multi_grad_hook(
        (a, b, c), lambda gs: seen.append([None if g is None else g.item() for g in gs])
    )
    (2 * a + 3 * b).sum().backward()
    (a + b + c).sum().backward()
    tt.autograd.grad((4 * c).sum(), c)
    handle.remove()
    (a + b).sum().backward()
    assert seen == [[2.0, 3.0, None], [1.0, 1.0, 1.0], [None, None, 4.0]]


def test_a_multi_hook_may_want_the_first_only() -> None:
    a, b = (tt.ones(1, requires_grad=True) for _ in range(2))
    seen: list[float] = []
    with register_multi_grad_hook((a, b), lambda g: seen.append(g.item()), mode="any"):
        (2 * a + 2 * b).sum().backward()
        (5 * b).sum().backward()
    (a + b).sum().backward()
    assert seen == [2.0, 5.0]


def test_a_multi_hook_is_for_tensors_that_require_gradients() -> None:
    with pytest.raises(tt.errors.GradientError):
        register_multi_grad_hook((tt.ones(1),), print)
    with pytest.raises(ValueError, match="'all' or 'any'"):
        register_multi_grad_hook((tt.ones(1, requires_grad=True),), print, mode="some")


# --- edges -----------------------------------------------------------------------------------------------------


def test_edges_stand_for_tensors(x: Any) -> None:
    y = x * 3
    place = get_gradient_edge(y)
    z = (y * y).sum()
    (through,) = tt.autograd.grad(z, place, retain_graph=True)
    assert through.tolist() == [6.0, 12.0]
    (from_edge,) = tt.autograd.grad(place, x, tt.ones(2))
    assert from_edge.tolist() == [3.0, 3.0]
    with pytest.raises(tt.errors.GradientError, match="needs a gradient"):
        tt.autograd.grad(place, x)
    with pytest.raises(tt.errors.GradientError, match=r"shape of tt.Size\(\[3\]\) and output\[0\]"):
        tt.autograd.grad(place, x, tt.ones(3))
    assert place == (place.node, place.output_nr, None) and place.ownership_token is None
    with pytest.raises(tt.errors.GradientError):
        get_gradient_edge(tt.ones(1))


def test_a_change_from_outside_can_be_noted(x: Any) -> None:
    y = x * 1
    z = (y * y).sum()
    increment_version(y)
    with pytest.raises(tt.errors.SavedTensorError):
        z.backward()
    with pytest.raises(TypeError):
        increment_version([1])


# --- blocks that a hook of a backward pass enters ---------------------------------------------------------------------


@pytest.mark.parametrize("fails", [False, True])
def test_hooks_entered_in_a_pass_end_with_it(x: Any, fails: bool) -> None:
    packed: list[str] = []

    def noting(name: str) -> saved_tensors_hooks:
        return saved_tensors_hooks(lambda t: packed.append(name) or t, lambda t: t)

    def enter(gradient: Any) -> None:
        noting("inner").__enter__()
        if fails:
            raise ValueError("stop")

    def run() -> None:
        y = x * 2
        y.register_hook(enter)
        try:
            y.sum().backward()
        except ValueError:
            assert fails

    run()
    x.exp()
    assert not packed
    with noting("outer"):
        run()
        x.exp()
    assert packed == ["outer"]


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("outer", [0, 2])
def test_a_block_that_its_own_hook_enters_in_a_pass_ends_at_its_exit(
    x: Any, outer: int, inside: bool
) -> None:
    packed: list[str] = []

    class Again(saved_tensors_hooks):
        def __init__(self, name: str) -> None:
            def pack(value: Any) -> Any:
                packed.append(name)
                return value

            def unpack(value: Any) -> Any:
                self.__enter__()
                return value

            super().__init__(pack, unpack)

    blocks = [saved_tensors_hooks(lambda v: v, lambda v: v) for _ in range(outer)]
    for block in blocks:
        block.__enter__()
    again = Again("again")
    again.__enter__()
    y = (x * x).exp().sum()
    if inside:
        y.backward()
    again.__exit__(None, None, None)
    if not inside:
        y.backward()
    for block in reversed(blocks):
        block.__exit__(None, None, None)
    del packed[:]
    x.exp()
    assert not packed
    with again, again:
        x.exp()
        assert packed == ["again"]
    x.exp()
    assert packed == ["again"]


def test_hooks_forbidden_in_a_pass_are_allowed_after_it(x: Any) -> None:
    y = x * 2
    y.register_hook(lambda g: disable_saved_tensors_hooks("not here").__enter__())
    y.sum().backward()
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        x.exp()
    x.exp()


def test_hooks_left_in_a_pass_stay_left(x: Any) -> None:
    packed: list[Any] = []
    hooks = saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t)
    y = x * 2
    y.register_hook(lambda g: hooks.__exit__(None, None, None))
    hooks.__enter__()
    y.sum().backward()
    x.exp()
    assert not packed


# --- what hooks get ---------------------------------------------------------------------------------------------------


def saved_by(lib: Any, program: Any) -> Any:
    """Return the classes, attributes and needs of what the pack hook gets, and the class of what backward gets."""
    packed, unpacked = [], []
    kind = type("Image", (lib.Tensor,), {})
    x, w = lib.ones(2, 2).as_subclass(kind).requires_grad_(), lib.ones(2, 2, requires_grad=True)
    x.label = "left"

    def pack(tensor: Any) -> Any:
        packed.append((type(tensor).__name__, getattr(tensor, "label", None), tensor.requires_grad))
        return tensor

    def unpack(tensor: Any) -> Any:
        unpacked.append(type(tensor).__name__)
        return tensor

    with lib.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = program(lib, x, w)
    y.sum().backward()
    return sorted(packed, key=str), sorted(unpacked), type(y).__name__, x.grad.tolist()


@pytest.mark.torch
@pytest.mark.parametrize(
    "program",
    [
        lambda lib, x, w: x * w,
        lambda lib, x, w: x * lib.nn.Parameter(w.detach()),
        lambda lib, x, w: x * (w * 2).detach(),
    ],
    ids=["tensors", "a parameter", "a constant"],
)
def test_hooks_get_the_tensors_themselves(program: Any) -> None:
    torch = pytest.importorskip("torch")
    assert saved_by(tt, program) == saved_by(torch, program)


def test_hooks_get_what_a_function_saves_in_its_class() -> None:
    class Cube(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (x,) = ctx.saved_tensors
            assert x.label == "left"
            return 3 * x**2 * gradient

    packed, unpacked, kind, gradient = saved_by(tt, lambda lib, x, w: Cube.apply(x))
    assert packed == [("Image", "left", True)] and unpacked == ["Image"] and kind == "Image"
    assert gradient == [[3, 3], [3, 3]]


def test_second_derivatives_go_through_hooks_that_keep_the_tensor() -> None:
    x = tt.tensor([1.0, 2.0], requires_grad=True)
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        (first,) = tt.autograd.grad((x**3).sum(), x, create_graph=True)
        (second,) = tt.autograd.grad(first.sum(), x)
    assert second.tolist() == [6, 12]


def test_a_pass_starts_from_the_edge_of_a_scalar_with_one(x: Any) -> None:
    (found,) = tt.autograd.grad(get_gradient_edge((x * 3).sum()), x)
    assert found.tolist() == [3.0, 3.0]
    tt.autograd.backward(get_gradient_edge((x * 4).sum(0, keepdim=True)))
    assert x.grad.tolist() == [4.0, 4.0]
    with pytest.raises(tt.errors.GradientError, match="only a real one"):
        tt.autograd.grad(get_gradient_edge((x * 1j).sum()), x)


def test_blocks_of_allow_mutation_do_not_nest() -> None:
    allow = tt.autograd.graph.allow_mutation_on_saved_tensors
    with pytest.raises(RuntimeError, match="cannot be nested"), allow(), allow():
        pass
    for _ in range(2):  # each ends, also where the body raises
        with pytest.raises(ValueError, match="mine"), allow():
            raise ValueError("mine")


def test_a_block_is_left_by_hand_without_arguments() -> None:
    x = tt.ones(2, requires_grad=True)
    block = saved_tensors_hooks(lambda t: t * 2, lambda t: t)
    block.__enter__()
    try:
        y = x * x
    finally:
        block.__exit__()
    y.sum().backward()
    (x * x).sum().backward()
    assert x.grad.tolist() == [6, 6]


# --- allow_mutation_on_saved_tensors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda y: y.sin_(),
        lambda y: y[:1].mul_(3),
        lambda y: y.view(-1).zero_(),
        lambda y: y.__setitem__(0, 7.0),
        lambda y: tt._foreach_mul_([y], 2.0),
        lambda y: tt.sin(tt.ones(2), out=y.detach()),
    ],
    ids=["itself", "part", "view", "item", "list", "out"],
)
@pytest.mark.parametrize("kept", ["argument", "result"])
def test_what_is_changed_after_it_was_saved_is_copied_before(change: Any, kept: str) -> None:
    allow = tt.autograd.graph.allow_mutation_on_saved_tensors
    x = tt.tensor([0.5, 2.0], requires_grad=True)
    with allow() as context:
        y = x.clone() if kept == "argument" else x.exp()
        z = (y**2).sum() if kept == "argument" else y.sum()
        with tt.no_grad():
            assert not context.cloned
            change(y)
        assert len(context.cloned) == 1
        z.backward()
        assert not context.cloned
    expected = x * 2 if kept == "argument" else x.exp()
    tt.testing.assert_close(x.grad, expected.detach())


def test_only_what_a_graph_needs_is_copied_and_once() -> None:
    with tt.autograd.graph.allow_mutation_on_saved_tensors() as context:
        x = tt.ones(2, requires_grad=True).clone()
        first, second = x**2, x**2
        assert len(context.tid_to_weakhandle) == 1
        x.sin_()
        assert len(context.cloned) == 1
        third = x**2
        x.sin_()
        assert len(context.cloned) == 2
        del first, second
        assert len(context.cloned) == 1
        del third
        x.sin_()
        assert not context.cloned


def test_a_pass_belongs_into_the_block_that_saved_its_tensors() -> None:
    allow = tt.autograd.graph.allow_mutation_on_saved_tensors
    x = tt.ones(2, requires_grad=True)
    with allow():
        y = (x**2).sum()
    with pytest.raises(AssertionError, match="outside of the"):
        y.backward()
    with allow(), pytest.raises(AssertionError, match="outside of the"):
        y.backward()


def test_second_derivatives_and_other_layouts_keep_their_values() -> None:
    x = tt.tensor([1.0, 2.0], requires_grad=True)
    with tt.autograd.graph.allow_mutation_on_saved_tensors() as context:
        y = x.clone()
        z = (y**3).sum()
        y.zero_()
        (first,) = tt.autograd.grad(z, x, create_graph=True)
        (second,) = tt.autograd.grad(first.sum(), x)
        sparse = tt.eye(2).to_sparse().requires_grad_()
        w = (sparse * sparse).sum()
        with tt.no_grad():
            sparse.mul_(5)
        w.backward()
    assert first.tolist() == [3, 12] and second.tolist() == [6, 12]
    assert sparse.grad.to_dense().tolist() == [[2, 0], [0, 2]] and not context.cloned


def test_a_block_that_its_hook_leaves_in_a_pass_may_be_left_again() -> None:
    def unpack(value: Any) -> Any:
        block.__exit__()
        return value

    block = saved_tensors_hooks(lambda value: value, unpack)
    for _ in range(3):
        with saved_tensors_hooks(lambda value: value, lambda value: value):
            block.__enter__()
            tt.ones(2, requires_grad=True).sin().sum().backward()
    for _ in range(3):
        block.__exit__()
    y = tt.ones(2, requires_grad=True).exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda value: value, lambda value: value)  # none are left
