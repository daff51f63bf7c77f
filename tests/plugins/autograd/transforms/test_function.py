"""`autograd.Function` among transforms: derivatives of its tangents, and of what its methods write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tt
from tests.plugins.autograd.transforms.matrix import Exponential, Square
from tt.func import grad, hessian, jacfwd, jacrev, jvp, vmap

X = tt.tensor([[0.5, 2.0, 1.5], [1.0, 0.3, 0.7]], dtype=tt.float64)


class Product(tt.autograd.Function):
    @staticmethod
    def forward(x: Any, y: Any) -> Any:
        return x * y * y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        x, y = ctx.saved_tensors
        return y * y * gradient, 2 * x * y * gradient

    @staticmethod
    def jvp(ctx: Any, dx: Any, dy: Any) -> Any:
        x, y = ctx.saved_tensors
        return y * y * dx + 2 * x * y * dy

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Any, y: Any) -> Any:
        x, y = (v if dim is None else v.movedim(dim, 0) for v, dim in zip((x, y), in_dims, strict=True))
        return Product.apply(x, y), 0


class Sine(Square):
    """Saves what `setup_context` computes."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x.sin()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0].cos())

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return ctx.saved_tensors[0].cos() * gradient

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return ctx.saved_tensors[0] * tangent


class Pair(tt.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any, factor: float) -> Any:
        return x.exp() * factor, x.exp()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factor = inputs[1]
        ctx.save_for_backward(output[1])
        ctx.save_for_forward(output[1])

    @staticmethod
    def backward(ctx: Any, first: Any, second: Any) -> Any:
        return ctx.saved_tensors[0] * (ctx.factor * first + second), None

    @staticmethod
    def jvp(ctx: Any, tangent: Any, _: Any) -> Any:
        return ctx.saved_tensors[0] * ctx.factor * tangent, ctx.saved_tensors[0] * tangent


class Written(Square):
    """Its backward writes into a tensor of its own."""

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        result = tt.zeros_like(gradient)
        result[:] = 2 * ctx.saved_tensors[0] * gradient
        return result


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "of a saved argument": (Square.apply, lambda x: x * x),
    "twice": (lambda x: Square.apply(Square.apply(x)), lambda x: x**4),
    "of a saved result": (Exponential.apply, tt.exp),
    "with a vmap method": (lambda x: Product.apply(x, x[0] * x), lambda x: x * (x[0] * x) ** 2),
    "of a constant": (lambda x: Product.apply(x, X[0]), lambda x: x * X[0] ** 2),
    "of what setup_context computes": (Sine.apply, tt.sin),
    "of two results": (lambda x: tt.mul(*Pair.apply(x, 2.0)), lambda x: 2 * x.exp() ** 2),
    "that writes": (Written.apply, lambda x: x * x),
}

TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "hessian": lambda f: hessian(f)(X),
    "J(J)": lambda f: jacfwd(jacfwd(f))(X),
    "R(R)": lambda f: jacrev(jacrev(f))(X),
    "R(J)": lambda f: jacrev(jacfwd(f))(X),
    "jvp(G)": lambda f: jvp(grad(f), (X,), (X + 1,))[1],
    "G(jvp)": lambda f: grad(lambda x: jvp(f, (x,), (X,))[1])(X),
    "V(hessian)": lambda f: vmap(hessian(f))(tt.stack([X, X + 1])),
    "V(jvp(G))": lambda f: vmap(lambda x: jvp(grad(f), (x,), (x * x,))[1])(tt.stack([X, X + 1])),
    "J(V)": lambda f: jacfwd(vmap(f))(tt.stack([X, X + 1])),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_a_function_are_those_of_its_plain_form(name: str, transform: str) -> None:
    custom, plain = FUNCTIONS[name]
    result = TRANSFORMS[transform](lambda x: (custom(x) ** 2).sum())
    expected = TRANSFORMS[transform](lambda x: (plain(x) ** 2).sum())
    assert tt.allclose(result, expected, rtol=1e-10)


def test_the_second_derivative_of_a_square() -> None:
    assert hessian(lambda x: (Square.apply(x) ** 2).sum())(tt.tensor(3.0)).item() == 108.0


def test_tangents_of_values_without_a_history_are_not_differentiated() -> None:
    class Saving(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_forward(2 * x)
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return 2 * ctx.saved_tensors[0] * gradient

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return ctx.saved_tensors[0] * tangent

    x = tt.tensor(3.0)
    assert jvp(Saving.apply, (x,), (x,))[1].item() == 18.0
    with pytest.raises(tt.errors.GradientError, match="neither an argument nor a result"):
        jvp(grad(Saving.apply), (x,), (x,))
    with pytest.raises(tt.errors.ArgumentError, match="setup_context"):
        hessian(Saving.apply)(x)


def test_jvp_gets_no_tangent_of_an_argument_of_integers():
    seen = []

    class Scale(tt.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, count):
            return x * count

        @staticmethod
        def jvp(ctx, x, y, count):
            seen.append((y, count))
            return x * 2

    x, y, count = tt.ones(2), tt.ones(2), tt.tensor(2)
    _, tangent = tt.func.jvp(lambda v: Scale.apply(v, y, count), (x,), (x,))
    assert tangent.tolist() == [2, 2]
    assert seen[0][0].tolist() == [0, 0] and seen[0][1] is None


@pytest.mark.parametrize("kind", ["marked", "integer"])
def test_results_that_are_not_differentiable_have_no_tangent(kind: str) -> None:
    class Both(tt.autograd.Function):
        tangent: Any = None

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            other = x.clone() if kind == "marked" else x.long()
            if kind == "marked":
                ctx.mark_non_differentiable(other)
            return x * 2, other

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return tangent * 2, Both.tangent

    with tt.autograd.forward_ad.dual_level():
        x = tt.autograd.forward_ad.make_dual(tt.ones(2), tt.ones(2))
        doubled, other = Both.apply(x)
        assert tt.autograd.forward_ad.unpack_dual(doubled).tangent.tolist() == [2, 2]
        assert tt.autograd.forward_ad.unpack_dual(other).tangent is None
        Both.tangent = tt.ones(2)
        with pytest.raises(RuntimeError, match="You should return None at that position instead"):
            Both.apply(x)
