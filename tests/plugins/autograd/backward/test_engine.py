"""Backward passes: accumulation, ownership, hooks, arguments, errors."""

from __future__ import annotations

from typing import Any

import pytest

import tt
from tests.plugins.autograd.backward.test_functional import x


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """One entry for each gradient that was copied because somebody else held it."""
    from tt.plugins.autograd.backward import validate_grads

    made: list[Any] = []
    original = validate_grads.copy

    def copy(gradient: Any, leaf: Any = None) -> Any:
        made.append(tuple(gradient.shape))
        return original(gradient, leaf)

    monkeypatch.setattr(validate_grads, "copy", copy)
    return made


# --- who owns a gradient ---------------------------------------------------------------------------------------


def test_a_leaf_adopts_a_gradient_that_nobody_else_holds(copies: list[Any]) -> None:
    x = tt.ones(100, requires_grad=True)
    (x * 2).sum().backward()
    assert not copies
    assert x.grad is not None and x.grad.is_contiguous()


def test_two_leaves_do_not_share_a_gradient(copies: list[Any]) -> None:
    x, y = tt.ones(100, requires_grad=True), tt.ones(100, requires_grad=True)
    ((x + y) * 2).sum().backward()
    assert len(copies) == 1
    assert x.grad is not None and y.grad is not None
    x.grad.zero_()
    assert y.grad.sum().item() == 200.0


class Twice(tt.autograd.Function):
    """The sum of two arguments; its backward makes one gradient, and returns it for both."""

    made: Any = None
    address = 0

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        return x + y

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        found = gradient if Twice.made is None else Twice.made()
        Twice.address = (found if found.layout is tt.strided else found._values()).data_ptr()
        return found, found


def test_one_of_two_leaves_adopts_a_gradient_with_a_known_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Twice, "made", None)
    x, y = tt.ones(5, 6, requires_grad=True), tt.ones(5, 6, requires_grad=True)
    Twice.apply(x, y)[1][0].backward()
    addresses = [leaf.grad.data_ptr() for leaf in (x, y)]
    assert addresses[0] != addresses[1] and Twice.address in addresses


HELD = tt.ones(3, 2)


@pytest.mark.parametrize(
    ("values", "adopted"),
    [
        (lambda: tt.ones(3, 2), True),
        (lambda: HELD, False),
        (lambda: HELD[:], False),
        (lambda: tt.ones(1, 2).expand(3, 2), False),
    ],
    ids=["own", "held", "view", "expanded"],
)
def test_sparse_gradients_are_adopted_if_their_parts_are_nobody_else_s(
    values: Any, adopted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Twice, "made", lambda: tt.sparse_coo_tensor(tt.tensor([[1, 2, 3]]), values(), (5, 2)))
    x, y = tt.ones(5, 2, requires_grad=True), tt.ones(5, 2, requires_grad=True)
    Twice.apply(x, y).sum().backward()
    addresses = [leaf.grad._values().data_ptr() for leaf in (x, y)]
    assert addresses[0] != addresses[1] and (Twice.address in addresses) is adopted
    with tt.no_grad():
        x.grad._values().mul_(2)
        y.grad._values().mul_(3)
    assert x.grad.to_dense()[1:4].tolist() == [[2, 2]] * 3
    assert y.grad.to_dense()[1:4].tolist() == [[3, 3]] * 3
    assert HELD.tolist() == [[1, 1]] * 3


def test_the_gradient_of_an_embedding_does_not_follow_the_indices_of_the_program() -> None:
    table, indices = tt.ones(5, 2, requires_grad=True), tt.tensor([1, 2])
    tt.nn.functional.embedding(indices, table, sparse=True).sum().backward()
    indices.zero_()
    assert table.grad.to_dense()[:, 0].tolist() == [0, 1, 1, 0, 0]


def test_a_gradient_of_the_user_is_not_adopted() -> None:
    x, gradient = tt.ones(3, requires_grad=True), tt.ones(3)
    (x + 0).backward(gradient)
    assert x.grad is not None
    x.grad.zero_()
    assert gradient.tolist() == [1.0, 1.0, 1.0]


def test_an_expanded_gradient_is_made_dense() -> None:
    x = tt.ones(3, requires_grad=True)
    x.sum().backward()
    assert x.grad is not None and x.grad.stride() == (1,)
    x.grad[0] = 5.0
    assert x.grad.tolist() == [5.0, 1.0, 1.0]


def test_a_gradient_seen_by_a_hook_is_not_adopted() -> None:
    x, seen = tt.ones(3, requires_grad=True), []
    x.register_hook(seen.append)
    (x * 2).sum().backward()
    assert x.grad is not None
    x.grad.zero_()
    assert seen[0].tolist() == [2.0, 2.0, 2.0]


def test_gradients_accumulate_in_place() -> None:
    x = tt.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first and first is not None and first.tolist() == [5.0, 5.0, 5.0]


def test_sums_of_many_gradients_do_not_change_what_others_hold() -> None:
    x = tt.ones(3, requires_grad=True)
    gradient = tt.ones(3)
    y = x * 1
    (y + y + y + y).backward(gradient)
    assert gradient.tolist() == [1.0, 1.0, 1.0]
    assert x.grad is not None and x.grad.tolist() == [4.0, 4.0, 4.0]


