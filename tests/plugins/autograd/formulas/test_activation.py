"""Second derivatives of activation functions in float32, against those in float64."""

from __future__ import annotations

import numpy as np
import pytest

import tt

F = tt.nn.functional
FUNCTIONS = {
    "mish": F.mish,
    "silu": F.silu,
    "softplus": F.softplus,
    "softplus, steep": lambda x: F.softplus(x, beta=2.0),
    "logsigmoid": F.logsigmoid,
    "gelu": F.gelu,
    "gelu, tanh": lambda x: F.gelu(x, approximate="tanh"),
}


def second(function, x, dtype):
    """Return the second derivative at numbers, in double precision."""
    at = tt.tensor(x, dtype=dtype, requires_grad=True)
    (slope,) = tt.autograd.grad(function(at).sum(), at, create_graph=True)
    (curve,) = tt.autograd.grad(slope.sum(), at)
    return curve.double().numpy()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives_keep_their_digits_where_they_are_small(name):
    # Away from the zeros of the curve, which lie between -3 and 3.
    x = np.concatenate([np.linspace(-15, -3, 25), np.linspace(-1, 1, 9), np.linspace(3, 15, 25)])
    expected = second(FUNCTIONS[name], x, tt.float64)
    np.testing.assert_allclose(
        second(FUNCTIONS[name], x, tt.float32), expected, rtol=1e-5, atol=1e-38, err_msg=name
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_third_derivatives_are_differences_of_second_ones(name):
    x = np.linspace(-4, 4, 17) + 0.01
    at = tt.tensor(x, dtype=tt.float64, requires_grad=True)
    (slope,) = tt.autograd.grad(FUNCTIONS[name](at).sum(), at, create_graph=True)
    (curve,) = tt.autograd.grad(slope.sum(), at, create_graph=True)
    (third,) = tt.autograd.grad(curve.sum(), at)
    step = 1e-5
    above, below = (second(FUNCTIONS[name], x + d, tt.float64) for d in (step, -step))
    np.testing.assert_allclose(third.numpy(), (above - below) / (2 * step), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("dtype", [tt.float16, tt.bfloat16])
@pytest.mark.parametrize("name", ["mish", "silu", "gelu, tanh"])
def test_second_derivatives_of_half_precision_are_rounded_once(name, dtype):
    x = np.array([-4.0, -0.5, 0.0, 0.75, 2.0])
    found = second(FUNCTIONS[name], x, dtype)
    limit = tt.finfo(dtype).eps
    np.testing.assert_allclose(found, second(FUNCTIONS[name], x, tt.float64), rtol=limit, atol=limit / 100)


def test_the_second_derivative_of_a_complex_silu_is_that_of_finite_differences():
    x = tt.tensor([0.3 + 0.4j, -1.0 + 0.2j], dtype=tt.complex128, requires_grad=True)
    assert tt.autograd.gradgradcheck(F.silu, (x,))


# --- glu -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "dim"), [((4,), 0), ((2, 6), -1), ((4, 3), 0), ((2, 4, 3), 1)])
def test_derivatives_of_glu_are_differences(shape, dim):
    random = np.random.default_rng(0)
    x = tt.tensor(random.standard_normal(shape), requires_grad=True)
    half = list(shape)
    half[dim] //= 2
    g = tt.tensor(random.standard_normal(half), requires_grad=True)
    one = tt.tensor([0.75], dtype=tt.float64, requires_grad=True)
    assert tt.autograd.gradcheck(lambda x: F.glu(x, dim), (x,))
    assert tt.autograd.gradgradcheck(lambda x: F.glu(x, dim), (x,))
    for grad in (g, one):
        assert tt.autograd.gradcheck(lambda g, x: tt.ops.glu_backward(g, x, dim), (grad, x))
        assert tt.autograd.gradgradcheck(lambda g, x: tt.ops.glu_backward(g, x, dim), (grad, x))


def test_the_second_derivative_of_glu_keeps_its_digits_where_it_is_small():
    x = np.concatenate([np.linspace(-2, 2, 50), np.linspace(-20, -3, 25), np.linspace(3, 20, 25)])
    expected = second(F.glu, x, tt.float64)
    np.testing.assert_allclose(second(F.glu, x, tt.float32), expected, rtol=1e-5, atol=1e-38)


@pytest.mark.parametrize("dtype", [tt.float16, tt.bfloat16])
def test_gradients_of_glu_keep_the_dtype(dtype):
    x = tt.tensor([1.0, -2.0, 0.5, 3.0], dtype=dtype, requires_grad=True)
    (slope,) = tt.autograd.grad(F.glu(x).sum(), x, create_graph=True)
    (curve,) = tt.autograd.grad(slope.sum(), x)
    assert slope.dtype is dtype
    assert curve.dtype is dtype


def test_the_second_derivative_of_hardswish_is_zero_at_infinities():
    at = tt.tensor([float("inf"), float("-inf"), 0.0], requires_grad=True)
    (slope,) = tt.autograd.grad(F.hardswish(at).sum(), at, create_graph=True)
    assert slope.tolist() == [1.0, 0.0, 0.5]
    np.testing.assert_allclose(tt.autograd.grad(slope.sum(), at)[0].numpy(), [0, 0, 1 / 3], rtol=1e-6)
    weight = tt.ones(3, requires_grad=True)
    (slope,) = tt.autograd.grad(F.hardswish(at), at, weight, create_graph=True)
    assert tt.autograd.grad(slope.sum(), weight)[0].tolist() == [1.0, 0.0, 0.5]
