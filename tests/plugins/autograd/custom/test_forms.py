"""The three forms of a custom operator's gradient, against finite differences and against each other."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.core.errors import ArgumentError, GradientError, SavedTensorError
from tt.library import custom_op, scoped


@pytest.fixture(autouse=True)
def scope():
    """Undo the registrations of a test."""
    with scoped():
        yield


def leaf(*values):
    return tt.tensor(values, dtype=tt.float64, requires_grad=True)


def product():
    """x * y * scale."""

    @custom_op("forms::product")
    def product(x: tt.Tensor, y: tt.Tensor, scale: float = 1.0) -> tt.Tensor: ...

    product.kernel("cpu", lambda x, y, scale: x * y * scale)
    return product


def by_context(op):
    @op.setup_context
    def save(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])
        ctx.scale = inputs[2]

    @op.backward
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        assert len(ctx.needs_input_grad) == 3
        return g * y * ctx.scale, g * x * ctx.scale, None


def by_register_autograd(op):
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y * ctx.scale, g * x * ctx.scale, None

    def save(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])
        ctx.scale = inputs[2]

    op.register_autograd(backward, setup_context=save)


def by_names(op):
    @op.backward
    def backward(g, x, y, scale):
        return g * y * scale, g * x * scale


def by_saves(op):
    @op.backward(saves=("scale", "y", "x"))
    def backward(g, factor, right, left):
        return {"x": g * right * factor, "y": g * left * factor}


def by_formulas(op):
    op.backward(x=lambda g, y, scale: g * y * scale, y=lambda g, x, scale: g * x * scale)


FORMS = [by_context, by_register_autograd, by_names, by_saves, by_formulas]


@pytest.mark.parametrize("form", FORMS)
def test_first_and_second_derivatives_are_those_of_finite_differences(form):
    op = product()
    form(op)
    x, y = leaf(1.0, 2.0), leaf(3.0, -4.0)
    assert tt.autograd.gradcheck(lambda a, b: op(a, b, 2.0), (x, y))
    assert tt.autograd.gradgradcheck(lambda a, b: op(a, b, 2.0), (x, y))


@pytest.mark.parametrize("form", FORMS)
def test_only_what_needs_a_gradient_gets_one(form):
    op = product()
    form(op)
    x, y = leaf(1.0, 2.0), tt.tensor([3.0, 4.0], dtype=tt.float64)
    op(x, y).sum().backward()
    assert x.grad.tolist() == [3.0, 4.0] and y.grad is None
    assert not op(y, y).requires_grad
    with tt.no_grad():
        assert not op(x, y).requires_grad


@pytest.mark.parametrize("form", FORMS)
def test_what_was_saved_and_changed_is_found(form):
    op = product()
    form(op)
    x, y = leaf(1.0, 2.0), tt.tensor([3.0, 4.0], dtype=tt.float64)
    made = op(x, y)
    y.add_(1)
    with pytest.raises(SavedTensorError):
        made.sum().backward()


@pytest.mark.parametrize("form", FORMS)
def test_the_last_form_counts_and_what_it_shadowed_comes_back(form):
    op = product()
    form(op)
    wrong = op.backward(lambda g: (g * 100, g * 100))
    x, y = leaf(1.0), leaf(5.0)
    op(x, y).backward(tt.ones(1, dtype=tt.float64))
    assert x.grad.item() == 100
    op.handle(wrong).remove()
    x.grad = None
    op(x, y).backward(tt.ones(1, dtype=tt.float64))
    assert x.grad.item() == 5


def test_results_are_saved_by_name_and_as_aliases():
    @custom_op("forms::exp")
    def exp(x: tt.Tensor) -> tt.Tensor: ...

    exp.kernel("cpu", np.exp)

    @exp.backward
    def backward(g, result):
        return g * result

    x = leaf(0.5, 1.0)
    assert tt.autograd.gradcheck(exp, (x,)) and tt.autograd.gradgradcheck(exp, (x,))


def test_facts_are_saved_in_the_place_of_tensors():
    @custom_op("forms::total")
    def total(x: tt.Tensor) -> tt.Tensor: ...

    total.kernel("cpu", lambda x: np.asarray(x.sum()))

    @total.backward
    def backward(g, x_shape):
        return g.expand(x_shape)

    assert tt.autograd.gradcheck(total, (leaf(1.0, 2.0, 3.0),))


# --- several results, lists, values that are not tensors ------------------------------------------------------------


def pair(result="same"):
    @custom_op("forms::pair", result=result)
    def pair(x: tt.Tensor) -> tuple[tt.Tensor, tt.Tensor]: ...

    pair.kernel("cpu", lambda x: (x * 2, x * 3) if result == "same" else (x * 2, (x * 3).astype(np.int64)))
    return pair


def test_all_gradients_come_as_a_list():
    op = pair()

    @op.backward
    def backward(gs):
        first, second = gs
        found = 0 if first is None else 2 * first
        return found if second is None else found + 3 * second

    x = leaf(1.0)
    assert tt.autograd.gradcheck(op, (x,))
    (only,) = tt.autograd.grad(op(x)[1], x, tt.ones(1, dtype=tt.float64))
    assert only.item() == 3


def test_a_context_gets_zeros_for_results_that_nothing_came_from_unless_it_asks_for_none():
    op = pair()
    seen = []

    def backward(ctx, first, second):
        seen.append(first)
        return 3 * second

    op.register_autograd(backward)
    x = leaf(1.0, 2.0)
    op(x)[1].sum().backward()
    assert seen.pop().tolist() == [0.0, 0.0]
    op.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.set_materialize_grads(False))
    op(x)[1].sum().backward()
    assert seen.pop() is None


def test_a_formula_that_would_see_one_of_several_gradients_is_refused():
    op = pair()
    for register in (lambda: op.backward(lambda g: 2 * g), lambda: op.backward(x=lambda g: 2 * g)):
        with pytest.raises(ArgumentError, match="the operator has several results, and the formula takes"):
            register()
    op.remove()
    op = pair(("same", "int64"))
    op.backward(lambda g: 2 * g)
    first, second = op(leaf(1.0))
    assert first.requires_grad and not second.requires_grad


def test_a_result_that_is_marked_has_no_gradient():
    op = pair()
    op.register_autograd(
        lambda ctx, first, second: 2 * first,
        setup_context=lambda ctx, inputs, output: ctx.mark_non_differentiable(output[1]),
    )
    first, second = op(leaf(1.0))
    assert first.requires_grad and not second.requires_grad


@pytest.mark.parametrize("form", ["context", "names", "formula"])
def test_lists_of_tensors_get_a_list_of_gradients(form):
    @custom_op("forms::dot")
    def dot(xs: list[tt.Tensor], ys: list[tt.Tensor], bias: tt.Tensor | None = None) -> tt.Tensor: ...

    @dot.kernel("cpu")
    def on_cpu(xs, ys, bias):
        return sum(x * y for x, y in zip(xs, ys, strict=True)) + (0 if bias is None else bias)

    if form == "context":

        @dot.setup_context
        def save(ctx, inputs, output):
            ctx.save_for_backward(*inputs[0], *inputs[1])
            ctx.count = len(inputs[0])

        @dot.backward
        def with_context(ctx, g):
            assert [len(needs) for needs in ctx.needs_input_grad[:2]] == [2, 2]
            saved = ctx.saved_tensors
            return [g * y for y in saved[ctx.count :]], [g * x for x in saved[: ctx.count]], g

    elif form == "names":

        @dot.backward
        def with_names(g, xs, ys):
            return [g * y for y in ys], [g * x for x in xs], g

    else:
        dot.backward(
            xs=lambda g, ys: [g * y for y in ys], ys=lambda g, xs: [g * x for x in xs], bias=lambda g: g
        )
    leaves = [leaf(1.0, 2.0), leaf(3.0, 4.0), leaf(5.0, 6.0), leaf(7.0, 8.0), leaf(0.0, 1.0)]
    assert tt.autograd.gradcheck(lambda a, b, c, d, e: dot([a, b], [c, d], e), leaves)
    assert tt.autograd.gradcheck(lambda a, b, c, d: dot([a, b], [c, d]), leaves[:4])


@pytest.mark.parametrize("form", ["context", "names"])
def test_a_list_of_results_has_a_list_of_gradients(form):
    @custom_op("forms::multiples")
    def multiples(x: tt.Tensor, count: int) -> list[tt.Tensor]: ...

    multiples.kernel("cpu", lambda x, count: [x * (i + 1) for i in range(count)])
    if form == "context":

        @multiples.backward
        def with_context(ctx, gs):
            return sum((i + 1) * g for i, g in enumerate(gs)), None

    else:

        @multiples.backward
        def with_names(gs):
            return sum((i + 1) * g for i, g in enumerate(gs) if g is not None)

    assert tt.autograd.gradcheck(lambda x: multiples(x, 3), (leaf(1.0, 2.0),))


def test_values_that_are_no_tensors_are_returned_beside_tensors():
    @custom_op("forms::measured")
    def measured(x: tt.Tensor) -> tuple[int, tt.Tensor]: ...

    measured.kernel("cpu", lambda x: (x.size, x * 2))
    measured.register_autograd(lambda ctx, count, g: 2 * g)
    x = leaf(1.0, 2.0)
    count, made = measured(x)
    made.sum().backward()
    assert (count, x.grad.tolist()) == (2, [2.0, 2.0])


def test_keyword_only_arguments_come_apart_where_setup_context_names_them():
    @custom_op("forms::keyed")
    def keyed(x: tt.Tensor, *, by: float) -> tt.Tensor: ...

    keyed.kernel("cpu", lambda x, by: x * by)

    def save(ctx, inputs, keyword_only_inputs, output):
        assert len(inputs) == 1
        ctx.by = keyword_only_inputs["by"]

    keyed.register_autograd(lambda ctx, g: g * ctx.by, setup_context=save)
    x = leaf(1.0)
    keyed(x, by=4.0).sum().backward()
    assert x.grad.item() == 4


# --- mistakes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("register", "message"),
    [
        (
            lambda op: op.backward(lambda g, z: g),
            "backward saves 'z', which is neither an argument nor a result of forms::product",
        ),
        (lambda op: op.backward(lambda g: g, saves="z"), "backward saves 'z'"),
        (lambda op: op.backward(z=lambda g: g), "backward: 'z' is not a tensor argument"),
        (lambda op: op.backward(scale=lambda g: g), "backward: 'scale' is not a tensor argument"),
        (lambda op: op.backward(x=lambda grad: grad), "must take g or gs first"),
        (lambda op: op.backward(x=lambda g, z: g), "takes 'z', which is neither an argument nor a result of"),
        (
            lambda op: op.backward(lambda g: g, x=lambda g: g),
            "give a function, or a formula for each argument",
        ),
    ],
)
def test_a_formula_that_does_not_fit_is_refused_at_once(register, message):
    op = product()
    with pytest.raises(ArgumentError, match=message):
        register(op)
    assert len(op.handles) == 2


@pytest.mark.parametrize(
    ("backward", "message"),
    [
        (lambda g: (g, g, g, g), r"must return 2 gradients, of x, y, and it returned 4"),
        (lambda g: {"z": g}, "returned a gradient of 'z', which is not an argument"),
        (
            lambda ctx, g: (g, g, g, g),
            r"must return 3 gradients, one for each of x, y, scale.* it returned 4",
        ),
    ],
)
def test_gradients_of_the_wrong_number_are_told(backward, message):
    op = product()
    op.backward(backward)
    with pytest.raises(GradientError, match=message):
        op(leaf(1.0), leaf(2.0)).sum().backward()


# --- composition -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_vmap_and_grad_of_a_custom_operator(form):
    op = product()
    form(op)
    x, y = tt.arange(6.0, dtype=tt.float64).reshape(3, 2), tt.ones(3, 2, dtype=tt.float64)
    per_example = tt.func.vmap(tt.func.grad(lambda a, b: op(a, b, 2.0).sum()))(x, y)
    assert per_example.tolist() == [[2.0, 2.0]] * 3


@pytest.mark.parametrize("form", FORMS)
def test_a_checkpoint_keeps_nothing_of_a_custom_operator_and_gives_the_same_gradients(form):
    from tt.utils.checkpoint import checkpoint

    op = product()
    form(op)
    calls = []

    def block(x, y):
        calls.append(1)
        return op(op(x, y), y, 2.0)

    x, y = leaf(1.0, 2.0), leaf(3.0, -4.0)
    block(x, y).sum().backward()
    expected = [x.grad.tolist(), y.grad.tolist()]
    x.grad = y.grad = None
    calls.clear()
    made = checkpoint(block, x, y, use_reentrant=False)
    made.sum().backward()
    assert [x.grad.tolist(), y.grad.tolist()] == expected
    assert len(calls) == 2


@pytest.mark.parametrize("form", FORMS)
def test_hooks_on_saved_tensors_see_what_a_custom_operator_saves(form):
    op = product()
    form(op)
    packed = []

    def pack(tensor):
        packed.append(tensor.tolist())
        return tensor.detach().numpy()

    x, y = leaf(1.0), leaf(3.0)
    with tt.autograd.graph.saved_tensors_hooks(pack, tt.from_numpy):
        made = op(x, y)
    assert sorted(packed) == [[1.0], [3.0]]
    made.sum().backward()
    assert (x.grad.item(), y.grad.item()) == (3.0, 1.0)


@pytest.mark.parametrize("form", FORMS)
def test_forward_mode_takes_the_transposed_gradient(form):
    op = product()
    form(op)
    x, y = tt.tensor([1.0, 2.0], dtype=tt.float64), tt.tensor([3.0, -4.0], dtype=tt.float64)
    _, tangent = tt.func.jvp(lambda a: op(a, y, 2.0), (x,), (tt.ones(2, dtype=tt.float64),))
    assert tangent.tolist() == [6.0, -8.0]


@pytest.mark.torch
def test_gradients_are_those_of_pytorch():
    torch = pytest.importorskip("torch")

    def compute(x, y, scale):
        return x * y * scale

    # torch does not read annotations that are strings, as they are in this file.
    compute.__annotations__ = dict.fromkeys(("x", "y", "return"), torch.Tensor) | {"scale": float}
    theirs = torch.library.custom_op("tt_forms::product", compute, mutates_args=())

    def save(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])
        ctx.scale = inputs[2]

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y * ctx.scale, g * x * ctx.scale, None

    theirs.register_autograd(backward, setup_context=save)
    ours = product()
    ours.register_autograd(backward, setup_context=save)
    values = np.random.default_rng(0).standard_normal((2, 3))
    found = []
    for lib, op in ((tt, ours), (torch, theirs)):
        x, y = (lib.from_numpy(v.copy()).requires_grad_() for v in values)
        (op(x, y, 3.0) ** 2).sum().backward()
        found.append([x.grad.numpy(), y.grad.numpy()])
    np.testing.assert_allclose(found[0], found[1])