# --- hooks -----------------------------------------------------------------------------------------------------


def test_hooks_run_in_order_and_can_be_removed() -> None:
    a, log = x(), []
    handle = a.register_hook(lambda g: log.append("first"))
    a.register_hook(lambda g: log.append("second"))
    a.sum().backward()
    handle.remove()
    a.sum().backward()
    assert log == ["first", "second", "second"]


def test_a_hook_sees_the_sum_of_all_paths() -> None:
    a, seen = x(), []
    b = a * 2
    b.register_hook(lambda g: seen.append(g.tolist()))
    (b + b * 3).sum().backward()
    assert seen == [[4.0, 4.0, 4.0]]


def test_hooks_of_nodes() -> None:
    a, seen = x(), []
    b = a * 2
    b.grad_fn.register_prehook(lambda gs: (gs[0] * 10,))
    b.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0].tolist(), outputs[0].tolist())))
    b.sum().backward()
    assert seen == [([20.0] * 3, [10.0] * 3)]
    assert a.grad is not None and a.grad.tolist() == [20.0] * 3


def test_a_hook_after_accumulation_sees_the_gradient() -> None:
    a, seen = x(), []
    a.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    (a * 4).sum().backward()
    assert seen == [[4.0, 4.0, 4.0]]


class Noted(tt.autograd.Function):
    """Notes when backward passes it."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, log: list[Any], name: str) -> Any:
        ctx.noted = log, name
        return tensor.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:  # type: ignore[override]
        log, name = ctx.noted
        log.append(name)
        return gradient, None, None


def watched(log: list[Any], *names: str) -> list[tt.Tensor]:
    made = [x() for _ in names]
    for leaf, name in zip(made, names, strict=True):
        leaf.register_post_accumulate_grad_hook(lambda t, name=name: log.append((name, t.grad.tolist()[0])))
    return made


def test_hooks_after_accumulation_run_while_the_pass_goes_on() -> None:
    log: list[Any] = []
    early, twice, late = watched(log, "early", "twice", "late")
    start = Noted.apply(late * 2, log, "first")
    middle = Noted.apply(start * twice, log, "second")
    (middle * early * twice).sum().backward()
    assert log == [("early", 2), "second", ("twice", 4), "first", ("late", 2)]


def test_a_leaf_with_hooks_runs_once_with_all_its_gradients_although_some_paths_have_none() -> None:
    log: list[Any] = []
    (leaf,) = watched(log, "leaf")

    class Stops(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, tensor: Any) -> Any:
            return tensor.clone()

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:  # type: ignore[override]
            return None

    (Stops.apply(leaf * 5) + leaf * leaf).sum().backward()
    assert log == [("leaf", 2)]
    tt.autograd.backward([leaf, (leaf * 3).sum()], [tt.ones(3), None])
    assert log[1:] == [("leaf", 6)]


def test_hooks_after_accumulation_run_for_the_chosen_inputs_only() -> None:
    log: list[Any] = []
    a, b = watched(log, "a", "b")
    (a * b * b).sum().backward(inputs=[b])
    assert log == [("b", 2)] and a.grad is None
    assert tt.autograd.grad((a * b).sum(), [a, b])[0].tolist() == [1.0] * 3
    assert log == [("b", 2)]


def test_gradients_are_freed_and_leaves_updated_while_the_pass_goes_on() -> None:
    held: list[int] = []
    weights = [tt.full((4, 4), 0.1 * i, requires_grad=True) for i in range(5)]

    def update(leaf: Any) -> None:
        held.append(sum(weight.grad is not None for weight in weights))
        with tt.no_grad():
            leaf.sub_(leaf.grad, alpha=0.1)
        leaf.grad = None

    expected = [weight.detach().clone().requires_grad_() for weight in weights]
    for chosen in (weights, expected):
        if chosen is weights:
            for weight in weights:
                weight.register_post_accumulate_grad_hook(update)
        found = tt.ones(2, 4)
        for weight in chosen:
            found = tt.tanh(found @ weight + 1)
        found.sum().backward()
    assert held == [1] * 5
    for weight, other in zip(weights, expected, strict=True):
        assert other.grad is not None
        assert tt.allclose(weight, other - 0.1 * other.grad, rtol=1e-6)


@pytest.mark.parametrize(
    ("hook", "error", "message"),
    [
        (lambda g: 3, TypeError, "must return a Tensor or None, not int"),
        (lambda g: g[:1], RuntimeError, "has changed the size of value"),
        (lambda g: g.half(), RuntimeError, "has changed the type of value"),
    ],
)
def test_a_hook_that_returns_something_else_is_refused(
    hook: Any, error: type[Exception], message: str
) -> None:
    a = x()
    a.register_hook(hook)
    with pytest.raises(error, match=message):
        a.sum().backward()


# --- data that is replaced -------------------------------------------------------------------------------------


def test_a_leaf_whose_data_was_replaced_gets_gradients_that_fit() -> None:
    a = tt.ones(3, requires_grad=True)
    (a * 2).sum().backward()
    a.data = tt.ones(2, 2, dtype=tt.float64)
    a.grad = None
    (a * 3).sum().backward()
    assert a.grad is not None and tuple(a.grad.shape) == (2, 2) and a.grad.dtype is tt.float64
