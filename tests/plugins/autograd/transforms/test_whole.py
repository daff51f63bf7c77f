"""Operators inside vmap: their derivatives are those of a loop over the examples, whatever composites are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tt
from tests.plugins.autograd.calls import DIFFERENTIABLE, Call, calls, serves
from tt.core.library import OpDefinition
from tt.func import grad, hessian, jacfwd, jacrev, vmap

# Vectors with a free phase, for which a random cotangent has no gradient.
NOT_UNIQUE = {
    "linalg_svd",
    "svd",
    "linalg_eigh",
    "linalg_eig",
    "linalg_qr",
    "qr",
    "svd_lowrank",
    "pca_lowrank",
    "lobpcg",
}
CASES = [
    pytest.param(d, id=d.name) for d in DIFFERENTIABLE if d.name not in NOT_UNIQUE and serves(d, tt.float64)
]


def weighted(call: Call, tensors: Any) -> Any:
    """Return a sum of the results whose gradient differs by element."""
    found = call(*tensors)
    total: Any = 0.0
    for result in [found] if isinstance(found, tt.Tensor) else found:
        if not (result.is_floating_point() or result.is_complex()):
            continue
        values = tt.view_as_real(result) if result.is_complex() else result
        weights = (tt.arange(values.numel(), dtype=values.dtype) % 7 - 3.3).reshape(values.shape)
        total = total + (values * weights).sum()
    return total


def gradients_of(call: Call, tensors: list[Any]) -> Any:
    return grad(lambda *xs: weighted(call, xs), tuple(range(len(tensors))))(*tensors)


def turned(tensor: Any) -> Any:
    return tensor.reshape((-1,)).flip((0,)).reshape(tuple(tensor.shape))


def check_gradients(definition: OpDefinition, most: int) -> None:
    for number, (name, call) in enumerate(calls(definition, tt.float64)):
        inputs = [t.detach() for t in call.inputs]
        if number == most or not inputs:
            break
        others = [turned(t) for t in inputs]
        try:
            rows = [gradients_of(call, inputs), gradients_of(call, others)]
        except (RuntimeError, ValueError, TypeError, IndexError):
            continue  # not with the other values, or no loss can be made of the results
        stacked = [tt.stack([a, b]) for a, b in zip(inputs, others, strict=True)]
        mapped = vmap(lambda *xs, call=call: gradients_of(call, list(xs)))(*stacked)
        for column, *each in zip(mapped, *rows, strict=True):
            tt.testing.assert_close(column, tt.stack(each), equal_nan=True, rtol=1e-6, atol=1e-8, msg=name)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("definition", CASES)
def test_gradients_of_a_mapped_operator_are_those_of_a_loop(definition: OpDefinition) -> None:
    check_gradients(definition, 4)


@pytest.mark.exhaustive
@pytest.mark.parametrize("definition", CASES)
def test_gradients_of_a_mapped_operator_are_those_of_a_loop_on_all_samples(definition: OpDefinition) -> None:
    check_gradients(definition, 1000)


# --- what composites would say otherwise, in all orders of transforms ------------------------------------------


def normal(*shape: int, seed: int = 0) -> Any:
    tt.manual_seed(seed)
    return tt.randn(shape, dtype=tt.float64)


def with_equal_rows() -> Any:
    points = tt.zeros(2, 3, 2, dtype=tt.float64)
    points[:, 1:] = normal(2, 2, 2)
    points[1, 2] = points[1, 1]
    return points


def with_rows_of_minus_infinity() -> Any:
    scores = normal(2, 3, 4)
    scores[:, 0] = -tt.inf
    return scores


F = tt.nn.functional
INDEX = tt.tensor([0, 2, 2, 1])
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]] = {
    "embedding, padding": (
        lambda w: (F.embedding(INDEX, w, padding_idx=2) ** 3).sum(),
        lambda: normal(2, 3, 4),
    ),
    "embedding, scaled": (
        lambda w: (F.embedding(INDEX, w, scale_grad_by_freq=True) ** 3).sum(),
        lambda: normal(2, 3, 4),
    ),
    "rotary": (
        lambda v: (tt.view_as_real(tt.view_as_complex(v.reshape(2, 2)) * (1 + 2j)) ** 3).sum(),
        lambda: normal(2, 4),
    ),
    "cdist at equal points": (lambda v: (tt.cdist(v, v.detach().clone()) ** 2).sum(), with_equal_rows),
    "pdist": (lambda v: tt.pdist(v.sinh()).sum(), lambda: normal(2, 3, 2)),
    "pinv": (lambda v: (tt.linalg.pinv(v) ** 2).sum(), lambda: normal(2, 4, 2)),
    "lstsq": (lambda v: (tt.linalg.lstsq(v, v[:, :1] ** 2).solution ** 2).sum(), lambda: normal(2, 4, 2)),
    "median of ties": (
        lambda v: v.median() ** 3,
        lambda: tt.tensor([[1.0, 2, 2, 3], [2, 2, 2, 2]], dtype=tt.float64),
    ),
    "largest of ties": (
        lambda v: v.max() ** 3,
        lambda: tt.tensor([[1.0, 3, 2, 3], [2, 2, 2, 2]], dtype=tt.float64),
    ),
    "product with zeros": (lambda v: v.prod(), lambda: tt.tensor([[1.0, 0, 2], [0, 0, 2]], dtype=tt.float64)),
    "cross_entropy, rows of -inf": (
        lambda v: F.cross_entropy(v, tt.tensor([-100, 1, 2])),
        with_rows_of_minus_infinity,
    ),
    "layer_norm": (lambda v: (F.layer_norm(v, (4,)) ** 3).sum(), lambda: normal(2, 3, 4)),
    "attention": (
        lambda v: (F.scaled_dot_product_attention(v, v.sin(), v) ** 2).sum(),
        lambda: normal(2, 3, 4),
    ),
}

TRANSFORMS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    # name -> (a function of all examples, the same for one example)
    "vmap(grad)": (lambda f: vmap(grad(f)), grad),
    "grad(vmap)": (lambda f: grad(lambda x: vmap(f)(x).sum()), grad),
    "vmap(jacrev)": (lambda f: vmap(jacrev(f)), jacrev),
    "vmap(jacfwd)": (lambda f: vmap(jacfwd(f)), grad),
    "vmap(hessian)": (lambda f: vmap(hessian(f)), lambda f: jacrev(grad(f))),
    "vmap(jacrev(grad))": (lambda f: vmap(jacrev(grad(f))), lambda f: jacrev(grad(f))),
    "vmap(jacfwd(jacfwd))": (lambda f: vmap(jacfwd(jacfwd(f))), lambda f: jacrev(grad(f))),
    "jacfwd(vmap)": (lambda f: lambda x: jacfwd(vmap(f))(x).diagonal().movedim(-1, 0), grad),
    "jacfwd(vmap(grad))": (
        lambda f: lambda x: jacfwd(lambda t: vmap(grad(f))(t).sum(0))(x).movedim(x.ndim - 1, 0),
        lambda f: jacrev(grad(f)),
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_formulas_hold_inside_all_orders_of_transforms(name: str, transform: str) -> None:
    f, examples = FUNCTIONS[name]
    mapped, single = TRANSFORMS[transform]
    x = examples()
    found = mapped(f)(x)
    tt.testing.assert_close(
        found, tt.stack([single(f)(row) for row in x]), rtol=1e-6, atol=1e-8, equal_nan=True
    )


def test_mapped_twice_and_differentiated_outside() -> None:
    x = normal(2, 3, 4)

    def f(v: Any) -> Any:
        return (F.layer_norm(v, (4,)) ** 3).sum() + v.max() ** 2

    expected = tt.stack([tt.stack([grad(f)(row) for row in part]) for part in x])
    tt.testing.assert_close(vmap(vmap(grad(f)))(x), expected)
    tt.testing.assert_close(vmap(grad(lambda t: vmap(f)(t).sum()))(x), expected)
    tt.testing.assert_close(vmap(jacfwd(lambda t: vmap(f)(t).sum()))(x), expected)
    second = tt.stack([tt.stack([grad(lambda t: grad(f)(t).sum())(row) for row in part]) for part in x])
    tt.testing.assert_close(grad(lambda t: vmap(vmap(grad(f)))(t).sum())(x), second)
    tt.testing.assert_close(grad(lambda t: vmap(jacfwd(lambda p: vmap(f)(p).sum()))(t).sum())(x), second)


def test_what_is_the_same_for_all_examples_gets_the_sum() -> None:
    x, weight = normal(3, 4), normal(4, seed=1)

    def f(v: Any, w: Any) -> Any:
        return (F.layer_norm(v, (4,), w) ** 3).sum()

    each = tt.stack([grad(f, 1)(row, weight) for row in x])
    tt.testing.assert_close(vmap(grad(f, 1), in_dims=(0, None))(x, weight), each)
    tt.testing.assert_close(grad(lambda w: vmap(f, in_dims=(0, None))(x, w).sum())(weight), each.sum(0))
    tt.testing.assert_close(grad(lambda w: vmap(f, in_dims=(1, None))(x.t(), w).sum())(weight), each.sum(0))


def test_the_call_is_one_node_with_the_name_of_the_operator() -> None:
    x = normal(2, 3).requires_grad_()
    found = vmap(lambda v: v.max())(x)
    assert "Max" in type(found.grad_fn).__name__ or "Max" in found.grad_fn.name()
    assert found.grad_fn.next_functions[0][0].name() == "AccumulateGrad"


def test_results_may_be_changed_in_place() -> None:
    x = normal(2, 3, 4)

    def f(v: Any) -> Any:
        y = F.layer_norm(v, (4,))
        y[0] *= 2
        return (y.t().clone().mul_(v.t()) ** 2).sum()

    tt.testing.assert_close(vmap(grad(f))(x), tt.stack([grad(f)(row) for row in x]))


def test_a_gradient_registered_for_an_operator_with_a_body_counts() -> None:
    @tt.library.custom_op("tests_whole::straight", mutates_args=())
    def straight(x: tt.Tensor) -> tt.Tensor:
        return x.sign() * x * 0 + x.round()

    straight.register_autograd(
        lambda ctx, g: g * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    x = tt.tensor([0.4, 1.6, -2.2])
    for function in (
        vmap(grad(straight)),
        grad(lambda t: vmap(straight)(t).sum()),
        vmap(jacrev(straight)),
        vmap(jacfwd(straight)),
        lambda t: jacfwd(vmap(straight))(t).diagonal(),
        grad(lambda t: vmap(vmap(straight))(t.reshape(3, 1)).sum()),
    ):
        tt.testing.assert_close(function(x), x)
    straight.remove()


def test_no_examples_have_gradients_without_elements() -> None:
    x = tt.zeros(0, 3, 4)
    assert vmap(grad(lambda v: F.layer_norm(v, (4,)).sum() + v.max()))(x).shape == (0, 3, 4)
